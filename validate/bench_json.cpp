// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostic.h"
#include "validate/bench_result.h"
#include "validate/json_row.h"
#include "validate/serving_cases.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headroom {
namespace {

using Row = nlohmann::json;

const Row& map_of(const Row& row, const char* key) {
    static const Row none = Row::object();
    const auto at = row.find(key);
    return at != row.end() && at->is_object() ? *at : none;
}

/// "inf" is no number in JSON; both programs write it as text, or as Infinity, which does not parse.
bool unlimited(const Row& row, const char* key) {
    const auto at = row.find(key);
    return at == row.end() || !at->is_number();
}

std::string engine_of_backend(std::string backend) {
    for (char& c : backend) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (backend.starts_with("vllm")) return "vllm";
    if (backend.starts_with("sglang") || backend == "srt") return "sglang";
    if (backend.starts_with("trt") || backend.starts_with("tensorrt")) return "trtllm";
    return "";  // "openai", "openai-chat": any server
}

/// How many requests were in flight, where a rate and no limit was given: Little's law on the file's figures.
void set_concurrency(BenchResult& r, const Row& row) {
    const double limit = number_of(row, {"max_concurrency"});
    const double mean = number_of(row, {"concurrency"});  // SGLang's, measured
    const double e2e = number_of(row, {"mean_e2el_ms", "mean_e2e_latency_ms"}) / 1e3;
    const double rate = number_of(row, {"request_throughput"});
    if (unlimited(row, "request_rate") && limit > 0) {
        r.concurrency = limit;
    } else if (unlimited(row, "request_rate")) {
        r.burst = true;
        r.concurrency = number_of(row, {"num_prompts", "completed"});
    } else {
        r.concurrency = mean > 0 ? mean : rate * (e2e > 0 ? e2e : (r.ttft + r.output * r.tpot).base());
    }
}

/// vLLM's benchmark_serving.py and `vllm bench serve`, SGLang's bench_serving: the same keys, for the second
/// grew out of the first.
BenchResult served(const Row& row) {
    BenchResult r;
    const bool sglang = row.contains("total_output_tokens_retokenized") || row.contains("dataset_name") ||
                        row.contains("server_info");
    const Row& server = map_of(row, "server_info");
    r.program = sglang ? "SGLang bench_serving" : "vLLM bench serve";
    r.model = text_of(row, {"model_id", "model"});
    if (r.model.empty()) r.model = text_of(server, {"model_path"});
    r.engine = engine_of_backend(text_of(row, {"backend", "endpoint_type"}));
    r.version = text_of(server, {"version"});
    r.tp = count_of(row, {"tensor_parallel_size", "tp"}, count_of(server, {"tp_size"}));
    r.pp = count_of(row, {"pipeline_parallel_size", "pp"}, count_of(server, {"pp_size"}));
    r.ep = count_of(server, {"ep_size"});
    r.requests = number_of(row, {"completed"});
    if (r.requests > 0) {
        r.input = number_of(row, {"total_input_tokens", "total_input"}) / r.requests;
        r.output = number_of(row, {"total_output_tokens", "total_output"}) / r.requests;
    }
    r.ttft = number_of(row, {"mean_ttft_ms", "median_ttft_ms"}) * ms;
    r.tpot = number_of(row, {"mean_tpot_ms", "median_tpot_ms"}) * ms;
    r.itl = number_of(row, {"mean_itl_ms", "median_itl_ms"}) * ms;
    r.output_rate = number_of(row, {"output_throughput"});
    set_concurrency(r, row);
    if (const double taken = number_of(row, {"accept_length"}); taken > 1.05)
        r.doubt = fmt::format("{:.2f} tokens are accepted per step: tokens are guessed ahead", taken);
    if (const double failed = number_of(row, {"failed"}); failed > 0)
        r.doubt = fmt::format("{:g} requests failed", failed);
    return r;
}

bool is_served(const Row& row) {
    return row.contains("duration") && row.contains("completed") &&
           (row.contains("mean_ttft_ms") || row.contains("median_ttft_ms"));
}

bool is_aiperf(const Row& row) {
    const Row& from = row.contains("records") ? map_of(row, "records") : row;
    return map_of(from, "request_latency").contains("avg") ||
           map_of(from, "inter_token_latency").contains("avg") ||
           map_of(from, "time_to_first_token").contains("avg") || map_of(from, "ttft").contains("avg");
}

double seconds_per(const std::string& unit, const std::string& file, const char* key) {
    if (unit == "ms" || unit.empty()) return 1e-3;
    if (unit == "s" || unit == "sec" || unit == "seconds") return 1;
    if (unit == "us") return 1e-6;
    if (unit == "ns") return 1e-9;
    refuse(file, fmt::format("{}.unit", key), "\"" + unit + "\" is no unit of time known here");
}

/// AIPerf's inter_token_latency of a request is (latency - TTFT) / (output - 1): our TPOT.
BenchResult aiperf(const Row& row, const std::string& file) {
    const Row& from = row.contains("records") ? map_of(row, "records") : row;
    const auto time = [&](std::initializer_list<const char*> keys) {
        for (const char* key : keys) {
            const Row& metric = map_of(from, key);
            if (metric.contains("avg"))
                return Seconds(number_of(metric, {"avg"}) *
                               seconds_per(text_of(metric, {"unit"}), file, key));
        }
        return Seconds();
    };
    const auto mean = [&](const char* key) { return number_of(map_of(from, key), {"avg"}); };
    BenchResult r;
    r.program = "AIPerf";
    r.ttft = time({"time_to_first_token", "ttft"});
    r.tpot = time({"inter_token_latency"});
    r.input = mean("input_sequence_length");
    r.output = mean("output_sequence_length");
    r.output_rate = mean("output_token_throughput");
    r.requests = mean("request_count");
    const Row& config = map_of(row, "input_config");
    const Row& endpoint = map_of(config, "endpoint");
    if (const auto names = endpoint.find("model_names");
        names != endpoint.end() && names->is_array() && !names->empty() && names->front().is_string())
        r.model = names->front().get<std::string>();
    if (r.model.empty()) r.model = text_of(row, {"model"});
    r.concurrency = number_of(map_of(config, "loadgen"), {"concurrency"}, number_of(row, {"concurrency"}));
    if (r.concurrency <= 0) r.concurrency = mean("request_throughput") * time({"request_latency"}).base();
    if (const double failed = number_of(map_of(from, "error_request_count"), {"avg"}); failed > 0)
        r.doubt = fmt::format("{:g} requests failed", failed);
    return r;
}

std::string quantization_format(std::string name) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (name.starts_with("fp8_block")) return "fp8-block128";
    if (name.starts_with("fp8")) return "fp8";
    if (name.starts_with("nvfp4")) return "nvfp4";
    if (name.starts_with("w4a16")) return "int4";
    return "";
}

