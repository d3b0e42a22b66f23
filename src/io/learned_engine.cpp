// SPDX-License-Identifier: Apache-2.0
#include "io/learned_engine.h"

#include "base/diagnostic.h"
#include "io/engine_yaml.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/format.h>

namespace headroom {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

struct Memory {
    Fact<double> utilisation, block_tokens;
    std::optional<double> activation;
    double runtime = 0;
    int tp = 1;
};

std::string gib(double bytes) { return fmt::format("{:.4g} GiB", bytes / kGiB); }

std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
    return out + "'";
}

/// Gathers what was learned and what was not while the figures are taken.
struct Learning {
    const StartLog& log;
    const Engine& base;
    LearnedEngine& out;
    std::set<int> lines;
    std::string id = "log";  ///< of the log among the profile's sources

    void say(const std::string& what, const LogFact& fact) {
        out.learned.push_back(fmt::format("{} (line {})", what, fact.line));
        lines.insert(fact.line);
    }
    Fact<double> setting(const std::string& name, const std::optional<LogFact>& fact,
                         const Fact<double>& kept) {
        if (fact) {
            say(fmt::format("{} {:g}", name, fact->value), *fact);
            return {fact->value, id, SourceKind::measured};
        }
        out.missing.push_back(fmt::format("{}: {:g}, as {} has it", name, kept.value, base.name));
        return kept;
    }
};

double kept_runtime(const Engine& base, int tp) {
    double bytes = 0;
    for (const auto& [degree, fact] : base.memory.runtime_by_tp) {
        if (degree <= tp) bytes = fact.value.base();
    }
    return bytes;
}

/// Runtime is what the other figures leave of the share, where the log gives them all: so that KV comes out
/// as logged, whatever else (a graph estimate, rounding) was taken off.
void divide(Learning& l, Memory& m, std::optional<double> device) {
    const StartLog& log = l.log;
    l.say(fmt::format("weights {}", gib(log.weights->value)), *log.weights);
    l.say(fmt::format("room for KV {}", gib(log.kv->value)), *log.kv);
    if (log.total) l.say(fmt::format("device {}", gib(log.total->value)), *log.total);
    if (log.activation) {
        l.say(fmt::format("activation peak {}", gib(log.activation->value)), *log.activation);
        m.activation = log.activation->value;
    }
    const std::optional<double> total = log.total ? std::optional(log.total->value) : device;
    if (total) {
        const double rest = *total * m.utilisation.value - log.weights->value - log.kv->value;
        if (m.activation) {
            m.runtime = rest - *m.activation;
            if (log.non_torch && m.runtime - log.non_torch->value > 0.05 * kGiB)
                l.out.learned.push_back(fmt::format(
                    "runtime is {} above the logged non-torch memory: {}",
                    gib(m.runtime - log.non_torch->value),
                    log.graph_estimate
                        ? "a graph estimate of " + gib(log.graph_estimate->value) + " is in the log"
                        : "something else was taken off"));
        } else {
            m.runtime = kept_runtime(l.base, m.tp);
            m.activation = rest - m.runtime;
            l.out.missing.push_back(
                fmt::format("activation peak and runtime apart: their sum is {}, the runtime of {} is taken",
                            gib(rest), l.base.name));
        }
    } else if (log.activation && log.non_torch) {
        m.runtime = log.non_torch->value;
    } else {
        throw InputError({Diagnostic{{log.file, log.kv->line, 1},
                                     "",
                                     "the log says neither how much memory the device has nor what "
                                     "activations take (at level DEBUG it does); name the device with --hw",
                                     ""}});
    }
    if (log.non_torch) l.say(fmt::format("non-torch memory {}", gib(log.non_torch->value)), *log.non_torch);
    if (m.runtime < -0.1 * kGiB || (m.activation && *m.activation < -0.1 * kGiB))
        throw InputError(
            {Diagnostic{{log.file, log.kv->line, 1},
                        "",
                        "the figures leave less than nothing for activations and runtime: is the "
                        "device or the utilisation another?",
                        ""}});
    m.runtime = std::max(0.0, m.runtime);
}

