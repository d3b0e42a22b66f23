// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/question.h"
#include "mapping/candidates.h"
#include "mapping/search.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

struct MappedAnalysis {
    MappedComputation nest;
    Analysis analysis;
};

struct MapAnswer {
    std::string mapping, hw;  ///< as asked for
    std::vector<std::string> set;
    MappingDevice device;
    MappedAnalysis given;
    std::optional<SearchResult> searched;
    std::optional<MappedAnalysis> beside;  ///< another mapping, to explain side by side

    /// What was asked for: the searched mapping where there is one, else the given one.
    const Analysis& analysis() const { return searched ? searched->analysis : given.analysis; }
    const Mapping& mapping_used() const { return searched ? searched->best : given.nest.mapping; }
};

struct CandidatesAnswer {
    Question question;
    bool prefill = true;
    std::int64_t batch = 1, tokens = 1;
    Bytes step_bytes;  ///< HBM bytes of the step as the operators count them
    std::vector<FusionCandidate> candidates;
};

/// Intermediates of one step of a model that could stay on the chip.
CandidatesAnswer map_candidates(const Question& question, bool prefill, std::int64_t batch,
                                std::int64_t tokens);

}  // namespace headroom
