// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "mapping/footprint.h"
#include "mapping/visits.h"
#include "report/map.h"

#include <algorithm>

#include <fmt/core.h>

namespace headroom {
namespace {

struct Outliner {
    const MappedComputation& nest;
    const MappingDevice& device;
    const Analysis& analysis;
    NestPlan plan = make_plan(nest);
    std::size_t buffer = 0;  // in the order in which make_plan meets them
    std::vector<std::string> lines{};

    std::string amount(std::size_t tensor, std::int64_t words) const {
        return format(Bytes(static_cast<double>(word_bytes(words, nest.computation.tensors[tensor].type))),
                      3);
    }

    void line(int depth, const std::string& text) {
        lines.push_back(std::string(static_cast<std::size_t>(2 * depth), ' ') + text);
    }

    // "K in sram: 16.4 kB, reads 134 MB from hbm"
    void held(int depth, const Buffer& b) {
        const Extents extents = whole(nest.computation);
        std::string text = fmt::format("{} in {}: {}", nest.computation.tensors[b.tensor].name,
                                       kMemoryLevels[static_cast<std::size_t>(b.level)].second,
                                       amount(b.tensor, volume(b.accesses, inside(b.outside, extents))));
        if (b.at_home) {
            line(depth, text + ", never leaves");
            return;
        }
        const MemoryLevel from = b.parent ? plan.buffers[*b.parent].level : nest.mapping.home[b.tensor];
        const auto name = kMemoryLevels[static_cast<std::size_t>(from)].second;
        const Moved m = moved(b.outside, b, extents);
        if (m.reads > 0) text += fmt::format(", reads {} from {}", amount(b.tensor, m.reads), name);
        if (m.writes > 0) text += fmt::format(", writes {} to {}", amount(b.tensor, m.writes), name);
        line(depth, text);
    }

    void visit(const Nest& n, int depth) {
        for (const Loop& l : n.loops) {
            const std::string& name = nest.computation.dimensions[static_cast<std::size_t>(l.dimension)].name;
            const auto over = kLoopBindings[static_cast<std::size_t>(l.over)].second;
            line(depth++, l.over == LoopBinding::time
                              ? fmt::format("for {} by {}", name, tile_size(nest.mapping, l))
                              : fmt::format("{}: {} by {}", over, name, tile_size(nest.mapping, l)));
        }
        for (std::size_t i = 0; i < n.stages.size(); ++i) held(depth, plan.buffers[buffer++]);
        if (n.statement >= 0) {
            const Statement& s = nest.computation.statements[static_cast<std::size_t>(n.statement)];
            std::string inputs;
            for (const Access& a : s.inputs)
                inputs += (inputs.empty() ? "" : ", ") +
                          nest.computation.tensors[static_cast<std::size_t>(a.tensor)].name;
            line(depth, fmt::format("* {}: {} from {}", s.name,
                                    nest.computation.tensors[static_cast<std::size_t>(s.output.tensor)].name,
                                    inputs));
        }
        for (const Nest& inner : n.body) visit(inner, depth);
    }

    void kernel(std::size_t i) {
        const KernelAnalysis& k = analysis.kernels[i];
        line(0, fmt::format("kernel {}: {} blocks, {} a SM, {} {}", k.name,
                            format_count(static_cast<double>(k.blocks)), k.blocks_per_sm,
                            format_count(static_cast<double>(k.waves)), k.waves == 1 ? "wave" : "waves"));
        visit(nest.mapping.kernels[i].nest, 1);
        const auto bytes = [](std::int64_t n) { return format(Bytes(static_cast<double>(n)), 3); };
        line(1, fmt::format("= HBM {}, L2 {}, SRAM {}; {}, binds: {}", bytes(k.hbm_bytes), bytes(k.l2_bytes),
                            bytes(k.sram_traffic_bytes), format(k.expected, 3), k.bound));
    }
};

std::size_t shown_width(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::vector<std::string> outline(const MappedAnalysis& mapped, const MappingDevice& device) {
    Outliner o{mapped.nest, device, mapped.analysis};
    o.line(0, mapped.nest.mapping.name);
    for (std::size_t k = 0; k < mapped.nest.mapping.kernels.size(); ++k) o.kernel(k);
    return std::move(o.lines);
}

std::string side_by_side(const std::vector<std::string>& left, const std::vector<std::string>& right) {
    std::size_t width = 0;
    for (const std::string& line : left) width = std::max(width, shown_width(line));
    std::string text;
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
        const std::string& l = i < left.size() ? left[i] : std::string();
        const std::string& r = i < right.size() ? right[i] : std::string();
        std::string line = "  " + l + std::string(width - shown_width(l), ' ') + " | " + r;
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace headroom
