// SPDX-License-Identifier: Apache-2.0
#include "memory/grouped.h"

#include "memory/block_pool.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

std::int64_t whole(double bytes) { return static_cast<std::int64_t>(std::llround(bytes)); }

// Tokens that attention still sees.
std::int64_t live_tokens(const PageGroup& g, std::int64_t tokens) {
    if (g.window == 0 || tokens <= g.window) return tokens;
    return g.chunked ? (tokens - 1) % g.window + 1 : g.window;
}

}  // namespace

PageLayout page_layout(const ModelKv& kv, std::int64_t block) {
    PageLayout layout;
    layout.block = block;
    int fewest = 0, most = 0;
    std::int64_t per_token = 0, per_sequence = 0;
    for (const KvLayers& part : kv) {
        if (part.layers == 0 || kv_bytes(part.law, 1) <= Bytes{}) continue;
        fewest = fewest == 0 ? part.layers : std::min(fewest, part.layers);
        most = std::max(most, part.layers);
        per_token = std::max(per_token, whole(part.law.per_token.base()));
        if (!part.law.memory) per_sequence = std::max(per_sequence, whole(part.law.per_sequence.base()));
    }
    layout.layers = 4 * most < 5 * fewest ? most : fewest;
    if (layout.layers == 0) return layout;
    if (per_token > 0 && per_sequence > block * per_token)
        layout.block = blocks_for(blocks_for(per_sequence, per_token), 16) * 16;
    layout.page = layout.layers * std::max(layout.block * per_token, per_token > 0 ? 0 : per_sequence);
    for (const KvLayers& part : kv) {
        PageGroup of{
            0, part.law.cap,    whole(part.law.per_token.base()), whole(part.law.per_sequence.base()),
            0, part.law.chunked};
        of.block = layout.block;
        if (of.token > 0 && per_token % of.token == 0) of.block *= per_token / of.token;
        if (part.layers == 0 || (of.token == 0 && of.state == 0)) continue;
        for (int left = part.layers; left > 0; left -= layout.layers) {
            layout.groups.push_back(of);
            layout.groups.back().layers = std::min(left, layout.layers);
        }
    }
    return layout;
}

std::int64_t fixed_pages(const PageLayout& layout, const PageGroup& group) {
    return std::max<std::int64_t>(
        1, blocks_for(layout.layers * group.state, std::max<std::int64_t>(1, layout.page)));
}

GroupedAllocator::GroupedAllocator(std::int64_t region_bytes, PageLayout layout, bool keep)
    : layout_(std::move(layout)), region_(region_bytes), keep_(keep) {
    pages_ = layout_.page > 0 ? region_ / layout_.page : 0;
    for (std::int64_t i = pages_; i-- > 0;) free_.push_back(static_cast<std::uint32_t>(i));
}

// The first page that is still needed, while the window ends with the newest token.
std::int64_t GroupedAllocator::first_needed(const PageGroup& g, std::int64_t tokens) const {
    if (keep_ || g.window == 0) return 0;
    if (g.chunked) return std::max<std::int64_t>(0, tokens - 1) / g.window * g.window / g.block;
    return std::max<std::int64_t>(0, tokens - g.window) / g.block;
}

std::int64_t GroupedAllocator::pages_for(const PageGroup& g, std::int64_t tokens) const {
    if (g.token == 0) return fixed_pages(layout_, g);
    return blocks_for(tokens, g.block) - first_needed(g, tokens);
}

std::int64_t GroupedAllocator::live_bytes(std::int64_t tokens) const {
    std::int64_t bytes = 0;
    for (const PageGroup& g : layout_.groups) {
        bytes += g.layers * (live_tokens(g, tokens) * g.token + g.state);
    }
    return bytes;
}

bool GroupedAllocator::never(const Demand& d) const {
    std::int64_t most = 0;
    for (const PageGroup& g : layout_.groups) {
        const std::int64_t fullest = g.chunked ? std::min(d.final_tokens, g.window) : d.final_tokens;
        most += pages_for(g, fullest) + (g.window > 0 ? 1 : 0);
    }
    return most > pages_;
}

