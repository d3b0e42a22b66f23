// SPDX-License-Identifier: Apache-2.0
#include "io/start_log.h"

#include "base/diagnostic.h"
#include "io/line_reader.h"

#include <cctype>
#include <cstdlib>

#include <fmt/format.h>

namespace headroom {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

enum class Keep { first, least, most };

/// One way in which some version words a figure: the number that follows `text` (and, where given, only in
/// lines that also hold `beside`).
struct Wording {
    const char* text;
    std::optional<LogFact> StartLog::*fact;
    double unit = 1;
    Keep keep = Keep::first;
    const char* beside = "";
};

// Versions before 0.8 print GiB (bytes / 2^30) as "GB".
const Wording kWordings[] = {
    {"tensor_parallel_size=", &StartLog::tp},
    {"'tensor_parallel_size':", &StartLog::tp},
    {"pipeline_parallel_size=", &StartLog::pp},
    {"'pipeline_parallel_size':", &StartLog::pp},
    {"total_memory=", &StartLog::total, kGiB},
    {"total_gpu_memory", &StartLog::total, kGiB},
    {"'gpu_memory_utilization':", &StartLog::utilisation},
    {"gpu_memory_utilization=", &StartLog::utilisation},
    {"gpu_memory_utilization (", &StartLog::utilisation},
    {"gpu_memory_utilization ", &StartLog::utilisation},
    {"Requested memory:", &StartLog::utilisation, 1, Keep::first, "(util)"},
    {"Model loading took", &StartLog::weights, kGiB, Keep::most},
    {"Loading model weights took", &StartLog::weights, kGiB, Keep::most},
    {"weights memory:", &StartLog::weights, kGiB, Keep::most},
    {"model weights take", &StartLog::weights, kGiB, Keep::most},
    {"torch peak memory increase:", &StartLog::activation, kGiB, Keep::most},
    {"PyTorch activation peak memory takes", &StartLog::activation, kGiB, Keep::most},
    {"PyTorch activation peak memory ", &StartLog::activation, kGiB, Keep::most},
    {"non-torch forward increase memory:", &StartLog::non_torch, kGiB, Keep::most},
    {"non_torch_memory takes", &StartLog::non_torch, kGiB, Keep::most},
    {"non_torch_memory ", &StartLog::non_torch, kGiB, Keep::most},
    {"Available KV cache memory:", &StartLog::kv, kGiB, Keep::least},
    {"reserved for KV Cache is", &StartLog::kv, kGiB, Keep::least},
    {"available_kv_cache_memory ", &StartLog::kv, kGiB, Keep::least},
    {"GPU KV cache size:", &StartLog::kv_tokens, 1, Keep::least},
    {"# GPU blocks:", &StartLog::blocks, 1, Keep::least},
    {"# cuda blocks:", &StartLog::blocks, 1, Keep::least},
    {"'block_size':", &StartLog::block_tokens},
    {", block_size=", &StartLog::block_tokens, 1, Keep::first, "Namespace("},
    {"Setting attention block size to", &StartLog::block_tokens},
    {"'max_num_seqs':", &StartLog::max_sequences},
    {"max_num_seqs=", &StartLog::max_sequences},
    {"'max_num_batched_tokens':", &StartLog::max_batched_tokens},
    {"max_num_batched_tokens=", &StartLog::max_batched_tokens},
    {"max_seq_len=", &StartLog::max_context},
    {"Maximum concurrency for", &StartLog::max_context},
    {"secs, took", &StartLog::graphs, kGiB, Keep::most, "Graph capturing finished"},
    {"Estimated CUDA graph memory:", &StartLog::graph_estimate, kGiB, Keep::most},
};

/// "168,880 tokens" is 168880; nothing where no number stands there.
std::optional<double> number_at(std::string_view text) {
    std::size_t at = text.find_first_not_of(" \t(");
    std::string digits;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        const bool sign = c == '-' && digits.empty();
        if (c == ',' && at + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[at + 1])) != 0 &&
            !digits.empty())
            continue;
        if (!sign && c != '.' && std::isdigit(static_cast<unsigned char>(c)) == 0) break;
        digits += c;
    }
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    return end == digits.c_str() ? std::nullopt : std::optional<double>(value);
}

