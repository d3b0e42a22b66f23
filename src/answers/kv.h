// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/question.h"
#include "memory/ledger.h"
#include "memory/waste.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

/// Which policies to compare on which requests.
struct KvRequest {
    OpenRequests open;
    std::vector<Policy> policies;
    std::vector<std::int64_t> blocks{16};  ///< tokens; the paged policies run at each
    std::int64_t max_length = 8192;        ///< of prompt and output
    std::int64_t max_sequences = 0;        ///< 0: the engine's limit, and none where it has none
    std::int64_t region_tokens = 0;        ///< 0: what the deployment leaves for KV
    std::function<void(Policy policy, std::int64_t block, std::int64_t requests)> progress;
};

struct KvRow {
    ReplayResult replayed;
    WasteEstimate estimate;
    std::string explanation;  ///< of the difference between the two
    std::int64_t fits = 0;    ///< sequences of the mean final length that an empty region takes at once
};

struct KvAnswer {
    Question question;
    Ledger ledger;                  ///< of the stage that binds
    BytesPerToken bytes_per_token;  ///< one GPU, every layer kept for every token
    std::int64_t region_tokens = 0;
    std::int64_t max_sequences = 0;  ///< that run at once, as asked or as the engine says; 0: no limit
    HeldTokens held;
    std::vector<KvRow> rows;
    std::int64_t best_block = 0;  ///< of the first paged policy, when several blocks were asked for; else 0
    std::vector<std::string> notes;
};

/// Region: what the ledger leaves on one GPU (a data-parallel rank, all pipeline stages alike). Times: the
/// step model's, with the engine's cost of paged attention for paged policies only. An empty `rows` means
/// that nothing is left for KV.
KvAnswer kv_waste(const Question& question, const KvRequest& request);

}  // namespace headroom
