// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/simulate.h"
#include "cli/options.h"

#include <optional>
#include <string>

namespace headroom {

/// The link between a prefill and a decode pool; nothing when `text` is empty or a fault was added.
void add_link_option(CLI::App& app, std::string& link);
std::optional<Bandwidth> parse_link(const std::string& text, OptionFaults& faults);

/// Options of pools whose replicas are given, not searched.
struct PoolOptions {
    std::string disaggregate;
    std::string hw, tp, pp, ep, dp;  ///< of the prefill replicas
    std::string link;
};
void add_pool_options(CLI::App& app, PoolOptions& options);

/// Nothing without `--disaggregate`. What is not said of the prefill replicas is as for the others.
std::optional<PrefillPool> parse_pools(const PoolOptions& options, const Subject& subject,
                                       OptionFaults& faults);

}  // namespace headroom
