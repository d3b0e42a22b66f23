// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom {

inline constexpr const char* kVersion = HEADROOM_VERSION;

}  // namespace headroom
