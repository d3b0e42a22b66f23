// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/request.h"

#include <cstdint>
#include <vector>

namespace headroom {

/// What becomes of a KV region, in slots: room for one token's keys and values in every layer (bytes for
/// grouped pages). used + internal + reservation + external + free = region, always.
struct Usage {
    std::int64_t region = 0;
    std::int64_t used = 0;      ///< hold a live token; a shared one counts once
    std::int64_t internal = 0;  ///< rounding: the rest of a sequence's last block, or above its reservation
    std::int64_t reservation = 0;  ///< kept for tokens that are not made yet or never will be
    std::int64_t external = 0;  ///< free, but in pieces that cannot serve what waits, or ever serve anything
    std::int64_t free = 0;
    std::int64_t cached = 0;  ///< of `free`: content kept for a prompt that may begin the same way
    std::int64_t shared = 0;  ///< tokens of live sequences that are served by another's copy
};

/// What a sequence asks for when it is admitted.
struct Demand {
    std::int64_t tokens = 0;        ///< held at once: the prompt, and what was made before a preemption
    std::int64_t final_tokens = 0;  ///< held at its end
    std::int64_t prompt = 0;
    const Request* request = nullptr;  ///< whose prefix hashes may be used; may be null
};

// Every allocator is a class of its own with these members; the replay is a template over them.
//
//   bool admit(int slot, const Demand&)     a new sequence under the number `slot`; false: not now
//   bool fork(int parent, int child, const Demand&)   a copy of a sequence that now has `tokens` tokens
//   bool grow(int slot)                     room for one token more; false: none is left
//   std::int64_t room(int slot)             tokens that the sequence may hold before it must grow
//   void advance(std::int64_t n)            n sequences wrote one token each into what they hold
//   void release(int slot, std::int64_t tokens)   the sequence, which has come to `tokens`, leaves
//   std::int64_t piece(const Demand&)       slots that it asks for in one piece; 0: any pieces will do
//   Usage usage(std::int64_t waiting)       with what waits asking for a piece of that size (0: nothing)
//   std::int64_t period()                   tokens between two growths; 0: it never grows
//   bool never(const Demand&)               whether an empty region would be too small for its end

}  // namespace headroom
