// SPDX-License-Identifier: Apache-2.0
#include "ops/step.h"

#include "ops/experts.h"
#include "ops/mixer.h"
#include "ops/routing.h"
#include "ops/speculation.h"
#include "ops/tensor.h"

#include <algorithm>

namespace headroom {
namespace {

struct Context {
    const Model& part;
    const Deployment& deployment;
    const Batch& batch;
    double rows;       // fresh tokens that this GPU computes
    Bytes activation;  // bytes of one activation
};

Stream pass_over(double elements, double operations, Bytes width) {
    Stream s;
    s.work.flop = Flops(elements * operations);
    s.work.activations = elements * width;
    return s;
}

// Experts see the tokens of every data-parallel rank; a GPU computes those routed to the experts it holds.
Matmul expert_product(const Context& c, const MixtureOfExperts& moe, const Tensor& t, double outputs) {
    const double all_tokens = c.rows * c.deployment.dp;
    Matmul op;
    const ExpertTraffic traffic =
        expert_traffic(c.part.routing, moe.local_experts, moe.experts, moe.top_k, all_tokens);
    op.rows = traffic.rows;
    op.outputs = outputs;
    op.inputs = static_cast<double>(t.columns);
    op.groups = traffic.hit;
    return op;
}

// Tensors of one product share their input, so their outputs are computed together.
std::vector<Operator> products(const Context& c, const Layer& layer, const std::vector<Tensor>& all) {
    std::vector<Operator> found;
    std::vector<std::string> done;
    const Formats& formats = formats_of(c.part, layer);
    for (const Tensor& t : all) {
        if (t.product.empty() || std::find(done.begin(), done.end(), t.product) != done.end()) continue;
        done.push_back(t.product);
        double outputs = 0;
        for (const Tensor& other : all) {
            if (other.product == t.product) outputs += static_cast<double>(other.rows);
        }
        Matmul op{.rows = c.rows, .outputs = outputs, .inputs = static_cast<double>(t.columns)};
        if (t.role == Role::expert)
            op = expert_product(c, std::get<MixtureOfExperts>(layer.feed_forward), t, outputs);
        op.weights = format_of(formats, t);
        op.activation = c.part.activation;
        found.push_back({t.product, op, 1});
    }
    return found;
}

void add_all_reduce(std::vector<Operator>& to, const Context& c, const std::string& name) {
    if (c.deployment.tp == 1) return;
    const Bytes message = c.rows * static_cast<double>(c.part.hidden) * c.activation;
    to.push_back({name, Collective{CollectiveKind::all_reduce, message, c.deployment.tp}, 1});
}

// Tokens travel to the GPUs that hold their experts and back. Each goes to at most min(top_k, ep) other GPUs.
void add_expert_exchange(std::vector<Operator>& to, const Context& c, const MixtureOfExperts& moe,
                         const std::string& name) {
    const Deployment& d = c.deployment;
    if (d.dp == 1) return;  // with tensor parallel alone every GPU has every token already
    const double width = static_cast<double>(moe.latent > 0 ? moe.latent : c.part.hidden);
    const int ranks = d.tp * d.dp;
    const double copies = d.ep > 1 ? std::min(moe.top_k, d.ep) : d.dp;
    const auto kind = d.ep > 1 ? CollectiveKind::all_to_all : CollectiveKind::all_gather;
    to.push_back(
        {name, Collective{kind, c.rows * copies * width * c.activation / (d.ep > 1 ? d.tp : 1), ranks}, 1});
}

// Under context parallelism each GPU attends over its share of every sequence's cache, so a group counts for
// 1 / cp.
Batch share_of_context(const Context& c) {
    Batch share = c.batch;
    for (SequenceGroup& g : share.groups) g.sequences /= c.deployment.cp;
    return share;
}

// A prompt's fresh tokens are cut over the cp GPUs; a decoded token is computed by all of them.
double computed_rows(const Batch& batch, int cp) {
    double rows = 0;
    for (const SequenceGroup& g : batch.groups)
        rows += g.sequences * (g.fresh >= cp ? g.fresh / cp : g.fresh);
    return rows;
}

// The shares of the cache travel around the ring of cp GPUs while a prompt is attended; for a decoded token
// the partial outputs of every head are gathered and merged instead.
void add_context_exchange(std::vector<Operator>& to, const Context& c, const Layer& layer) {
    const int cp = c.deployment.cp;
    if (cp == 1 || std::holds_alternative<NoMixer>(layer.mixer)) return;
    const BytesPerToken each = kv_law(layer.mixer, kv_format(c.part)).per_token;
    Bytes ring, partial;
    for (const SequenceGroup& g : c.batch.groups) {
        if (g.fresh >= cp)
            ring += g.sequences * Tokens((g.past + g.fresh) * (cp - 1) / cp) * each;
        else
            partial += g.sequences * g.fresh * static_cast<double>(c.part.hidden) * c.activation;
    }
    if (ring > Bytes{}) to.push_back({"ring (context)", Collective{CollectiveKind::send, ring, cp}, 1});
    if (partial > Bytes{})
        to.push_back({"all_gather (context)", Collective{CollectiveKind::all_gather, cp * partial, cp}, 1});
}

std::vector<Operator> layer_operators(const Context& c, const Layer& layer) {
    std::vector<Operator> all;
    const std::vector<Tensor> weights = layer_tensors(c.part, layer);
    const std::vector<Operator> matmuls = products(c, layer, weights);
    const double width = static_cast<double>(c.part.hidden);
    const std::vector<Operator> cores = core(
        layer.mixer, share_of_context(c),
        {kv_format(c.part), c.part.activation, c.part.hidden, formats_of(c.part, layer)[Role::attention]});
    const bool mixes = !std::holds_alternative<NoMixer>(layer.mixer);
    // The mixer's last product is its output projection: the core runs just before it.
    const std::vector<Tensor> mixer_weights = tensors(layer.mixer, c.part.hidden);
    std::string output = mixes ? mixer_weights.back().product : "";
    for (const Tensor& t : mixer_weights) {
        if (t.product == "o_proj" || t.product == "out_proj") output = t.product;
    }
    // Norms and residuals: each reads and writes the residual stream; norm and addition are fused by engines.
    if (layer.norms > 0)
        all.push_back({"norms", pass_over(c.rows * width * layer.norms * 4, 2, c.activation), 1});
    const auto* moe = std::get_if<MixtureOfExperts>(&layer.feed_forward);
    bool exchanged = false;
    for (const Operator& op : matmuls) {
        if (op.name == output) {
            all.insert(all.end(), cores.begin(), cores.end());
            add_context_exchange(all, c, layer);
        }
        if (moe != nullptr && !exchanged && op.name == "experts.up") {
            add_expert_exchange(all, c, *moe, "dispatch");
            exchanged = true;
        }
        all.push_back(op);
        if (op.name == output) add_all_reduce(all, c, "all_reduce (mixer)");
        for (const ExtraTensor& e : layer.extras) {
            if (e.name == op.name && e.cut == Cut::columns)
                add_all_reduce(all, c, "all_reduce (" + e.name + ")");
        }
        if (op.name == "down" || op.name == "experts.up" || op.name == "shared.up" || op.name == "up") {
            if (op.name == "down") continue;
            const auto& up = std::get<Matmul>(op.shape);
            all.push_back({op.name + " activation", pass_over(up.rows * up.outputs, 4, c.activation), 1});
        }
    }
    if (moe != nullptr) add_expert_exchange(all, c, *moe, "combine");
    if (!std::holds_alternative<NoFeedForward>(layer.feed_forward))
        add_all_reduce(all, c, "all_reduce (ffn)");
    return all;
}

// One row of a table per token.
Stream lookup(const Context& c, std::int64_t columns) {
    Stream s;
    const double elements = c.rows * static_cast<double>(columns);
    s.work.weights = elements * bytes_per_element(c.part.formats[Role::embedding]);
    s.work.activations = elements * c.activation;
    return s;
}

}  // namespace

std::vector<Operator> step_operators(const Shard& shard, std::size_t stage, const Batch& batch) {
    const Model& part = shard.stages[stage];
    const Context c{part, shard.deployment, batch, computed_rows(batch, shard.deployment.cp),
                    Bytes(bits(part.activation) / 8)};
    const double width = static_cast<double>(part.hidden);
    std::vector<Operator> all;
    if (shard.has_embedding[stage]) {
        all.push_back({"embedding", lookup(c, embedding_width(part)), 1});
    }
    const std::vector<int> counts = layers_per_kind(part);
    for (std::size_t i = 0; i < part.kinds.size(); ++i) {
        if (counts[i] == 0) continue;
        for (Operator& op : layer_operators(c, part.kinds[i])) {
            op.count = counts[i];
            all.push_back(std::move(op));
        }
    }
    for (const ExtraTensor& e : part.extras) {
        if (!e.multiplied) {
            if (e.role == Role::embedding) all.push_back({e.name, lookup(c, e.columns), 1});
            continue;
        }
        const Matmul op{.rows = c.rows,
                        .outputs = double(e.rows),
                        .inputs = double(e.columns),
                        .weights = part.formats[e.role],
                        .activation = part.activation};
        all.push_back({e.name, op, 1});
        if (e.cut == Cut::rows && shard.deployment.tp > 1) {
            const Bytes outputs = op.rows * op.outputs * shard.deployment.tp * c.activation;
            all.push_back({"all_gather (" + e.name + ")",
                           Collective{CollectiveKind::all_gather, outputs, shard.deployment.tp}, 1});
        }
    }
    if (shard.has_head[stage]) {
        if (!part.head) return all;
        const Matmul head{.rows = sampled(batch),
                          .outputs = double(part.vocabulary),
                          .inputs = static_cast<double>(embedding_width(part)),
                          .weights = part.formats[part.tied_embeddings ? Role::embedding : Role::head],
                          .activation = part.activation};
        all.push_back({"lm_head", head, 1});
        if (shard.deployment.tp > 1) {
            const Bytes logits = head.rows * static_cast<double>(shard.vocabulary) * c.activation;
            all.push_back({"all_gather (logits)",
                           Collective{CollectiveKind::all_gather, logits, shard.deployment.tp}, 1});
        }
        for (Operator& op : draft_operators(shard, batch)) all.push_back(std::move(op));
    } else {
        all.push_back(
            {"send to next stage", Collective{CollectiveKind::send, c.rows * width * c.activation, 2}, 1});
    }
    return all;
}

std::vector<Operator> step_operators(const Shard& shard, const Batch& batch) {
    std::vector<Operator> all;
    for (std::size_t s = 0; s < shard.stages.size(); ++s) {
        for (Operator& op : step_operators(shard, s, batch)) all.push_back(std::move(op));
    }
    return all;
}

}  // namespace headroom