std::string fact_line(const std::string& key, const std::string& value, const std::string& source,
                      int indent = 2) {
    return fmt::format("{}{}: {{value: {}, source: {}}}\n",
                       std::string(static_cast<std::size_t>(indent), ' '), key, value, source);
}

/// How weights are held is of the engine's version, which a log does not change.
std::string weights_part(const EngineMemory& was) {
    std::string text;
    if (was.allocation_granule)
        text += fact_line("allocation_granule",
                          fmt::format("{:g} MiB", was.allocation_granule->value.base() / 1048576),
                          was.allocation_granule->source);
    if (was.position_tables) text += "  position_tables: true\n";
    if (!was.expert_padding.empty()) text += "  expert_padding:\n";
    for (const ExpertPadding& p : was.expert_padding) {
        text += fmt::format("    - {{format: {}, ", p.format);
        if (!p.generations.empty())
            text += fmt::format("generations: [{}], ", fmt::join(p.generations, ", "));
        for (const auto& [key, multiple] : {std::pair{"hidden", p.hidden},
                                            {"intermediate", p.intermediate},
                                            {"outputs", p.outputs},
                                            {"inputs", p.inputs},
                                            {"scale_outputs", p.scale_outputs}}) {
            if (multiple > 1) text += fmt::format("{}: {}, ", key, multiple);
        }
        if (p.loaded_scales) text += "loaded_scales: true, ";
        text += fmt::format("source: {}}}\n", p.source);
    }
    return text;
}

std::string memory_part(const Learning& l, const Memory& m) {
    const StartLog& log = l.log;
    const EngineMemory& was = l.base.memory;
    std::string text = "memory:\n";
    text += fact_line("utilisation", fmt::format("{:g}", m.utilisation.value), m.utilisation.source);
    text += fact_line("block_tokens", fmt::format("{:g}", m.block_tokens.value), m.block_tokens.source);
    if (m.activation) {
        text += fmt::format(
            "  # Of {}; remove this line to have the two factors below estimate it for "
            "another model.\n",
            log.model.empty() ? "the log's model" : log.model);
        text += fact_line("activation_peak", gib(*m.activation), l.id);
    }
    text +=
        fact_line("logits_copies", fmt::format("{:g}", was.logits_copies.value), was.logits_copies.source);
    text += fact_line("token_factor", fmt::format("{:g}", was.token_factor.value), was.token_factor.source);
    text += fmt::format("  window_admission: {}\n  runtime_by_tp:\n", was.window_admission);
    bool written = false;
    const auto learned = [&] {
        if (!written) text += fact_line(std::to_string(m.tp), gib(m.runtime), l.id, 4);
        written = true;
    };
    for (const auto& [tp, fact] : was.runtime_by_tp) {
        if (tp >= m.tp) learned();
        if (tp != m.tp) text += fact_line(std::to_string(tp), gib(fact.value.base()), fact.source, 4);
    }
    learned();
    // What a log over several GPUs says holds for its own device.
    if (was.runtime_without_link && m.tp == 1)
        text += fact_line("runtime_without_link", gib(was.runtime_without_link->value.base()),
                          was.runtime_without_link->source);
    return text + weights_part(was);
}

std::string source_entry(const Learning& l) {
    const StartLog& log = l.log;
    std::string numbers;
    for (const int line : l.lines) numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", line);
    const std::string name = log.file.substr(log.file.find_last_of('/') + 1);
    return fmt::format("  {}:\n    kind: measured\n    title: {}\n    where: {}\n", l.id,
                       quoted(fmt::format("start-up log, lines {}: {} on {} GPU{} by vLLM {}", numbers,
                                          log.model.empty() ? "a model" : log.model,
                                          log.tp ? log.tp->value : 1, log.tp && log.tp->value > 1 ? "s" : "",
                                          log.version.empty() ? "of unknown version" : log.version)),
                       quoted(name));
}

