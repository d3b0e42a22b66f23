// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "serving/simulator.h"

#include <string>

namespace headroom {

/// Events in the trace format of Chrome and Perfetto ("JSON Array Format": begin with `[`, one event per
/// line, each followed by a comma; the closing bracket may be missing). Times are in microseconds. A replica
/// is a process, its pipeline stages' batches are threads; counters show the queue and the KV cache.
std::string timeline_event(const StepRecord& step);
/// One asynchronous slice from arrival to last token, with the first token marked.
std::string timeline_event(const RequestRecord& request);

/// One line of the per-request table, and its header.
std::string requests_csv_header();
std::string requests_csv_row(const RequestRecord& request);

}  // namespace headroom
