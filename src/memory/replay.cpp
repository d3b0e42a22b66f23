// SPDX-License-Identifier: Apache-2.0
#include "memory/replay.h"

#include "memory/buddy.h"
#include "memory/oracle.h"
#include "memory/paged.h"
#include "memory/replay_engine.h"
#include "memory/reserve.h"

namespace headroom {
namespace {

template <class A>
ReplayResult run(const RequestSource& source, const ReplayOptions& options, A allocator) {
    return detail::Replay<A>(source, options, std::move(allocator)).run();
}

}  // namespace

std::string_view to_string(Policy policy) {
    return std::find_if(kPolicies.begin(), kPolicies.end(), [&](const auto& p) { return p.first == policy; })
        ->second;
}

bool is_paged(Policy policy) {
    switch (policy) {
        case Policy::paged:
        case Policy::paged_shared:
        case Policy::grouped:
        case Policy::grouped_keep:
            return true;
        case Policy::reserve:
        case Policy::oracle:
        case Policy::buddy:
        case Policy::buddy_pow2:
        case Policy::buddy_max:
            break;
    }
    return false;
}

ReplayResult replay(const RequestSource& source, const ReplayOptions& o) {
    switch (o.policy) {
        case Policy::reserve:
            return run(source, o, ReserveAllocator(o.region, o.max_length));
        case Policy::oracle:
            return run(source, o, OracleAllocator(o.region));
        case Policy::buddy:
            return run(source, o, BuddyAllocator(o.region, BuddySize::known, o.max_length));
        case Policy::buddy_pow2:
            return run(source, o, BuddyAllocator(o.region, BuddySize::guessed, o.max_length));
        case Policy::buddy_max:
            return run(source, o, BuddyAllocator(o.region, BuddySize::longest, o.max_length));
        case Policy::paged:
            return run(source, o, PagedAllocator(o.region, o.block));
        case Policy::paged_shared:
            return run(source, o, SharedPagedAllocator(o.region, o.block));
        case Policy::grouped:
            return run(source, o, GroupedAllocator(o.region, o.layout, false));
        case Policy::grouped_keep:
            break;
    }
    return run(source, o, GroupedAllocator(o.region, o.layout, true));
}

}  // namespace headroom
