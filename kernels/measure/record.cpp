// SPDX-License-Identifier: Apache-2.0
#include "measure/record.h"

#include <fmt/format.h>

namespace headroom::kernels {

namespace {

// Every string written here is our own or a device's name: no character needs an escape.
std::string quoted(const std::string& text) { return "\"" + text + "\""; }

void write_state(std::FILE* file, const char* key, const DeviceState& state) {
    if (!state.known) {
        std::fprintf(file, "    \"%s\": null", key);
        return;
    }
    std::string limits;
    for (const auto& limit : state.limits) limits += (limits.empty() ? "" : ", ") + quoted(limit);
    std::fprintf(file,
                 "    \"%s\": {\"sm_clock_mhz\": %u, \"memory_clock_mhz\": %u, \"busy_percent\": %u, "
                 "\"temperature_celsius\": %u, \"power_watts\": %.1f, \"clock_limits\": [%s]}",
                 key, state.multiprocessor_mhz, state.memory_mhz, state.busy_percent, state.celsius,
                 state.watts, limits.c_str());
}

void write_environment(std::FILE* file, const Environment& e) {
    const auto& d = e.device;
    std::fprintf(file,
                 "  \"environment\": {\n    \"date\": \"%s\", \"device\": \"%s\", \"compute_capability\": "
                 "\"%d.%d\", \"multiprocessors\": %d,\n    \"memory_bytes\": %zu, \"l2_bytes\": %zu, "
                 "\"driver\": \"%s\", \"cuda_runtime\": \"%d.%d\",\n",
                 e.date.c_str(), d.name.c_str(), d.compute_major, d.compute_minor, d.multiprocessors,
                 d.memory_bytes, d.l2_bytes, e.driver.c_str(), d.runtime_version / 1000,
                 d.runtime_version % 1000 / 10);
    write_state(file, "before", e.before);
    std::fprintf(file, ",\n");
    write_state(file, "after", e.after);
    std::fprintf(file, "\n  }");
}

void write_timing(std::FILE* file, const Timing& t) {
    std::fprintf(file, "\"median_s\": %.5e, \"p10_s\": %.5e, \"p90_s\": %.5e, \"samples\": %d, \"noisy\": %s",
                 t.median_s, t.p10_s, t.p90_s, t.samples, t.noisy ? "true" : "false");
}

void write_sizes(std::FILE* file, const char* key, const std::vector<SizedRate>& rates) {
    std::fprintf(file, "    \"%s\": [", key);
    for (std::size_t i = 0; i < rates.size(); ++i) {
        std::fprintf(file, "%s\n      {\"bytes\": %zu, ", i == 0 ? "" : ",", rates[i].bytes);
        write_timing(file, rates[i].timing);
        std::fprintf(file, "}");
    }
    std::fprintf(file, "],\n");
}

void write_ceilings(std::FILE* file, const Ceilings& c) {
    std::fprintf(file, ",\n  \"ceilings\": {\n");
    write_sizes(file, "read", c.read);
    write_sizes(file, "write", c.write);
    write_sizes(file, "copy", c.copy);
    std::fprintf(file, "    \"l2_read_bytes_per_s\": %.5e, \"shared_read_bytes_per_s\": %.5e,\n",
                 c.l2_read.bytes_per_s(), c.shared_read.bytes_per_s());
    std::fprintf(file,
                 "    \"launch_alone_s\": %.4e, \"launch_in_stream_s\": %.4e, \"launch_in_graph_s\": %.4e, "
                 "\"dependent_in_graph_s\": %.4e,\n    \"matrix\": [",
                 c.launch_alone_s, c.launch_in_stream_s, c.launch_in_graph_s, c.dependent_in_graph_s);
    for (std::size_t i = 0; i < c.matrix.size(); ++i) {
        const auto& m = c.matrix[i];
        std::fprintf(file, "%s\n      {\"dtype\": \"%s\", \"product_flop_per_s\": %.5e, \"spread\": %.4f",
                     i == 0 ? "" : ",", name_of(m.dtype), m.product_flop_per_s, m.product.spread());
        if (m.mma_flop_per_s) std::fprintf(file, ", \"mma_flop_per_s\": %.5e", *m.mma_flop_per_s);
        std::fprintf(file, "}");
    }
    std::fprintf(file, "]\n  }");
}

}  // namespace

std::string shape_json(const Case& c) {
    std::string text = fmt::format("\"operator\": \"{}\"", name_of(c.op));
    switch (c.op) {
        case CaseKind::kRead:
        case CaseKind::kWrite:
        case CaseKind::kCopy:
            return text + fmt::format(", \"bytes\": {}", c.bytes);
        case CaseKind::kWeightStream:
            return text + fmt::format(", \"dtype\": \"{}\", \"batch\": {}, \"inputs\": {}, \"outputs\": {}",
                                      name_of(c.dtype), c.batch, c.inputs, c.outputs);
        case CaseKind::kMlp:
            return text + fmt::format(
                              ", \"dtype\": \"{}\", \"tokens\": {}, \"hidden\": {}, \"inner\": {}, "
                              "\"gated\": {}, \"fused\": {}",
                              name_of(c.dtype), c.tokens, c.hidden, c.inner, c.gated, c.fused);
        case CaseKind::kLoss:
            return text + fmt::format(
                              ", \"dtype\": \"{}\", \"tokens\": {}, \"hidden\": {}, \"vocabulary\": {}, "
                              "\"fused\": {}",
                              name_of(c.dtype), c.tokens, c.hidden, c.vocabulary, c.fused);
        default:
            break;
    }
    text += fmt::format(
        ", \"dtype\": \"{}\", \"batch\": {}, \"query_heads\": {}, \"kv_heads\": {}, \"head_dim\": {}, "
        "\"context_tokens\": {}",
        name_of(c.dtype), c.batch, c.query_heads, c.kv_heads, c.head_dim, c.context);
    if (c.op == CaseKind::kDecodeAttention || c.op == CaseKind::kPagedDecodeAttention) {
        double tokens = 0;
        for (const int length : lengths_of(c)) tokens += length;
        text += fmt::format(", \"ragged\": {}, \"cached_tokens\": {:.0f}", c.ragged, tokens);
        if (c.op == CaseKind::kPagedDecodeAttention)
            text += fmt::format(", \"block_tokens\": {}", c.block_tokens);
        return text;
    }
    return text + fmt::format(", \"query_tokens\": {}, \"causal\": {}", c.query_tokens, c.causal);
}

void write_measured(std::FILE* file, const Environment& environment, const Ceilings* ceilings,
                    const std::vector<CaseResult>& results) {
    std::fprintf(file, "{\n  \"schema\": \"headroom.measured/1\",\n");
    write_environment(file, environment);
    if (ceilings != nullptr) write_ceilings(file, *ceilings);
    std::fprintf(file, ",\n  \"cases\": [");
    for (std::size_t i = 0; i < results.size(); ++i) {
        std::fprintf(file, "%s\n    {", i == 0 ? "" : ",");
        std::fprintf(file, "\"suite\": \"%s\", ", results[i].suite.c_str());
        std::fprintf(file, "%s, ", shape_json(results[i].shape).c_str());
        write_timing(file, results[i].timing);
        std::fprintf(file, "}");
    }
    std::fprintf(file, "]\n}\n");
}

}  // namespace headroom::kernels