void keep(std::optional<LogFact>& fact, LogFact found, Keep how) {
    const bool better = !fact || (how == Keep::least && found.value < fact->value) ||
                        (how == Keep::most && found.value > fact->value);
    if (better) fact = found;
}

/// The text between `before` and the next `end`; "" where it is not there.
std::string between(std::string_view line, std::string_view before, char end) {
    const std::size_t at = line.find(before);
    if (at == std::string_view::npos) return "";
    const std::string_view rest = line.substr(at + before.size());
    const std::size_t to = rest.find(end);
    return to == std::string_view::npos ? "" : std::string(rest.substr(0, to));
}

void read_names(StartLog& log, std::string_view line) {
    if (log.version.empty()) log.version = between(line, "LLM engine (v", ')');
    if (log.version.empty()) log.version = between(std::string(line) + ' ', "vLLM API server version ", ' ');
    if (!log.version.empty() && log.version.front() == 'v') log.version.erase(0, 1);
    if (log.model.empty() && line.find("LLM engine") != std::string_view::npos)
        log.model = between(line, "model='", '\'');
}

[[noreturn]] void refuse_at(const StartLog& log, int line, const std::string& key,
                            const std::string& message) {
    throw InputError({Diagnostic{{log.file, line, 1}, key, message, ""}});
}

std::string gib(double bytes) { return fmt::format("{:.2f} GiB", bytes / kGiB); }

void check(const StartLog& log) {
    if (log.lines == 0) refuse(log.file, "", "is empty");
    if (log.version.empty() && !log.weights && !log.kv && !log.blocks)
        refuse_at(
            log, 1, "",
            fmt::format("none of its {} lines is of a vLLM start-up log: neither \"Initializing ... LLM "
                        "engine\" nor \"Model loading took\" nor \"KV cache\"",
                        log.lines));
    if (!log.kv && log.blocks)
        refuse_at(
            log, log.blocks->line, "",
            "says how many blocks there are and not how memory was divided; logs of 0.6.4 and later do");
    if (!log.kv)
        refuse_at(log, log.lines, "",
                  "ends before \"Available KV cache memory\"; the log is needed up to where the KV cache is "
                  "made");
    if (log.kv->value <= 0)
        refuse_at(log, log.kv->line, "",
                  fmt::format("{} are left for KV: that start failed", gib(log.kv->value)));
    if (!log.weights) refuse_at(log, log.lines, "", "no line says what the weights take");
    if (log.utilisation && (log.utilisation->value <= 0 || log.utilisation->value > 1))
        refuse_at(log, log.utilisation->line, "gpu_memory_utilization",
                  fmt::format("{} is no share of a device", log.utilisation->value));
    if (log.total && log.utilisation) {
        const double used = log.weights->value + log.kv->value + (log.activation ? log.activation->value : 0);
        const double usable = log.total->value * log.utilisation->value;
        // Figures are printed to 0.01 GiB each.
        if (used > usable + 0.1 * kGiB)
            refuse_at(log, log.kv->line, "",
                      fmt::format("weights, activations and KV add up to {}, above {} x {} = {}: are these "
                                  "two starts in one file?",
                                  gib(used), gib(log.total->value), log.utilisation->value, gib(usable)));
    }
}

}  // namespace

StartLog read_start_log(const std::string& path) {
    StartLog log;
    log.file = path;
    LineReader lines(path);
    for (std::string_view line; lines.next(line);) {
        ++log.lines;
        read_names(log, line);
        for (const Wording& w : kWordings) {
            const std::size_t at = line.find(w.text);
            if (at == std::string_view::npos || line.find(w.beside) == std::string_view::npos) continue;
            if (const auto value = number_at(line.substr(at + std::string_view(w.text).size())))
                keep(log.*w.fact, {*value * w.unit, log.lines}, w.keep);
        }
    }
    check(log);
    return log;
}

}  // namespace headroom
