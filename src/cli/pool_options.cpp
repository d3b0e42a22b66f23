// SPDX-License-Identifier: Apache-2.0
#include "cli/pool_options.h"

#include "base/units.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace headroom {

void add_link_option(CLI::App& app, std::string& link) {
    app.add_option("--link", link,
                   "bandwidth between the pools, per GPU and direction, e.g. 50GB/s (default: the devices' "
                   "link)");
}

std::optional<Bandwidth> parse_link(const std::string& text, OptionFaults& faults) {
    if (text.empty()) return std::nullopt;
    const auto parsed = parse_quantity(text, Dimension{.byte = 1, .second = -1});
    if (const auto* bad = std::get_if<ParseFault>(&parsed)) {
        faults.add("--link", bad->message, bad->suggestion);
    } else if (std::get<double>(parsed) <= 0) {
        faults.add("--link", "must be above zero");
    } else {
        return Bandwidth(std::get<double>(parsed));
    }
    return std::nullopt;
}

void add_pool_options(CLI::App& app, PoolOptions& o) {
    app.add_option("--disaggregate", o.disaggregate,
                   "P:D: P replicas run prompts, D replicas (--hw, --tp ...) generate");
    app.add_option("--prefill-hw", o.hw, "device of the prefill replicas (default: --hw)");
    app.add_option("--prefill-tp", o.tp, "their tensor parallelism (default: --tp)");
    app.add_option("--prefill-pp", o.pp, "their pipeline stages (default: --pp)");
    app.add_option("--prefill-ep", o.ep, "their expert parallelism (default: --ep)");
    app.add_option("--prefill-dp", o.dp, "their data parallelism (default: --dp)");
    add_link_option(app, o.link);
}

std::optional<PrefillPool> parse_pools(const PoolOptions& o, const Subject& subject, OptionFaults& faults) {
    if (o.disaggregate.empty()) {
        for (const auto& [option, text] : {std::pair{"--prefill-hw", &o.hw},
                                           {"--prefill-tp", &o.tp},
                                           {"--prefill-pp", &o.pp},
                                           {"--prefill-ep", &o.ep},
                                           {"--prefill-dp", &o.dp},
                                           {"--link", &o.link}}) {
            if (!text->empty()) faults.add(option, "needs --disaggregate P:D");
        }
        return std::nullopt;
    }
    const std::size_t colon = o.disaggregate.find(':');
    if (colon == std::string::npos) {
        faults.add("--disaggregate", fmt::format("\"{}\" is not P:D", o.disaggregate), o.disaggregate + ":1");
        return std::nullopt;
    }
    const auto replicas = [&](const std::string& text) {
        return static_cast<int>(parse_one_count("--disaggregate", text, 1, 4096, faults));
    };
    const auto degree = [&](const char* option, const std::string& own, const std::string& other) {
        const std::string& text = own.empty() ? other : own;
        return text.empty() ? 1 : static_cast<int>(parse_one_count(option, text, 1, 4096, faults));
    };
    PrefillPool pool;
    pool.replicas = replicas(o.disaggregate.substr(0, colon));
    pool.decode_replicas = replicas(o.disaggregate.substr(colon + 1));
    pool.deployment = {degree("--prefill-tp", o.tp, subject.tp), degree("--prefill-pp", o.pp, subject.pp),
                       degree("--prefill-ep", o.ep, subject.ep), degree("--prefill-dp", o.dp, subject.dp),
                       degree("--cp", "", subject.cp)};
    pool.link = parse_link(o.link, faults);
    try {
        pool.hardware = load_hardware(subject.output, o.hw.empty() ? subject.hw : o.hw);
    } catch (const InputError& e) {
        faults.add(e);
    }
    return pool;
}

}  // namespace headroom