bool GroupedAllocator::admit(int slot, const Demand& demand) {
    std::int64_t wanted = 0;
    for (const PageGroup& g : layout_.groups) wanted += pages_for(g, demand.tokens);
    if (wanted > static_cast<std::int64_t>(free_.size())) return false;
    const auto at = static_cast<std::size_t>(slot);
    if (at >= sequences_.size()) sequences_.resize(at + 1);
    Sequence& s = sequences_[at];
    s.groups.resize(layout_.groups.size());
    for (std::size_t i = 0; i < layout_.groups.size(); ++i) {
        const PageGroup& g = layout_.groups[i];
        Pages& pages = s.groups[i];
        // Pages before the window are not taken, but keep their place in the table.
        pages.freed = g.token == 0 ? 0 : static_cast<std::size_t>(first_needed(g, demand.tokens));
        pages.held.assign(pages.freed, 0);
        const auto from = free_.end() - pages_for(g, demand.tokens);
        pages.held.insert(pages.held.end(), from, free_.end());
        free_.erase(from, free_.end());
    }
    s.room = blocks_for(demand.tokens, layout_.block) * layout_.block;
    used_ += live_bytes(demand.tokens);
    return true;
}

bool GroupedAllocator::grow(int slot) {
    Sequence& s = sequences_[static_cast<std::size_t>(slot)];
    const std::int64_t room = s.room + layout_.block;
    const auto full = [&](std::size_t i) {
        const PageGroup& g = layout_.groups[i];
        return g.token > 0 && static_cast<std::int64_t>(s.groups[i].held.size()) * g.block < room;
    };
    std::size_t growing = 0;
    for (std::size_t i = 0; i < layout_.groups.size(); ++i) growing += full(i) ? 1 : 0;
    if (growing > free_.size()) return false;
    for (std::size_t i = 0; i < layout_.groups.size(); ++i) {
        if (!full(i)) continue;
        s.groups[i].held.push_back(free_.back());
        free_.pop_back();
    }
    s.room = room;
    return true;
}

void GroupedAllocator::wrote(int slot, std::int64_t tokens) {
    Sequence& s = sequences_[static_cast<std::size_t>(slot)];
    for (std::size_t i = 0; i < layout_.groups.size(); ++i) {
        const PageGroup& g = layout_.groups[i];
        if (g.token == 0) continue;
        used_ += g.layers * g.token * (live_tokens(g, tokens) - live_tokens(g, tokens - 1));
        Pages& pages = s.groups[i];
        for (const auto needed = static_cast<std::size_t>(first_needed(g, tokens)); pages.freed < needed;) {
            free_.push_back(pages.held[pages.freed++]);
        }
    }
}

void GroupedAllocator::release(int slot, std::int64_t tokens) {
    Sequence& s = sequences_[static_cast<std::size_t>(slot)];
    for (Pages& pages : s.groups) {
        free_.insert(free_.end(), pages.held.begin() + static_cast<std::ptrdiff_t>(pages.freed),
                     pages.held.end());
        pages.held.clear();
        pages.freed = 0;
    }
    used_ -= live_bytes(tokens);
    s.room = 0;
}

Usage GroupedAllocator::usage(std::int64_t) const {
    Usage u;
    u.region = region_;
    u.used = used_;
    u.free = static_cast<std::int64_t>(free_.size()) * layout_.page;
    u.external = region_ - pages_ * layout_.page;
    u.internal = region_ - u.external - u.free - u.used;
    return u;
}

std::vector<std::uint32_t> GroupedAllocator::pages(int slot, std::size_t group) const {
    const auto at = static_cast<std::size_t>(slot);
    if (at >= sequences_.size() || group >= sequences_[at].groups.size()) return {};
    const Pages& pages = sequences_[at].groups[group];
    return {pages.held.begin() + static_cast<std::ptrdiff_t>(pages.freed), pages.held.end()};
}

}  // namespace headroom
