// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/map_reader.h"
#include "io/trace_reader.h"
#include "spec/workload.h"
#include "spec/workload_summary.h"

#include <memory>
#include <optional>
#include <string>

namespace headroom {

/// What `--workload` names: a description or a trace. `open` starts at its first request, as often as it is
/// called.
struct Traffic {
    std::string name;
    std::string file;
    std::string format;                ///< "headroom.workload/1", or of the trace: "azure", "mooncake (gzip)"
    std::optional<Workload> workload;  ///< when it is a description
    TraceOptions trace;                ///< when it is a trace

    /// The requests. For a trace `report`, when given, is filled in at the end of the stream.
    RequestSource open(TraceReport* report = nullptr) const;
};

/// A description is a YAML file by its name or by a first key `schema:`; all else is a trace. `overrides`
/// are for descriptions. InputError when the file is neither.
Traffic find_traffic(const std::string& path, const TraceOptions& trace = {},
                     const Overrides& overrides = {});

/// Statistics of all of it, with what the reader skipped and noted.
WorkloadSummary summarise(const Traffic& traffic, const SummaryOptions& options = {});

}  // namespace headroom
