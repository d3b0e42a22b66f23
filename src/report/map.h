// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/map.h"
#include "report/render.h"

namespace headroom {

Report report(const MapAnswer& answer);
Report report(const CandidatesAnswer& answer);

/// The nest of a mapping as indented lines, loop by loop, with what each held tensor moves from the level
/// above.
std::vector<std::string> outline(const MappedAnalysis& mapped, const MappingDevice& device);

/// Two outlines in columns.
std::string side_by_side(const std::vector<std::string>& left, const std::vector<std::string>& right);

}  // namespace headroom
