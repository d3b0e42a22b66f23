// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostic.h"
#include "base/units.h"
#include "validate/bench_result.h"
#include "validate/csv.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

namespace headroom {
namespace {

std::string trimmed(std::string text) {
    const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && space(text.back())) text.pop_back();
    std::size_t at = 0;
    while (at < text.size() && space(text[at])) ++at;
    return text.substr(at);
}

/// "1,146.31" as AIPerf's tables have it.
double plain(std::string text, const std::string& file, int line) {
    text.erase(std::remove(text.begin(), text.end(), ','), text.end());
    const auto parsed = parse_number(text);
    if (const double* value = std::get_if<double>(&parsed)) return *value;
    throw InputError({Diagnostic{{file, line, 1}, "", "'" + text + "' is not a number", ""}});
}

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

/// Name of a metric without its unit, and the mean (or the only) value.
std::map<std::string, double> metric_table(const std::string& text, const std::string& file) {
    std::map<std::string, double> metrics;
    std::string part;
    int at = 0, start = 1;
    const auto read_part = [&] {
        if (!trimmed(part).empty()) {
            const CsvTable table = parse_csv(part, file);
            const int value = std::max(table.column("avg"), table.column("Value"));
            const int name = table.column("Metric");
            for (std::size_t i = 0; i < table.rows.size() && value >= 0 && name >= 0; ++i) {
                const std::string& label = table.rows[i][static_cast<std::size_t>(name)];
                metrics[trimmed(lower(label.substr(0, label.find('('))))] =
                    plain(table.rows[i][static_cast<std::size_t>(value)], file, start + table.lines[i] - 1);
            }
        }
        part.clear();
    };
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t to = std::min(text.find('\n', from), text.size());
        const std::string line = text.substr(from, to - from);
        ++at;
        if (trimmed(line).empty()) {
            read_part();
            start = at + 1;
        } else {
            part += line + "\n";
        }
        from = to + 1;
    }
    read_part();
    return metrics;
}

BenchResult aiperf_csv(const std::string& text, const std::string& file) {
    const auto metrics = metric_table(text, file);
    const auto get = [&](const char* name) {
        const auto found = metrics.find(name);
        return found == metrics.end() ? 0.0 : found->second;
    };
    BenchResult r;
    r.program = "AIPerf";
    r.where = file + ":1";
    r.ttft = get("time to first token") * ms;
    r.tpot = get("inter token latency") * ms;
    r.input = get("input sequence length");
    r.output = get("output sequence length");
    r.output_rate = get("output token throughput");
    r.requests = get("request count");
    r.concurrency = get("request throughput") * get("request latency") / 1e3;
    return r;
}

/// "Name [tag] (unit):   value" lines of a printed report.
std::map<std::string, std::pair<std::string, int>> printed_values(const std::string& text) {
    std::map<std::string, std::pair<std::string, int>> values;
    int line = 0;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t to = std::min(text.find('\n', from), text.size());
        const std::string row = text.substr(from, to - from);
        ++line;
        if (const std::size_t colon = row.find(':'); colon != std::string::npos) {
            std::string name = row.substr(0, colon);
            name = lower(trimmed(name.substr(0, std::min(name.find('('), name.find('[')))));
            values.emplace(name, std::pair{trimmed(row.substr(colon + 1)), line});
        }
        from = to + 1;
    }
    return values;
}

BenchResult trtllm_report(const std::string& text, const std::string& file) {
    const auto values = printed_values(text);
    const auto word = [&](const char* name) {
        const auto found = values.find(name);
        return found == values.end() ? std::string() : found->second.first;
    };
    const auto get = [&](const char* name) {
        const auto found = values.find(name);
        if (found == values.end() || found->second.first == "None" || found->second.first.empty()) return 0.0;
        return plain(found->second.first, file, found->second.second);
    };
    BenchResult r;
    r.program = "trtllm-bench";
    r.where = file + ":1";
    r.engine = "trtllm";
    r.model = word("model");
    r.version = word("tensorrt-llm version");
    const std::string quantization = lower(word("quantization"));
    if (quantization.starts_with("fp8")) r.weights = "fp8";
    if (quantization.starts_with("nvfp4")) r.weights = "nvfp4";
    if (lower(word("kv cache dtype")).starts_with("fp8")) r.kv = "fp8";
    r.tp = static_cast<int>(get("tp size"));
    r.pp = static_cast<int>(get("pp size"));
    r.ep = static_cast<int>(get("ep size"));
    r.input = get("average input length");
    r.output = get("average output length");
    r.requests = get("number of requests");
    r.concurrency = get("number of concurrent requests");
    r.output_rate = get("total output throughput");
    r.ttft = get("average time-to-first-token") * ms;
    r.tpot = get("average time-per-output-token") * ms;
    if (r.output_rate <= 0)
        throw InputError({Diagnostic{{file, 1, 1},
                                     "Total Output Throughput",
                                     "missing: the report of trtllm-bench is not whole",
                                     ""}});
    return r;
}

}  // namespace

std::optional<std::vector<BenchResult>> text_bench_results(const std::string& text, const std::string& file) {
    if (text.starts_with("Metric,")) return std::vector{aiperf_csv(text, file)};
    if (text.find("= PERFORMANCE OVERVIEW") != std::string::npos)
        return std::vector{trtllm_report(text, file)};
    return std::nullopt;
}

std::optional<std::vector<BenchResult>> bench_results(const std::string& text, const std::string& file) {
    if (auto found = llama_bench_results(text, file)) return found;
    if (auto found = text_bench_results(text, file)) return found;
    return json_bench_results(text, file);
}

}  // namespace headroom
