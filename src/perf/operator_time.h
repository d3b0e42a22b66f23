// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/work.h"
#include "perf/experts_time.h"
#include "spec/hardware.h"
#include "spec/interval.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace headroom {

/// What limits a time. `overhead` is launches and the host.
enum class Bound { memory, compute, network, overhead };

inline constexpr std::array kBounds{
    std::pair<Bound, std::string_view>{Bound::memory, "memory"},
    std::pair<Bound, std::string_view>{Bound::compute, "compute"},
    std::pair<Bound, std::string_view>{Bound::network, "network"},
    std::pair<Bound, std::string_view>{Bound::overhead, "overhead"},
};
std::string to_string(Bound bound);

/// floor: datasheet peaks and nothing else, so nothing can beat it. floor <= low <= expected <= high.
struct TimeEstimate {
    Seconds floor;
    Seconds low;
    Seconds expected;
    Seconds high;

    constexpr TimeEstimate& operator+=(const TimeEstimate& t) {
        floor += t.floor;
        low += t.low;
        expected += t.expected;
        high += t.high;
        return *this;
    }
    friend constexpr TimeEstimate operator*(double n, const TimeEstimate& t) {
        return {n * t.floor, n * t.low, n * t.expected, n * t.high};
    }
};

/// Seconds by what they are spent on; they add up to a time exactly.
struct TimeShares {
    Seconds memory;
    Seconds compute;
    Seconds network;
    Seconds overhead;

    constexpr TimeShares& operator+=(const TimeShares& s) {
        memory += s.memory;
        compute += s.compute;
        network += s.network;
        overhead += s.overhead;
        return *this;
    }
    friend constexpr TimeShares operator*(double n, const TimeShares& s) {
        return {n * s.memory, n * s.compute, n * s.network, n * s.overhead};
    }
};
constexpr Seconds total(const TimeShares& s) { return s.memory + s.compute + s.network + s.overhead; }
Bound largest(const TimeShares& shares);

/// One operator on one GPU, once.
struct OperatorTime {
    TimeEstimate time;
    TimeShares shares;            ///< of `time.expected`
    Bound bound = Bound::memory;  ///< the largest of the shares: of the expected time, not of the floor
    Seconds memory_floor;         ///< compulsory bytes over the datasheet's bandwidth
    Seconds compute_floor;        ///< FLOPs over the dense peak of the type it is computed in
    Seconds network_floor;
};
/// What the floor's largest part is.
Bound floor_bound(const OperatorTime& time);

/// How an engine runs operators, as far as their times depend on it.
struct KernelChoices {
    bool graph = true;  ///< launched from a captured graph
    ExpertTiles expert_tiles = ExpertTiles::tuned;
    bool one_shot_all_reduce = true;  ///< the engine's own all-reduce for small messages
    Interval quantise{};  ///< a kernel that quantises what an 8-bit product or attention takes in; 0: fused
};

/// Operands come from memory (a step is cold). The device must have a peak for the operator's type and a link
/// for a collective.
OperatorTime operator_time(const Operator& op, const Hardware& hardware, const KernelChoices& choices);

/// The type that an operator computes in.
ElementType compute_type(const Operator& op);

/// The link that `gpus` GPUs talk over: the scale-up link within its domain, else PCIe or the network;
/// nullptr: none known.
const Link* link_for(const Hardware& hardware, int gpus);

}  // namespace headroom