/// The base file with its head and its memory part replaced; whatever else it holds stays as it is written.
std::string compose(const std::string& base, const Learning& l, const Memory& m) {
    const StartLog& log = l.log;
    std::istringstream lines(base);
    std::string text, section;
    const auto ends_section = [&] {
        if (section == "sources") text += source_entry(l);
        section.clear();
    };
    for (std::string line; std::getline(lines, line);) {
        const bool top = !line.empty() && line[0] != ' ' && line[0] != '#';
        if (top) ends_section();
        if (top) section = line.substr(0, line.find(':'));
        if (section == "memory") {
            if (top) text += memory_part(l, m);
            continue;
        }
        if (section == "since") continue;  // a log is of one version
        if (section == "name") line = fmt::format("name: {}-learned", l.base.name);
        if (section == "title")
            line = "title: " + quoted(fmt::format("vLLM {}, memory as {} started", log.version,
                                                  log.model.empty() ? "the log's model" : log.model));
        if (section == "version" && !log.version.empty()) line = "version: " + quoted(log.version);
        for (const auto& [key, fact] : {std::pair{"max_sequences", log.max_sequences},
                                        {"max_batched_tokens", log.max_batched_tokens}}) {
            if (section == "scheduler" && fact && line.find(std::string(key) + ":") != std::string::npos) {
                line = fact_line(key, fmt::format("{:g}", fact->value), l.id);
                line.pop_back();
            }
        }
        text += line + "\n";
    }
    ends_section();
    return text;
}

std::string comment(const std::string& head, const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += fmt::format("#   {}\n", line);
    return lines.empty() ? "" : "# " + head + "\n" + text;
}

}  // namespace

LearnedEngine learn_engine(const StartLog& log, const std::string& base, std::optional<double> device_bytes) {
    const Engine engine = read_engine(base);
    LearnedEngine out;
    out.base = engine.name;
    Learning l{log, engine, out, {}, "log"};
    const auto taken = [&](const Source& s) { return s.id == l.id; };
    while (std::any_of(engine.sources.begin(), engine.sources.end(), taken)) l.id += "-again";
    Memory m;
    m.tp = log.tp ? static_cast<int>(log.tp->value) : 1;
    if (!log.tp) out.missing.push_back("tensor parallel degree: 1 assumed");
    const std::set<int> degrees{1, 2, 4, 8, 16};
    if (degrees.count(m.tp) == 0)
        throw InputError({Diagnostic{{log.file, log.tp->line, 1},
                                     "tensor_parallel_size",
                                     fmt::format("{} is none of 1, 2, 4, 8, 16", m.tp),
                                     ""}});
    if (log.tp) l.say(fmt::format("tensor parallel degree {}", m.tp), *log.tp);
    if (log.pp && log.pp->value > 1)
        out.missing.push_back(
            "which pipeline stage is which: of every figure the one of the worst worker is taken");
    m.utilisation = l.setting("utilisation", log.utilisation, engine.memory.utilisation);
    m.block_tokens = l.setting("block size", log.block_tokens, engine.memory.block_tokens);
    divide(l, m, device_bytes);
    l.setting("sequences at once", log.max_sequences, engine.scheduler.max_sequences);
    l.setting("tokens per step", log.max_batched_tokens, engine.scheduler.max_batched_tokens);
    if (log.graphs)
        l.say(fmt::format("graphs {}, taken after the KV cache was made", gib(log.graphs->value)),
              *log.graphs);
    else
        out.missing.push_back("what captured graphs take: the log does not say or ends before");
    out.missing.push_back("host times: those of " + engine.name);
    const std::string text = compose(read_file(base), l, m);
    // The licence line stays first.
    const std::size_t first = text.find('\n') + 1;
    out.yaml = text.substr(0, first) + comment("Learned from the log:", out.learned) +
               comment("Not in the log:", out.missing) + text.substr(first);
    return out;
}

}  // namespace headroom
