// SPDX-License-Identifier: Apache-2.0
#include "memory/waste.h"

#include "check.h"
#include "io/traffic.h"
#include "spec/generate.h"

namespace headroom {
namespace {

Workload catalogue(const std::string& name) {
    Workload w = *find_traffic(test::source("workloads/" + name + ".yaml")).workload;
    w.requests = std::min<std::int64_t>(w.requests, 8000);
    return w;
}

ReplayResult run(const Workload& w, Policy policy, std::int64_t region, std::int64_t max_length,
                 std::int64_t block = 16) {
    ReplayOptions options;
    options.policy = policy;
    options.region = region;
    options.max_length = max_length;
    options.block = block;
    return replay(generate(w), options);
}

double whole(const ReplayResult& r) {
    return r.utilisation + r.internal_waste + r.reservation_waste + r.external_waste + r.free;
}

// Prompts of equal length, outputs of equal length.
Workload uniform(std::int64_t input, std::int64_t output, std::int64_t requests = 4000) {
    Workload w;
    w.input = FixedLength{input};
    w.output = FixedLength{output};
    w.requests = requests;
    return w;
}

}  // namespace

TEST_CASE("The fractions of the region add to one under every policy, and all requests end", "[physics]") {
    const Workload w = catalogue("sharegpt");
    for (const auto& [policy, name] : kPolicies) {
        if (policy == Policy::grouped || policy == Policy::grouped_keep) continue;
        const ReplayResult r = run(w, policy, 15700, 2048);
        INFO(name);
        CHECK(test::near(whole(r), 1, 1e-9));
        CHECK(r.loaded);
        CHECK(r.completed + r.refused == r.requests);
        CHECK(r.requests == 8000);
    }
}

TEST_CASE("Published shares of ShareGPT under reservation and paging lie within what the replay gives",
          "[physics]") {
    // PagedAttention (SOSP 2023), figure 2: the share of KV memory that holds token states is 20.4 % for Orca
    // with the maximum length, 26.8 % with powers of two, 38.2 % with known outputs (all placed by buddies),
    // and 96.3 % for pages of 16. OPT-13B (2,048 positions, 0.8 MB of KV a token) has about 12 GB for KV
    // there.
    const Workload w = catalogue("sharegpt");
    struct Published {
        Policy policy;
        double share;
    };
    for (const Published& p : {Published{Policy::buddy_max, 0.204}, Published{Policy::buddy_pow2, 0.268},
                               Published{Policy::buddy, 0.382}, Published{Policy::paged, 0.963}}) {
        const ReplayResult r = run(w, p.policy, 15700, 2048);
        INFO(to_string(p.policy) << " " << r.utilisation);
        CHECK(std::abs(r.utilisation - p.share) < 0.03);
    }
}

TEST_CASE("Chat with a maximum of 8,192: reservation holds little, pages of 16 nearly all", "[physics]") {
    for (const char* name : {"azure-conversation", "sharegpt"}) {
        const Workload w = catalogue(name);
        const ReplayResult reserve = run(w, Policy::reserve, 430000, 8192);
        const ReplayResult paged = run(w, Policy::paged, 430000, 8192);
        CHECK(reserve.utilisation <= 0.30);
        CHECK(paged.utilisation > 0.90);
        CHECK(paged.mean_sequences > 2 * reserve.mean_sequences);
    }
}

TEST_CASE("Knowing the output is never worse than not knowing it", "[physics]") {
    const Workload w = catalogue("azure-conversation");
    const double known = run(w, Policy::buddy, 200000, 8192).mean_sequences;
    const double guessed = run(w, Policy::buddy_pow2, 200000, 8192).mean_sequences;
    const double unknown = run(w, Policy::buddy_max, 200000, 8192).mean_sequences;
    CHECK(known >= guessed);
    CHECK(guessed >= unknown);
    CHECK(run(w, Policy::oracle, 200000, 8192).mean_sequences >= known);
}

TEST_CASE("Twice the region takes twice the sequences", "[physics]") {
    const Workload w = uniform(500, 300, 20000);
    for (const Policy policy : {Policy::reserve, Policy::oracle, Policy::paged}) {
        const double once = run(w, policy, 102400, 1024).mean_sequences;
        const double twice = run(w, policy, 204800, 1024).mean_sequences;
        CHECK(test::near(twice, 2 * once, 0.02));
    }
}

TEST_CASE("Half a block is empty per sequence: internal waste grows with the block", "[physics]") {
    const Workload w = catalogue("azure-conversation");
    double before = -1;
    for (const std::int64_t block : {1, 16, 64, 256}) {
        const ReplayResult r = run(w, Policy::paged, 430000, 8192, block);
        const double per_sequence = r.internal_waste * 430000 / r.mean_sequences;
        CHECK(test::near(per_sequence, static_cast<double>(block - 1) / 2, 0.06));
        CHECK(r.internal_waste > before);
        before = r.internal_waste;
    }
}

TEST_CASE("The estimate and the replay agree but for what stays free, and the text says so", "[physics]") {
    const Workload w = catalogue("azure-conversation");
    const HeldTokens held = held_tokens(generate(w), 8192);
    for (const Policy policy :
         {Policy::reserve, Policy::oracle, Policy::buddy, Policy::buddy_pow2, Policy::paged}) {
        const ReplayResult r = run(w, policy, 430000, 8192);
        const WasteEstimate e = estimate_waste(policy, 430000, 16, 8192, held);
        const double idle = e.utilisation * (policy == Policy::reserve ? 0 : r.external_waste + r.free);
        INFO(to_string(policy) << " replay " << r.utilisation << " estimate " << e.utilisation);
        CHECK(std::abs(e.utilisation - idle - r.utilisation) < 0.05);
        CHECK(!explain(e, r).empty());
    }
    WasteEstimate one;
    one.utilisation = 0.6;
    ReplayResult r;
    r.utilisation = 0.5;
    r.reservation_waste = 0.33;
    r.external_waste = 0.17;
    CHECK(explain(one, r).find("in pieces too small") != std::string::npos);
}

TEST_CASE("Parallel samples share their prompt: n samples hold little more than one", "[physics]") {
    Workload w = uniform(960, 64);
    w.samples = 4;
    const ReplayResult shared = run(w, Policy::paged_shared, 100000, 2048);
    const ReplayResult alone = run(w, Policy::paged, 100000, 2048);
    CHECK(test::near(whole(shared), 1, 1e-9));
    // Of 4 x (960 + 32.5) live tokens 3 x 960 are served from the first sample's blocks.
    CHECK(test::near(shared.shared_savings, 3 * 960 / (4 * 992.5), 0.01));
    CHECK(shared.mean_sequences > 3 * alone.mean_sequences);
    CHECK(alone.shared_savings == 0);
}

TEST_CASE("Beams share more than samples, since they part late", "[physics]") {
    Workload w = uniform(32, 256);
    w.samples = 4;
    const double samples = run(w, Policy::paged_shared, 60000, 2048).shared_savings;
    w.beam = true;
    const double beams = run(w, Policy::paged_shared, 60000, 2048).shared_savings;
    CHECK(beams > 2 * samples);
    CHECK(beams < 0.75);
}

TEST_CASE("A system prompt is held once", "[physics]") {
    Workload w = uniform(100, 100);
    w.system.tokens = FixedLength{512};
    const ReplayResult shared = run(w, Policy::paged_shared, 100000, 4096);
    const ReplayResult alone = run(w, Policy::paged, 100000, 4096);
    CHECK(shared.mean_sequences > 3.5 * alone.mean_sequences);
    CHECK(test::near(shared.prefix_found, 512.0 / 612, 0.02));
}

TEST_CASE("Windows that free their pages admit more than windows that keep them", "[physics]") {
    const ModelKv kv{{{BytesPerToken(4096), 0, Bytes{}}, 10}, {{BytesPerToken(4096), 1024, Bytes{}}, 50}};
    ReplayOptions options;
    options.layout = page_layout(kv, 16);
    options.region = std::int64_t{40} << 30;
    options.max_length = 32768;
    const Workload w = uniform(12000, 300, 600);
    options.policy = Policy::grouped;
    const ReplayResult frees = replay(generate(w), options);
    options.policy = Policy::grouped_keep;
    const ReplayResult keeps = replay(generate(w), options);
    CHECK(test::near(whole(frees), 1, 1e-9));
    CHECK(test::near(whole(keeps), 1, 1e-9));
    // Six groups of ten layers: 1 of 12.3 k tokens and 5 of about a thousand, against 6 of 12.3 k.
    CHECK(frees.mean_sequences > 3.5 * keeps.mean_sequences);
    CHECK(keeps.internal_waste > 0.5);
    CHECK(frees.utilisation > 0.9);
}

TEST_CASE("Sequences that fit: rounding of each policy, on an empty region", "[physics]") {
    ReplayOptions o;
    o.region = 100000;
    o.max_length = 8192;
    o.policy = Policy::reserve;
    CHECK(sequences_that_fit(o, 1000, 500) == 12);
    o.policy = Policy::oracle;
    CHECK(sequences_that_fit(o, 1000, 500) == 66);
    o.policy = Policy::buddy;  // pieces of 2,048: 65,536 + 32,768 of the region's powers of two
    CHECK(sequences_that_fit(o, 1000, 500) == 48);
    o.policy = Policy::paged;  // 94 blocks of 16 each, of 6,250
    CHECK(sequences_that_fit(o, 1000, 500) == 66);
    o.block = 256;  // 6 blocks each, of 390
    CHECK(sequences_that_fit(o, 1000, 500) == 65);
    CHECK(sequences_that_fit(o, 200000, 1) == 0);
}

TEST_CASE("A slower kernel on small blocks moves the best block up", "[physics]") {
    const Workload w = catalogue("sharegpt");
    ReplayOptions o;
    o.region = 100000;
    o.max_length = 2048;
    const std::vector<std::int64_t> blocks{1, 8, 16, 32, 128, 512};
    const auto costs = [](double small) {
        return [small](std::int64_t block) {
            ReplayCosts c;
            const double slower = 1 + small / static_cast<double>(block);
            c.step = [slower](double, double live) { return Seconds(0.01 + 1e-7 * live * slower); };
            return c;
        };
    };
    const OpenRequests open = [&] { return generate(w); };
    const auto level = sweep_blocks(open, o, blocks, costs(0));
    const auto steep = sweep_blocks(open, o, blocks, costs(8));
    CHECK(steep[best_block(steep)].block > level[best_block(level)].block);
    CHECK(level[best_block(level)].block < 128);
    for (const ReplayResult& r : level) CHECK(r.throughput);
}

TEST_CASE("A request that no empty region could hold is refused, and the others go on", "[physics]") {
    Workload w = uniform(100, 10, 100);
    w.input = MixtureLength{{{1, FixedLength{100}}, {1, FixedLength{900}}}};
    for (const Policy policy :
         {Policy::reserve, Policy::oracle, Policy::buddy, Policy::paged, Policy::paged_shared}) {
        const ReplayResult r = run(w, policy, 600, 512);
        CHECK(r.refused > 0);
        CHECK(r.completed + r.refused == 100);
        CHECK(r.completed > 20);
    }
}

TEST_CASE("Without a queue the averages are over all of the time, and it is said", "[physics]") {
    const ReplayResult r = run(uniform(100, 100, 5), Policy::paged, 100000, 1024);
    CHECK(!r.loaded);
    CHECK(r.completed == 5);
    CHECK(test::near(whole(r), 1, 1e-9));
}

}  // namespace headroom
