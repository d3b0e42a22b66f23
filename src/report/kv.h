// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/kv.h"
#include "report/render.h"

namespace headroom {

/// `workload` is how the requests are called; `notes` are the reader's.
Report report(const KvAnswer& answer, const KvRequest& request, const std::vector<std::string>& notes);

}  // namespace headroom
