// SPDX-License-Identifier: Apache-2.0
#include "validate/accuracy_parts.h"

#include <map>

#include <fmt/format.h>

namespace headroom {

std::string percent_of(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }

std::string error_cells(const ErrorSummary& s) {
    return fmt::format("{} | {} | {} | {} | {}", s.rows, percent_of(s.mean_abs), percent_of(s.median_abs),
                       percent_of(s.p95_abs), percent_of(s.bias));
}

std::string memory_part(const ValidateAnswer& answer) {
    if (answer.capacities.empty()) return "";
    std::string text = fmt::format(
        "\n## Memory at start-up\n\nWeights, and the room or tokens that are left for KV. Of vllm-0.6 "
        "the activation factors are from two published starts and Phi-4's row, and the runtime "
        "without a link from 2 RTX 4090 and from Qwen3-8B on 4 RTX 2080 Ti; its other rows were "
        "not fitted.\n\n| group | {} | worst |\n| --- | {} | ---: |\n",
        kErrorHead, kErrorRule);
    for (const CaseSummary& s : answer.capacity_groups)
        text += fmt::format("| {} | {} | {} |\n", s.group, error_cells(s.errors), percent_of(s.worst));
    std::string shown;
    for (const CapacityCase& c : answer.capacities) {
        if (!c.not_counted.empty())
            shown +=
                fmt::format("- {}, {}: {} off; {}\n", c.name, c.group, percent_of(c.error), c.not_counted);
    }
    if (!shown.empty()) text += "\nRows that are not counted, and why:\n\n" + shown;
    std::map<std::string, int> reasons;
    for (const std::string& note : answer.notes) {
        const std::size_t at = note.find("): ");
        if (note.find(".jsonl:") != std::string::npos && at != std::string::npos)
            ++reasons[note.substr(at + 3)];
    }
    if (!reasons.empty()) text += "\nRows that cannot be predicted:\n\n";
    for (const auto& [reason, count] : reasons) text += fmt::format("- {}: {}\n", count, reason);
    return text;
}

std::string rates_part(const ValidateAnswer& answer) {
    std::string text;
    for (const CaseSummary& s : answer.groups) {
        const bool rate = s.group.starts_with("llama.cpp ") || s.group.starts_with("gpt-fast ") ||
                          s.group.find(" throughput ") != std::string::npos;
        if (rate && s.errors.rows > 0)
            text += fmt::format("| {} | {} | {} | {} |\n", s.group, error_cells(s.errors),
                                percent_of(s.inside_interval), s.below_floor);
    }
    if (text.empty()) return "";
    return fmt::format(
               "\n## One request at a time, and offline throughput\n\nPublished rates. llama.cpp (May 2024): "
               "four "
               "constants fitted to Llama-3-8B on one GPU (`validate/published_rates.h`); Llama-3-70B and "
               "every "
               "run over several GPUs is unseen. gpt-fast: the device alone, as engine `ideal` has it; "
               "nothing was fitted. TensorRT-LLM 0.14 by the profile of 1.0, all requests at once: nothing "
               "was "
               "fitted, and memory, so the batch, is the profile's estimate.\n\n| group | {} | in interval | "
               "refused |\n| --- | {} | ---: | ---: |\n",
               kErrorHead, kErrorRule) +
           text;
}

}  // namespace headroom
