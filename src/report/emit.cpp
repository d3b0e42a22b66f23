// SPDX-License-Identifier: Apache-2.0
#include "report/emit.h"

#include "base/units.h"

#include <algorithm>
#include <cmath>
#include <optional>

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
    std::optional<Speculation> guessing;
};

// Whose guesses: the engines name the three kinds differently.
enum class Guesser { lookup, own_layers, model };

Guesser guesser(const Speculation& s) {
    return s.own_layers ? Guesser::own_layers : s.draft ? Guesser::model : Guesser::lookup;
}

// The repository that the shape is from, which engines download; else the name as given.
std::string checkpoint(const Model& model) { return model.source.empty() ? model.name : model.source; }

// https://docs.vllm.ai/en/latest/features/speculative_decoding/
std::string vllm_guessing(const Speculation& s) {
    std::string how;
    switch (guesser(s)) {
        case Guesser::lookup:
            how = R"("method":"ngram","prompt_lookup_max":4)";
            break;
        case Guesser::own_layers:
            how = R"("method":"mtp")";
            break;
        case Guesser::model:
            how = fmt::format(R"("model":"{}")", checkpoint(*s.draft));
            break;
    }
    return fmt::format(R"( --speculative-config '{{{},"num_speculative_tokens":{}}}')", how, s.guesses);
}

// https://docs.sglang.ai/advanced_features/speculative_decoding.html; the drafted tokens count the one that
// is certain.
std::string sglang_guessing(const Speculation& s) {
    std::string text = " --speculative-algorithm ";
    switch (guesser(s)) {
        case Guesser::lookup:
            text += "NGRAM";
            break;
        case Guesser::own_layers:
            text += "NEXTN";
            break;
        case Guesser::model:
            text += "STANDALONE --speculative-draft-model-path " + checkpoint(*s.draft);
            break;
    }
    if (guesser(s) != Guesser::lookup)
        text += fmt::format(" --speculative-num-steps {} --speculative-eagle-topk 1", s.guesses);
    return text + fmt::format(" --speculative-num-draft-tokens {}", s.guesses + 1);
}

// https://nvidia.github.io/TensorRT-LLM/features/speculative-decoding.html, names of release 1.0
std::string trtllm_guessing(const Speculation& s) {
    std::string text = "speculative_config:\n";
    switch (guesser(s)) {
        case Guesser::lookup:
            return text +
                   fmt::format("  decoding_type: NGram\n  max_draft_len: {}\n  max_matching_ngram_size: 4\n",
                               s.guesses);
        case Guesser::own_layers:
            return text + fmt::format("  decoding_type: MTP\n  num_nextn_predict_layers: {}\n", s.guesses);
        case Guesser::model:
            break;
    }
    return text +
           fmt::format("  decoding_type: DraftTarget\n  max_draft_len: {}\n  speculative_model_dir: {}\n",
                       s.guesses, checkpoint(*s.draft));
}

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
    if (l.guessing) text += vllm_guessing(*l.guessing);
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
    if (l.guessing) text += sglang_guessing(*l.guessing);
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
    if (l.guessing) extra += trtllm_guessing(*l.guessing);
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

// A folder is what engines load, and a config.json is in one.
std::string checkpoint_of(const PlanAnswer& a) {
    const std::string& given = a.asked.question.echo.model;
    const std::string config = "config.json";
    const std::size_t slash = given.rfind('/');
    const std::string last = slash == std::string::npos ? given : given.substr(slash + 1);
    if (last == config) return slash == std::string::npos ? "." : given.substr(0, slash);
    const Model& model = a.asked.question.model;
    return model.source.empty() ? given : model.source;
}

}  // namespace

std::string beyond_context_text(const PlanAnswer& a) {
    if (a.beyond_context == 0) return "";
    return fmt::format(
        "{} of {} requests have more than {} tokens, the model's limit, and are refused; the plan counts "
        "them",
        format_count(static_cast<double>(a.beyond_context)), format_count(static_cast<double>(a.requests)),
        format_count(static_cast<double>(a.asked.question.model.max_context)));
}

namespace {

// What no option says: the plan holds only with these.
std::string conditions(const PlanAnswer& a, const Candidate& c) {
    const Variant& variant = a.asked.variants[c.variant];
    std::string text;
    if (variant.quantized && variant.weights.rfind("fp8", 0) != 0)
        text += fmt::format("# the checkpoint must be one with {} weights\n", variant.weights);
    if (a.beyond_context > 0) text += "# " + beyond_context_text(a) + "\n";
    return text;
}

Launch launch(const PlanAnswer& a, const Candidate& c, const Group& g) {
    Launch l;
    l.model = checkpoint_of(a);
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
    l.guessing = variant.model.speculation;
    l.pool = c.prefill.has_value();
    l.produces = c.prefill && &g == &*c.prefill;
    return l;
}

}  // namespace

std::vector<std::string> emit_targets() { return {"vllm", "sglang", "trtllm"}; }

std::string emit_commands(const PlanAnswer& a, const std::string& target) {
    if (!a.plan.best) return "";
    const Candidate& c = a.plan.candidates[*a.plan.best];
    std::string text = conditions(a, c);
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
