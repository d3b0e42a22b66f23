// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/map_reader.h"
#include "spec/nest.h"

#include <string>

namespace headroom {

/// Reads a mapping and its computation, which stands in the same file or in the one that it names
/// (docs/mapping.md). `overrides` set dimensions and tile factors by their plain names. Throws InputError
/// with every fault of form and of names; whether the nest is a legal order is for `mapping_faults` to say.
MappedComputation read_mapping(const std::string& path, const std::string& data,
                               const Overrides& overrides = {});

}  // namespace headroom
