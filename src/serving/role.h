// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom {

/// What a replica does with a request: all of it, only the prompt and the first token, or only what follows.
enum class PoolRole { both, prefill, decode };

}  // namespace headroom
