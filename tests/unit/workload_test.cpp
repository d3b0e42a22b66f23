// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostic.h"
#include "check.h"
#include "io/catalogue.h"
#include "io/traffic.h"
#include "io/workload_yaml.h"
#include "spec/generate.h"
#include "spec/length_counts.h"
#include "spec/workload_fit.h"

namespace headroom {
namespace {

Workload simple(const std::string& arrivals, const std::string& rest = "") {
    return parse_workload(
        "schema: headroom.workload/1\nname: x\ntitle: x\nsources: {a: {kind: estimate, title: a}}\n"
        "arrivals: {source: a, " +
            arrivals +
            "}\n"
            "input: {kind: fixed, tokens: 100, source: a}\noutput: {kind: fixed, tokens: 10, source: a}\n" +
            rest,
        "x.yaml");
}

std::string refusal(const std::string& text) {
    try {
        parse_workload(text, "x.yaml");
    } catch (const InputError& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("A seed gives the same requests everywhere", "[catalogue]") {
    Random random(42);
    CHECK(random.next() == 1546998764402558742ull);
    CHECK(random.next() == 6990951692964543102ull);
    const Workload w = simple("process: gamma, rate: 2 /s, cv: 2");
    const RequestSource a = generate(w), b = generate(w);
    Request x, y;
    for (int i = 0; i < 1000; ++i) {
        REQUIRE(a(x));
        REQUIRE(b(y));
        CHECK(x.arrival == y.arrival);
        CHECK(x.input_tokens == y.input_tokens);
    }
}

TEST_CASE("Poisson arrivals have CV 1 and dispersion 1 on every scale; gamma has the CV asked for",
          "[catalogue]") {
    const WorkloadSummary poisson =
        summarise(generate(simple("process: poisson, rate: 5 /s", "requests: 100000\n")));
    CHECK(test::near(poisson.rate.base(), 5, 0.02));
    CHECK(test::near(poisson.interarrival_cv, 1, 0.02));
    for (const Dispersion& d : poisson.dispersion)
        CHECK(std::abs(d.index - 1) < 5 * std::sqrt(2.0 / static_cast<double>(d.windows)));
    const WorkloadSummary gamma =
        summarise(generate(simple("process: gamma, rate: 5 /s, cv: 3", "requests: 100000\n")));
    CHECK(test::near(gamma.rate.base(), 5, 0.05));
    CHECK(test::near(gamma.interarrival_cv, 3, 0.05));
    // For a renewal process the dispersion of long windows tends to the CV squared.
    CHECK(test::near(gamma.dispersion.at(2).index, 9, 0.25));
}

TEST_CASE("Bursts and curves keep their mean rate", "[catalogue]") {
    const Workload bursts = simple(
        "process: bursts, on_rate: 20 /s, off_rate: 1 /s, mean_on: 2 s, mean_off: 8 s", "requests: 100000\n");
    CHECK(test::near(mean_rate(bursts.arrivals).base(), (20 * 2 + 1 * 8) / 10.0));
    const WorkloadSummary b = summarise(generate(bursts));
    CHECK(test::near(b.rate.base(), 4.8, 0.05));
    CHECK(b.dispersion.at(1).index > 5);
    const Workload curve =
        simple("process: curve, period: 100 s, at: {0 s: 1 /s, 50 s: 9 /s}", "requests: 100000\n");
    CHECK(test::near(mean_rate(curve.arrivals).base(), 5));
    CHECK(test::near(summarise(generate(curve)).rate.base(), 5, 0.02));
    CHECK(test::near(mean_rate(with_rate(curve.arrivals, 20 * hertz)).base(), 20));
}

TEST_CASE("A log-normal goes through its two percentiles", "[catalogue]") {
    LengthCounts counts;
    Random random(3);
    for (int i = 0; i < 200000; ++i) counts.add(draw(LogNormalLength{200, 3000, 1, 1 << 20}, random));
    CHECK(test::near(counts.percentile(0.5), 200, 0.02));
    CHECK(test::near(counts.percentile(0.99), 3000, 0.05));
    CHECK(test::near(quantile(LogNormalLength{200, 3000, 1, 1 << 20}, 0.99), 3000, 1e-6));
    CHECK(test::near(quantile(LogNormalLength{200, 3000, 1, 1 << 20}, 0.01), 200.0 * 200 / 3000, 1e-6));
}

TEST_CASE("Turns of a conversation find all of what came before them", "[catalogue]") {
    const Workload w =
        simple("process: poisson, rate: 1 /s", "turns: {mean: 4, gap: 10 s, source: a}\nprefix_block: 10\n");
    const RequestSource source = generate(w);
    Request r;
    std::map<std::int64_t, std::pair<std::int64_t, std::vector<std::uint64_t>>> before;
    double turns = 0;
    Seconds last;
    while (source(r)) {
        ++turns;
        CHECK(r.arrival >= last);
        last = r.arrival;
        REQUIRE(static_cast<std::int64_t>(r.prefix.size()) == (r.input_tokens + 9) / 10);
        if (const auto found = before.find(r.session); found != before.end()) {
            CHECK(r.input_tokens == found->second.first + 10 + 100);
            CHECK(std::equal(found->second.second.begin(), found->second.second.end(), r.prefix.begin()));
        } else {
            CHECK(r.input_tokens == 100);
        }
        before[r.session] = {r.input_tokens, r.prefix};
    }
    CHECK(test::near(turns / static_cast<double>(before.size()), 4, 0.1));
}

TEST_CASE("A shared system prompt gives its share of prefix hits", "[catalogue]") {
    const Workload w = simple("process: poisson, rate: 1 /s",
                              "system: {prompts: 1, tokens: {kind: fixed, tokens: 64}, source: a}\n");
    const WorkloadSummary s = summarise(generate(w));
    REQUIRE(s.prefix);
    CHECK(s.prefix->block_tokens == 16);
    CHECK(test::near(s.prefix->unlimited.token_rate, 64.0 / 164, 0.001));
    CHECK(test::near(s.prefix->unlimited.block_rate, 4.0 / 11, 0.001));
}

TEST_CASE("Little's law: live tokens are rate x residence x mean context", "[catalogue]") {
    SummaryOptions options;
    options.token_gap = Seconds(0.1);
    const WorkloadSummary s = summarise(generate(simple("process: poisson, rate: 2 /s")), options);
    // 10 output tokens, held 0.1 s each, at contexts 101 .. 110
    CHECK(test::near(s.live_tokens, s.rate.base() * 0.1 * 1055));
    CHECK(test::near(s.live_sequences, s.rate.base() * 0.1 * 10));
}

TEST_CASE("The shipped workloads read, cite their sources and have the published means", "[catalogue]") {
    const std::vector<std::string> names = entry_names(HEADROOM_SOURCE_DIR, "workloads");
    for (const char* wanted : {"azure-conversation", "azure-code", "sharegpt", "alpaca",
                               "mooncake-conversation", "arxiv-summarisation", "rag", "agentic"}) {
        CHECK(std::find(names.begin(), names.end(), wanted) != names.end());
    }
    struct Published {
        const char* name;
        double input, output, tolerance;
    };
    // Means: the Azure and Mooncake data sets; PagedAttention figure 11; Mooncake (FAST 2025) table 2.
    for (const Published& p :
         {Published{"azure-conversation", 1155, 211, 0.03}, Published{"azure-code", 2048, 28, 0.05},
          Published{"sharegpt", 161.31, 337.99, 0.03}, Published{"alpaca", 19.31, 58.45, 0.03},
          Published{"agentic", 8596, 182, 0.1}, Published{"mooncake-conversation", 12035, 343, 0.1}}) {
        const WorkloadSummary s =
            summarise(find_traffic(test::source(std::string("workloads/") + p.name + ".yaml")));
        INFO(p.name << " " << s.input_tokens.mean << " " << s.output_tokens.mean);
        CHECK(test::near(s.input_tokens.mean, p.input, p.tolerance));
        CHECK(test::near(s.output_tokens.mean, p.output, p.tolerance));
    }
    const WorkloadSummary agents = summarise(find_traffic(test::source("workloads/agentic.yaml")));
    CHECK(std::abs(agents.prefix->unlimited.token_rate - 0.59) < 0.05);
}

TEST_CASE("A fit finds again what the requests were generated from, and reads back", "[catalogue]") {
    Workload w = simple("process: gamma, rate: 3 /s, cv: 2", "requests: 50000\n");
    w.input = LogNormalLength{300, 2500, 1, 1 << 20};
    w.output = QuantileLength{{{0, 10}, {0.5, 20}, {0.5001, 200}, {1, 400}}};
    const WorkloadFit f = fit(generate(w), "x");
    CHECK(test::near(std::get<GammaArrivals>(f.workload.arrivals).cv, 2, 0.05));
    CHECK(test::near(std::get<LogNormalLength>(f.workload.input).p99, 2500, 0.05));
    CHECK(std::holds_alternative<QuantileLength>(f.workload.output));
    CHECK(f.input_distance < 0.02);
    CHECK(test::near(f.fitted.output_tokens.mean, f.observed.output_tokens.mean, 0.05));
    const Workload again = parse_workload(to_yaml(f.workload), "again.yaml");
    CHECK(test::near(mean_rate(again.arrivals).base(), mean_rate(f.workload.arrivals).base(), 1e-5));
    CHECK(again.requests == 50000);
}

TEST_CASE("Descriptions that cannot be meant are refused with the place", "[catalogue]") {
    const std::string head =
        "schema: headroom.workload/1\nname: x\ntitle: x\nsources: {a: {kind: estimate, title: a}}\n";
    const std::string said = refusal(head +
                                     "arrivals: {process: poison, rate: 2, source: a}\n"
                                     "input: {kind: log-normal, p50: 100, p99: 10, source: b}\n"
                                     "output: {kind: quantiles, at: {0: 5, 0.5: 3}, source: a}\nturn: 3\n");
    for (const char* part : {"x.yaml:5", "poison", "did you mean \"poisson\"", "is below p50",
                             "no source \"b\"", "needs shares from 0 to 1", "did you mean \"turns\""}) {
        INFO(said);
        CHECK(said.find(part) != std::string::npos);
    }
    CHECK(refusal(head + "arrivals: {process: poisson, rate: 0 /s, source: a}\ninput: {kind: fixed, tokens: "
                         "1, source: a}\n"
                         "output: {kind: fixed, tokens: 1, source: a}\n")
              .find("must be above zero") != std::string::npos);
}

TEST_CASE("Ticks of the recorder are noticed, and not seen where there are none", "[catalogue]") {
    SummaryBuilder ticked({}), smooth({});
    Random random(9);
    double at = 0;
    for (int i = 0; i < 5000; ++i) {
        at += random.exponential(0.3);
        Request r;
        r.input_tokens = r.output_tokens = 1;
        r.arrival = Seconds(at);
        smooth.add(r);
        r.arrival = Seconds(std::floor(at / 3) * 3 + 0.001 * static_cast<double>(i % 2));
        if (i % 2 == 0) ticked.add(r);
    }
    const WorkloadSummary t = ticked.finish();
    REQUIRE(t.tick);
    CHECK(test::near(t.tick->base(), 3, 0.01));
    CHECK(!t.notes.empty());
    CHECK(!smooth.finish().tick);
}

}  // namespace headroom
