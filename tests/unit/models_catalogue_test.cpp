// SPDX-License-Identifier: Apache-2.0
#include "catalogue.h"
#include "ops/shard.h"
#include "ops/tensor.h"

#include <algorithm>

namespace {

using namespace headroom;

struct Known {
    const char* name;
    double parameters;
    double kv_bytes_per_token;
};

// Parameters from the model cards, bytes per token of a 16-bit cache that grows.
constexpr Known kKnown[] = {
    {"llama-2-7b", 6738415616, 524288},     {"llama-3-8b", 8030261248, 131072},
    {"llama-3-70b", 70553706496, 327680},   {"llama-3.1-405b", 405853388800, 516096},
    {"qwen3-32b", 32762123264, 262144},     {"qwen3-30b-a3b", 30532122624, 98304},
    {"mixtral-8x7b", 46702792704, 131072},  {"deepseek-v3", 671026419200, 70272},
    {"gpt-oss-20b", 20914757184, 24576},    {"gpt-oss-120b", 116829156672, 36864},
    {"gemma-3-27b", 27009346304, 81920},    {"gpt2", 124439808, 36864},
    {"opt-13b", 12853473280, 819200},       {"falcon-40b", 41303293952, 122880},
    {"kimi-k2", 1026408232448, 70272},      {"phi-2", 2779683840, 327680},
    {"jamba-1.5-mini", 51570323328, 16384}, {"mpt-7b", 6649286656, 524288},
};

}  // namespace

TEST_CASE("every shipped model reads, says where it is from and reads back as it is written", "[catalogue]") {
    const auto names = entry_names(test::source(""), "models");
    CHECK(names.size() >= 60);
    for (const std::string& name : names) {
        INFO(name);
        const std::string path = test::source("models/" + name + ".yaml");
        const Model m = read_model(path).model;
        CHECK(m.name == name);
        CHECK(std::count(m.source.begin(), m.source.end(), '/') == 1);
        CHECK(write_model_yaml(m) == read_file(path));
        CHECK(count_parameters(m).total > 0);
        CHECK(count_parameters(m).active <= count_parameters(m).total);
        CHECK(weight_bytes(m) > Bytes{});
        CHECK(kv_bytes(kv_of(m), 1) > Bytes{});
    }
}

TEST_CASE("shipped models have their published parameters and caches", "[catalogue]") {
    for (const Known& known : kKnown) {
        INFO(known.name);
        const Model m = test::model(known.name);
        CHECK(count_parameters(m).total == known.parameters);
        CHECK(growth(kv_of(m)).base() == known.kv_bytes_per_token);
    }
}

TEST_CASE("weights and caches of one GPU are less than all, and never less than a share", "[catalogue]") {
    for (const std::string& name : entry_names(test::source(""), "models")) {
        INFO(name);
        const Model m = test::model(name);
        const Deployment two{.tp = 2};
        if (!deployment_faults(m, two).empty()) continue;
        const Shard cut = shard(m, two);
        CHECK(largest_weight_bytes(cut) < weight_bytes(m));
        CHECK(2 * largest_weight_bytes(cut) >= weight_bytes(m) * (1 - 1e-12));
        const Bytes whole = kv_bytes(kv_of(m), 5000), part = kv_bytes(kv_of(cut.stages[0]), 5000);
        CHECK(part <= whole);
        CHECK(2 * part >= whole * (1 - 1e-12));
    }
}