BenchResult trtllm(const Row& row) {
    BenchResult r;
    r.program = "trtllm-bench";
    r.engine = "trtllm";
    const Row& engine = map_of(row, "engine");
    const Row& world = map_of(row, "world_info");
    const Row& request = map_of(row, "request_info");
    const Row& performance = map_of(row, "performance");
    const Row& streaming = map_of(row, "streaming_metrics");
    r.model = text_of(engine, {"model"});
    r.version = text_of(engine, {"version"});
    r.weights = quantization_format(text_of(engine, {"quantization"}));
    r.kv = quantization_format(text_of(engine, {"kv_cache_dtype"}));
    r.device = text_of(map_of(row, "machine"), {"name"});
    r.tp = count_of(world, {"tp_size"});
    r.pp = count_of(world, {"pp_size"});
    r.ep = count_of(world, {"ep_size"});
    r.input = number_of(request, {"avg_input_length"});
    r.output = number_of(request, {"avg_output_length"});
    r.requests = number_of(request, {"num_requests"});
    r.concurrency = number_of(request, {"avg_num_concurrent_requests"});
    r.output_rate = number_of(performance, {"system_output_throughput_tok_s", "output_throughput_tok_s"});
    r.ttft = number_of(streaming, {"avg_ttft_ms"}) * ms;
    r.tpot = number_of(streaming, {"avg_tpot_ms"}) * ms;
    if (row.contains("decoding_stats")) r.doubt = "tokens are guessed ahead";
    return r;
}

/// One result, or nothing when the object is of no known program.
std::optional<BenchResult> result_of(const Row& row, const std::string& file) {
    if (!row.is_object()) return std::nullopt;
    if (is_served(row)) return served(row);
    if (map_of(row, "performance").contains("request_throughput_req_s") && row.contains("request_info"))
        return trtllm(row);
    if (is_aiperf(row)) return aiperf(row, file);
    return std::nullopt;
}

int line_of(const std::string& text, std::size_t byte) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
    return 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
}

/// Keys that only these programs write: a damaged file of theirs is told as one.
bool looks_like_one(const std::string& text) {
    for (const char* key : {"\"mean_ttft_ms\"", "\"median_ttft_ms\"", "\"request_throughput_req_s\"",
                            "\"inter_token_latency\"", "\"time_to_first_token\""}) {
        if (text.find(key) != std::string::npos) return true;
    }
    return false;
}

}  // namespace

std::optional<std::vector<BenchResult>> json_bench_results(const std::string& text, const std::string& file) {
    const std::size_t start = text.find_first_not_of(" \t\r\n");
    if (start == std::string::npos || (text[start] != '{' && text[start] != '[') || !looks_like_one(text))
        return std::nullopt;
    std::vector<BenchResult> results;
    const auto take = [&](const Row& row, int line) {
        auto r = result_of(row, file);
        if (!r) return false;
        r->where = fmt::format("{}:{}", file, line);
        results.push_back(std::move(*r));
        return true;
    };
    const Row whole = Row::parse(text, nullptr, false);
    if (!whole.is_discarded()) {
        if (whole.is_array()) {
            for (const Row& row : whole) {
                if (!take(row, 1)) return std::nullopt;
            }
        } else if (!take(whole, 1)) {
            return std::nullopt;
        }
        return results;
    }
    // One object a line, as SGLang writes and vLLM appends.
    for (std::size_t from = start; from < text.size();) {
        const std::size_t to = std::min(text.find('\n', from), text.size());
        const std::string line = text.substr(from, to - from);
        if (line.find_first_not_of(" \t\r") != std::string::npos) {
            Row row;
            try {
                row = Row::parse(line);
            } catch (const Row::parse_error&) {
                try {
                    row = Row::parse(text);
                } catch (const Row::parse_error& e) {
                    const bool lines = !results.empty();
                    throw InputError(
                        {Diagnostic{{file, lines ? line_of(text, from) : line_of(text, e.byte), 1},
                                    "",
                                    "the JSON of a benchmark result ends or breaks here",
                                    ""}});
                }
            }
            if (!take(row, line_of(text, from))) return std::nullopt;
        }
        from = to + 1;
    }
    return results;
}

}  // namespace headroom
