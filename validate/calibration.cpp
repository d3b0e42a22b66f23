// SPDX-License-Identifier: Apache-2.0
#include "validate/calibration.h"

#include "base/diagnostic.h"
#include "perf/product_time.h"
#include "validate/ceilings_fit.h"
#include "validate/ceilings_yaml.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace headroom {
namespace {

struct Entry {
    std::string parameter;  ///< of `ceilings:`
    std::string value;
    std::string source;
    std::string title;
};

void require_below_datasheet(const std::string& what, double measured, double peak) {
    if (peak > 0 && measured > peak)
        refuse("", "",
               fmt::format(
                   "{} measured at {:.4g} beats the datasheet's {:.4g} per second: one of them is wrong, "
                   "or --hw names another device; nothing is written",
                   what, measured, peak));
}

ProductShape cube(ProductKind kind) {
    const double element = kind == ProductKind::Half ? 2 : 1;
    ProductShape shape;
    shape.m = shape.n = shape.k = 8192;
    shape.kind = kind;
    shape.weight_element = shape.input_element = element;
    return shape;
}

/// The share of the matrix peak with which the model gives the measured time of the 8192^3 product; nothing
/// where no value within the parameter's bounds does.
std::optional<double> matrix_share(const CeilingParameter& parameter, ProductKind kind, Ceilings ceilings,
                                   Seconds measured) {
    const auto time = [&](double share) {
        parameter.set(ceilings, share);
        return product_time(cube(kind), ceilings).total;
    };
    double slow = parameter.low, fast = parameter.high;
    if (time(slow) < measured || time(fast) > measured) return std::nullopt;
    for (int i = 0; i < 60; ++i) {
        const double middle = (slow + fast) / 2;
        (time(middle) > measured ? slow : fast) = middle;
    }
    return (slow + fast) / 2;
}

std::vector<Entry> entries_of(const Hardware& hardware, const DeviceCeilings& m) {
    const Peaks& peaks = hardware.reach.peaks;
    require_below_datasheet("reading memory", m.read.per_s, peaks.memory.base());
    Ceilings reach = hardware.reach;
    reach.memory = m.read.per_s / peaks.memory.base();
    std::vector<Entry> entries;
    entries.push_back({"memory", fmt::format("{:.4f}", reach.memory), "measured-read",
                       fmt::format("reading cold memory at {:.4g} TB/s, spread {:.2g} %", m.read.per_s / 1e12,
                                   100 * m.read.spread)});
    for (const MeasuredProduct& p : m.products) {
        if (p.type != "bf16" && p.type != "fp8") continue;
        const ProductKind kind = p.type == "fp8" ? ProductKind::Fp8 : ProductKind::Half;
        require_below_datasheet(p.type + " products", p.product.per_s, matrix_peak(peaks, kind).base());
        const std::string name = kind == ProductKind::Fp8 ? "product.fp8.matrix" : "product.half.matrix";
        const Seconds time(2.0 * 8192 * 8192 * 8192 / p.product.per_s);
        const auto share = matrix_share(*find_ceiling(name), kind, reach, time);
        if (!share) continue;
        entries.push_back(
            {name, fmt::format("{:.4f}", *share), "measured-product-" + p.type,
             fmt::format("the share with which an 8192^3 product in {} takes its measured time, "
                         "{:.4g} TFLOP/s, spread {:.2g} %",
                         p.type, p.product.per_s / 1e12, 100 * p.product.spread)});
    }
    entries.push_back({"stream.launch", fmt::format("{:.3f} us", 1e6 * m.dependent_in_graph.base()),
                       "measured-launches", "dependent launches inside a graph, and launches by the host"});
    entries.push_back(
        {"stream.issue", fmt::format("{:.3f} us", 1e6 * m.launch_in_stream.base()), "measured-launches", ""});
    return entries;
}

/// The kernels in kernels/: fitted to all of the launches, so the error is that of fitted rows.
void add_bundled_entries(std::vector<Entry>& entries, const Hardware& hardware, const DeviceCeilings& m) {
    if (m.launches.empty()) return;
    Ceilings start = hardware.reach;
    start.memory = m.read.per_s / start.peaks.memory.base();
    const CeilingsFit fit = fit_ceilings(fitting_cases(m.launches, hardware), start);
    const std::string source = "measured-kernels";
    std::string title = fmt::format("the kernels in kernels/, fitted to {} launches", m.launches.size());
    for (const FittedGroup& g : fit.groups) {
        title +=
            fmt::format("{} {} {:.1f} %", &g == &fit.groups.front() ? "; mean errors of the fitted:" : ",",
                        g.group.substr(g.group.find(' ') + 1), 100 * g.train.mean_abs);
        std::vector<std::string> names = parameters_of(g.group);
        names.push_back(spread_parameter(g.group));
        for (const std::string& name : names) {
            const CeilingParameter& p = *find_ceiling(name);
            entries.push_back({name, in_unit(p.get(fit.ceilings), p.unit), source, title});
        }
    }
    for (Entry& e : entries) {
        if (e.source == source) e.title = std::exchange(title, "");
    }
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

using Lines = std::vector<std::string>;

/// The line after the block that the line `key:` at the margin opens.
Lines::iterator end_of_block(Lines& lines, Lines::iterator key) {
    return std::find_if(key + 1, lines.end(),
                        [](const std::string& l) { return !l.empty() && l[0] != ' ' && l[0] != '#'; });
}

Lines::iterator block(Lines& lines, const std::string& key) {
    auto at = std::find(lines.begin(), lines.end(), key + ":");
    if (at != lines.end()) return at;
    lines.push_back(key + ":");
    return lines.end() - 1;
}

/// Takes a key of two spaces' indent, and what is deeper below it, out of a block.
void drop(Lines& lines, const std::string& outer, const std::string& inner) {
    const auto open = block(lines, outer);
    const auto close = end_of_block(lines, open);
    const auto from =
        std::find_if(open, close, [&](const std::string& l) { return l.starts_with("  " + inner + ":"); });
    if (from == close) return;
    const auto to = std::find_if(from + 1, close, [](const std::string& l) { return !l.starts_with("   "); });
    lines.erase(from, to);
}

void add(Lines& lines, const std::string& outer, const Lines& added) {
    lines.insert(end_of_block(lines, block(lines, outer)), added.begin(), added.end());
}

std::string rate_comment(const char* what, const MeasuredRate& rate) {
    return fmt::format("#   {}: {:.4g} TB/s, spread {:.2g} %", what, rate.per_s / 1e12, 100 * rate.spread);
}

Lines comments_of(const DeviceCeilings& m) {
    Lines lines{fmt::format("# Measured on {}, {} ({}), for people; the model has no parameter for it:",
                            m.device, m.date, m.conditions),
                rate_comment("reads", m.read),
                rate_comment("writes", m.write),
                rate_comment("copies, both directions", m.copy),
                rate_comment("reads of L2", m.l2_read),
                rate_comment("reads of shared memory, all SMs", m.shared_read)};
    lines.push_back(fmt::format("#   launches: alone {:.3g} us, in a stream {:.3g} us, in a graph {:.3g} us",
                                1e6 * m.launch_alone.base(), 1e6 * m.launch_in_stream.base(),
                                1e6 * m.launch_in_graph.base()));
    for (const MeasuredProduct& p : m.products) {
        lines.push_back(fmt::format("#   {} products: {:.4g} TFLOP/s, spread {:.2g} %", p.type,
                                    p.product.per_s / 1e12, 100 * p.product.spread));
        if (p.mma_flop_per_s)
            lines.back() += fmt::format("; mma.sync {:.4g} TFLOP/s", *p.mma_flop_per_s / 1e12);
    }
    return lines;
}

}  // namespace

std::string calibrated_profile(const std::string& text, const Hardware& hardware, const DeviceCeilings& m) {
    Lines lines = lines_of(text);
    // An earlier calibration's figures for people are out of date with its values.
    const auto earlier = std::find_if(lines.begin(), lines.end(),
                                      [](const std::string& l) { return l.starts_with("# Measured on "); });
    if (earlier != lines.end())
        lines.erase(earlier, std::find_if(earlier + 1, lines.end(),
                                          [](const std::string& l) { return !l.starts_with("#   "); }));
    std::vector<Entry> entries = entries_of(hardware, m);
    add_bundled_entries(entries, hardware, m);
    for (const Entry& e : entries) {
        drop(lines, "ceilings", e.parameter);
        add(lines, "ceilings",
            {fmt::format("  {}: {{value: {}, source: {}}}", e.parameter, e.value, e.source)});
        if (e.title.empty()) continue;
        drop(lines, "sources", e.source);
        add(lines, "sources",
            {"  " + e.source + ":", "    kind: measured",
             fmt::format("    title: '{} on one {}; {}'", e.title, m.device, m.conditions),
             "    where: headroom calibrate", fmt::format("    date: {}", m.date)});
    }
    for (const std::string& comment : comments_of(m)) lines.push_back(comment);
    return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace headroom
