// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/measured.h"
#include "spec/hardware.h"

#include <string>
#include <string_view>

namespace headroom {

/// The parts for the data files, as YAML: `ceilings:` of the device that was measured, and `kernels:` of its
/// generation for devices that were not, with the wider spreads of the crossed errors where there are any.
/// Fitted values name the source `kernel-fits`; kinds of products and experts that were not measured take
/// the 16-bit kind's values (`kin`); everything else stays as the profile has it.
std::string ceilings_yaml(const Hardware& profile, const Ceilings& fitted,
                          const std::vector<FittedGroup>& groups);

/// A value in the unit that the data files write it in, with the unit.
std::string in_unit(double base, std::string_view unit);

}  // namespace headroom
