// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/compare.h"

#include <string>
#include <vector>

namespace headroom {

/// The accuracy report as Markdown: kernels, served runs and memory, each with the split that its errors come
/// from. Kernel errors are of the half that `fit` does not see; serving errors are also given with a model
/// and with a device left out, by fitting again.
std::string accuracy_report(const std::vector<std::string>& paths, const Profiles& profiles);

}  // namespace headroom
