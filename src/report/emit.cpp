// SPDX-License-Identifier: Apache-2.0
#include "report/emit.h"

#include "base/units.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace headroom {
namespace {

// What the three engines are told, whatever they call it.
struct Launch {
    std::string model;
    Deployment d;
    double utilisation = 0;    // of the device's memory, as vLLM counts it
    double static_share = 0;   // weights and KV over the device's memory (SGLang)
    double free_kv_share = 0;  // KV over what weights and runtime leave (TensorRT-LLM)
    std::int64_t max_length = 0, max_sequences = 0, max_batched = 0, block = 16;
    bool fp8_weights = false, fp8_kv = false, chunked = true;
    bool pool = false, produces = false;
};

std::int64_t per_rank(const Launch& l) { return (l.max_sequences + l.d.dp - 1) / l.d.dp; }

std::string vllm(const Launch& l) {
    std::string text = fmt::format("vllm serve {} --tensor-parallel-size {}", l.model, l.d.tp);
    if (l.d.pp > 1) text += fmt::format(" --pipeline-parallel-size {}", l.d.pp);
    if (l.d.dp > 1) text += fmt::format(" --data-parallel-size {}", l.d.dp);
    if (l.d.ep > 1) text += " --enable-expert-parallel";
    // Limits of the scheduler are of one data-parallel rank.
    text += fmt::format(
        " --gpu-memory-utilization {} --max-model-len {} --max-num-seqs {} --max-num-batched-tokens {}",
        format_number(l.utilisation, 3), l.max_length, per_rank(l), l.max_batched);
    text += fmt::format(" --block-size {}", l.block);
    if (l.fp8_weights) text += " --quantization fp8";
    if (l.fp8_kv) text += " --kv-cache-dtype fp8";
    if (l.pool)
        text += fmt::format(R"( --kv-transfer-config '{{"kv_connector":"NixlConnector","kv_role":"{}"}}')",
                            l.produces ? "kv_producer" : "kv_consumer");
    return text;
}

std::string sglang(const Launch& l) {
    std::string text =
        fmt::format("python -m sglang.launch_server --model-path {} --tp-size {}", l.model, l.d.tp * l.d.dp);
    if (l.d.pp > 1) text += fmt::format(" --pp-size {}", l.d.pp);
    if (l.d.dp > 1) text += fmt::format(" --dp-size {} --enable-dp-attention", l.d.dp);
    if (l.d.ep > 1) text += fmt::format(" --ep-size {}", l.d.ep);
    // Limits of the scheduler are of all data-parallel ranks together.
    text += fmt::format(
        " --mem-fraction-static {} --context-length {} --max-running-requests {} --chunked-prefill-size {}",
        format_number(l.static_share, 3), l.max_length, l.max_sequences,
        l.chunked ? l.max_batched * l.d.dp : -1);
    if (l.block > 1) text += fmt::format(" --page-size {}", l.block);
    if (l.fp8_weights) text += " --quantization fp8";
    if (l.fp8_kv) text += " --kv-cache-dtype fp8_e4m3";
    if (l.pool) text += fmt::format(" --disaggregation-mode {}", l.produces ? "prefill" : "decode");
    return text;
}

// What has no option of its own is written to a file first.
std::string trtllm(const Launch& l) {
    std::string extra;
    if (l.d.dp > 1) extra += "enable_attention_dp: true\n";
    if (l.chunked) extra += "enable_chunked_prefill: true\n";
    extra += "kv_cache_config:\n";
    if (l.fp8_kv) extra += "  dtype: fp8\n";
    extra += fmt::format("  tokens_per_block: {}\n", l.block);
    if (l.pool) {
        if (l.produces) extra += "disable_overlap_scheduler: true\n";
        extra += "cache_transceiver_config:\n  backend: DEFAULT\n";
    }
    const std::string file = l.pool ? (l.produces ? "prefill.yaml" : "decode.yaml") : "extra.yaml";
    std::string text = fmt::format("trtllm-serve {} --tp_size {}", l.model, l.d.tp * l.d.dp);
    if (l.d.pp > 1) text += fmt::format(" --pp_size {}", l.d.pp);
    if (l.d.ep > 1) text += fmt::format(" --ep_size {}", l.d.ep);
    text += fmt::format(
        " --kv_cache_free_gpu_memory_fraction {} --max_seq_len {} --max_batch_size {} --max_num_tokens {}",
        format_number(l.free_kv_share, 3), l.max_length, per_rank(l), l.max_batched);
    return fmt::format("cat > {} <<'END'\n{}END\n{} --extra_llm_api_options {}", file, extra, text, file);
}

Launch launch(const PlanAnswer& a, const Candidate& c, const Group& g) {
    Launch l;
    l.model = a.asked.question.echo.model;
    l.d = g.deployment;
    Engine engine = a.asked.question.engine;
    if (g.budget > 0) engine.scheduler.max_batched_tokens.value = static_cast<double>(g.budget);
    const Hardware& hardware = a.asked.offers[g.offer].hardware;
    const Variant& variant = a.asked.variants[c.variant];
    const Ledger m = capacity(shard(variant.model, g.deployment), hardware, engine, 1).ledger;
    l.utilisation = engine.memory.utilisation.value;
    l.static_share = (m.weights + m.kv) / m.device;
    l.free_kv_share = m.kv / (m.device - m.weights - m.runtime);
    const double longest = a.asked.workload.input_tokens.max + a.asked.workload.output_tokens.max;
    l.max_length = static_cast<std::int64_t>(std::ceil(longest / 256) * 256);
    if (variant.model.max_context > 0) l.max_length = std::min(l.max_length, variant.model.max_context);
    l.max_sequences = static_cast<std::int64_t>(engine.scheduler.max_sequences.value);
    l.max_batched = static_cast<std::int64_t>(engine.scheduler.max_batched_tokens.value);
    l.block = static_cast<std::int64_t>(engine.memory.block_tokens.value);
    l.chunked = engine.scheduler.chunked_prefill;
    l.fp8_weights = variant.quantized && variant.weights.rfind("fp8", 0) == 0;
    l.fp8_kv = variant.kv.rfind("fp8", 0) == 0;
    l.pool = c.prefill.has_value();
    l.produces = c.prefill && &g == &*c.prefill;
    return l;
}

}  // namespace

std::vector<std::string> emit_targets() { return {"vllm", "sglang", "trtllm"}; }

std::string emit_commands(const PlanAnswer& a, const std::string& target) {
    if (!a.plan.best) return "";
    const Candidate& c = a.plan.candidates[*a.plan.best];
    std::string text;
    for (const Group* g : {c.prefill ? &*c.prefill : nullptr, &c.decode}) {
        if (g == nullptr) continue;
        const Launch l = launch(a, c, *g);
        text += fmt::format("# {} x {} on {}\n", g->replicas + a.asked.objectives.spare,
                            !l.pool      ? "replica"
                            : l.produces ? "prefill replica"
                                         : "decode replica",
                            a.asked.offers[g->offer].hardware.name);
        text += (target == "vllm" ? vllm(l) : target == "sglang" ? sglang(l) : trtllm(l)) + "\n";
    }
    return text;
}

}  // namespace headroom
