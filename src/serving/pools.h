// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "serving/simulator.h"

namespace headroom {

/// Bytes of a sequence's cache that the fullest GPU of a replica holds: what its link has to carry.
Bytes cache_per_gpu(const Shard& shard, double tokens);

/// Seconds that one cache occupies the links of a prefill and of a decode replica: every GPU sends or
/// receives its own part at the same time, so the fullest GPU of either side counts.
Seconds transfer_time(const Shard& from, const Shard& to, const Handover& handover, double tokens);

/// The link between two pools: the network of the slower device, or the scale-up link when both are the same
/// device and fit into one domain. Empty when neither is known.
std::optional<Handover> handover_between(const Pool& prefill, const Pool& decode);

/// The links of every replica, each of which carries one cache at a time.
class HandoverLinks {
  public:
    explicit HandoverLinks(const System& system);
    /// Moves the cache of a prompt that ended at `now`; returns when all of it is there. Layers are sent as
    /// they are computed: the first is ready 1 / layers of the prompt's run after its start, the last at its
    /// end.
    double move(std::size_t from, std::size_t to, const Live& live, double now);

  private:
    const System& system_;
    double layers_ = 1;
    std::vector<double> free_;  // by replica
};

}  // namespace headroom
