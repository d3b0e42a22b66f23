// SPDX-License-Identifier: Apache-2.0
#include "memory/waste.h"

#include "memory/buddy.h"
#include "memory/oracle.h"
#include "memory/paged.h"
#include "memory/reserve.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/core.h>

namespace headroom {
namespace {

double power_above(std::int64_t n) {
    return static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, n))));
}

double held_by(Policy policy, double block, double max_length, const HeldTokens& held) {
    switch (policy) {
        case Policy::reserve:
            return max_length;
        case Policy::buddy_max:
            return power_above(static_cast<std::int64_t>(max_length));
        case Policy::oracle:
            return held.final;
        case Policy::buddy:
            return held.buddy;
        case Policy::buddy_pow2:
            return held.guessed;
        case Policy::paged:
        case Policy::paged_shared:
            return held.live + (block - 1) / 2;
        case Policy::grouped:
        case Policy::grouped_keep:
            break;
    }
    return 0;
}

template <class A>
std::int64_t fill(A allocator, const Demand& demand) {
    std::int64_t n = 0;
    while (!allocator.never(demand) && allocator.admit(static_cast<int>(n), demand)) ++n;
    return n;
}

}  // namespace

HeldTokens held_tokens(const RequestSource& source, std::int64_t max_length) {
    HeldTokens sum;
    double steps = 0;
    Request r;
    while (source(r)) {
        if (r.input_tokens >= max_length) continue;
        const std::int64_t output = std::min(r.output_tokens, max_length - r.input_tokens);
        const auto in = static_cast<double>(r.input_tokens), out = static_cast<double>(output);
        const double weight = out * std::max(1, r.samples);
        const std::int64_t guess =
            std::min(max_length, r.input_tokens + static_cast<std::int64_t>(power_above(output)));
        ++sum.requests;
        steps += weight;
        sum.live += weight * (in + (out + 1) / 2);
        sum.final += weight * (in + out);
        sum.buddy += weight * power_above(r.input_tokens + output);
        sum.guessed += weight * power_above(guess);
    }
    if (steps == 0) return sum;
    return {sum.live / steps, sum.final / steps, sum.buddy / steps, sum.guessed / steps, sum.requests};
}

WasteEstimate estimate_waste(Policy policy, std::int64_t region, std::int64_t block, std::int64_t max_length,
                             const HeldTokens& held, std::int64_t max_sequences) {
    WasteEstimate e;
    const double each = held_by(policy, static_cast<double>(block), static_cast<double>(max_length), held);
    if (each <= 0) return e;
    const auto room = static_cast<double>(region);
    // Whole pieces where all are of one size; elsewhere the mix fills the remainder.
    const bool equal = policy == Policy::reserve || policy == Policy::buddy_max;
    e.sequences = equal ? std::floor(room / each) : room / each;
    if (max_sequences > 0) e.sequences = std::min(e.sequences, static_cast<double>(max_sequences));
    const double share = e.sequences / room;
    e.utilisation = share * held.live;
    if (is_paged(policy)) {
        e.internal_waste = share * (each - held.live);
    } else {
        const bool rounded = policy == Policy::buddy || policy == Policy::buddy_pow2;
        const double wanted = rounded ? std::min(each, held.final) : each;
        e.internal_waste = share * (each - wanted);
        e.reservation_waste = share * (wanted - held.live);
    }
    return e;
}

std::string explain(const WasteEstimate& estimate, const ReplayResult& r) {
    const double apart = estimate.utilisation - r.utilisation;
    if (estimate.utilisation <= 0) return "no estimate for this policy";
    if (std::abs(apart) < 0.005) return "agrees within half a per cent of the region";
    // What is neither held nor usable, or not used yet, would have held live tokens in the same proportion.
    const double held = r.utilisation + r.internal_waste + r.reservation_waste;
    const double idle = estimate.utilisation * (r.external_waste + r.free);
    std::string text =
        fmt::format("{:+.1f} % of the region: {:.1f} is lost where it is free while a request waits",
                    -100 * apart, 100 * idle);
    if (r.external_waste > r.free) {
        text += " (in pieces too small for it)";
    } else if (r.free > 0) {
        text += " (less than the first in line asks for)";
    }
    const double rest = apart - idle;
    if (std::abs(rest) >= 0.005) {
        const double live = held > 0 ? r.utilisation / held : 0;
        text += fmt::format(", {:+.1f} since what is held is {:.1f} % live", -100 * rest, 100 * live);
        if (r.preemptions > 0)
            text += fmt::format(" ({} preemptions keep old sequences and drop young ones)", r.preemptions);
        if (r.shared_savings > 0)
            text += fmt::format(" and {:.1f} % of live tokens share a copy", 100 * r.shared_savings);
    }
    return text;
}

std::int64_t region_tokens(const ModelKv& kv, Bytes room) {
    BytesPerToken each;
    for (const KvLayers& part : kv) each += part.layers * part.law.per_token;
    if (each <= BytesPerToken{} || room <= Bytes{}) return 0;
    return static_cast<std::int64_t>((room / each).base());
}

std::int64_t sequences_that_fit(const ReplayOptions& o, std::int64_t prompt, std::int64_t output) {
    const Demand demand{prompt + output, prompt + output, prompt, nullptr};
    switch (o.policy) {
        case Policy::reserve:
            return fill(ReserveAllocator(o.region, o.max_length), demand);
        case Policy::oracle:
            return fill(OracleAllocator(o.region), demand);
        case Policy::buddy:
            return fill(BuddyAllocator(o.region, BuddySize::known, o.max_length), demand);
        case Policy::buddy_pow2:
            return fill(BuddyAllocator(o.region, BuddySize::guessed, o.max_length), demand);
        case Policy::buddy_max:
            return fill(BuddyAllocator(o.region, BuddySize::longest, o.max_length), demand);
        case Policy::paged:
        case Policy::paged_shared:
            return fill(PagedAllocator(o.region, o.block), demand);
        case Policy::grouped:
            return fill(GroupedAllocator(o.region, o.layout, false), demand);
        case Policy::grouped_keep:
            break;
    }
    return fill(GroupedAllocator(o.region, o.layout, true), demand);
}

std::vector<ReplayResult> sweep_blocks(const OpenRequests& open, const ReplayOptions& options,
                                       std::span<const std::int64_t> blocks,
                                       const std::function<ReplayCosts(std::int64_t)>& costs) {
    std::vector<ReplayResult> results;
    for (const std::int64_t block : blocks) {
        ReplayOptions at = options;
        at.block = block;
        if (costs) at.costs = costs(block);
        results.push_back(replay(open(), at));
    }
    return results;
}

std::size_t best_block(std::span<const ReplayResult> results) {
    const auto merit = [](const ReplayResult& r) {
        return r.throughput ? r.throughput->base() : r.mean_sequences;
    };
    std::size_t best = 0;
    for (std::size_t i = 1; i < results.size(); ++i) {
        const double gain = merit(results[i]) - merit(results[best]);
        const double noise = 0.005 * merit(results[best]);
        if (gain > noise || (gain > -noise && results[i].block > results[best].block)) best = i;
    }
    return best;
}

}  // namespace headroom
