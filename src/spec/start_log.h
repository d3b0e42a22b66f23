// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// A figure that an engine printed, in base units, and the line (from 1) that it stands in.
struct LogFact {
    double value = 0;
    int line = 0;
};

/// What a vLLM start-up log says of memory. Of several workers the one with the least room for KV counts.
struct StartLog {
    std::string file;
    int lines = 0;
    std::string version;  ///< "0.19.0"; "" where no line says
    std::string model;
    std::optional<LogFact> tp, pp;
    std::optional<LogFact> total;                               ///< bytes that CUDA reports
    std::optional<LogFact> utilisation;                         ///< of `total`
    std::optional<LogFact> weights, activation, non_torch, kv;  ///< bytes of one GPU
    std::optional<LogFact> kv_tokens, blocks;
    std::optional<LogFact> block_tokens, max_sequences, max_batched_tokens, max_context;
    std::optional<LogFact> graphs, graph_estimate;  ///< bytes of captured graphs: taken, and foreseen
};

/// An engine profile whose memory part is from a log.
struct LearnedEngine {
    std::string yaml;
    std::string base;                  ///< the profile that everything else was kept from
    std::vector<std::string> learned;  ///< "utilisation 0.95 (line 373)"
    std::vector<std::string> missing;  ///< what the log does not say, and what was kept or assumed instead
};

}  // namespace headroom
