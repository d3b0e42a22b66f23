// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spec/random.h"
#include "spec/request.h"
#include "spec/workload.h"

#include <cstdint>

namespace headroom {

/// A length from a distribution, at least 1 token.
std::int64_t draw(const Length& length, Random& random);

/// Requests as the workload describes them, in order of arrival: `workload.requests` of them, the same ones
/// for the same seed on every machine. Memory is that of the conversations under way.
RequestSource generate(const Workload& workload);

/// The first `most` requests of a source; all when it is 0.
RequestSource first_requests(RequestSource source, std::int64_t most);

}  // namespace headroom
