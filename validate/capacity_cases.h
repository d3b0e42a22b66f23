// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "validate/compare.h"

#include <string>

namespace headroom {

/// Start-up facts of engines, one JSON object a line (`kind: kv_capacity`): weights and tokens of KV beside
/// the ledger's. The row's utilisation, token budget and device memory are used. A row whose model, device or
/// engine version has no profile is named in the notes. False when the text is something else.
bool add_capacities(ValidateAnswer& answer, const std::string& text, const std::string& file,
                    const Profiles& profiles);

}  // namespace headroom
