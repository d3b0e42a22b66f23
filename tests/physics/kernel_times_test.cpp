// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "io/catalogue.h"
#include "io/hardware_yaml.h"
#include "perf/attention_time.h"
#include "perf/operator_time.h"
#include "perf/product_time.h"

#include <vector>

using namespace headroom;

namespace {

std::vector<Hardware> all_devices() {
    const std::string data = test::source("");
    std::vector<Hardware> devices;
    for (const std::string& name : entry_names(data, "hwprofiles"))
        devices.push_back(read_hardware(find_entry(data, "hwprofiles", name), data));
    return devices;
}

Hardware device(const std::string& name) {
    const std::string data = test::source("");
    return read_hardware(find_entry(data, "hwprofiles", name), data);
}

Attention attention(double sequences, double fresh, double past) {
    Attention op;
    op.groups = {{.sequences = sequences, .fresh = fresh, .past = past}};
    op.heads = 32;
    op.kv_heads = 8;
    op.key_dim = op.value_dim = 128;
    op.kv_per_token = BytesPerToken(8 * 256 * 2);
    return op;
}

Seconds expected(const Operator& op, const Hardware& h) { return operator_time(op, h, {}).time.expected; }

Seconds decode(const Hardware& h, double sequences, double context) {
    return expected({"attention", attention(sequences, 1, context - 1), 1}, h);
}

Seconds product(const Hardware& h, double m, double n, double k) {
    return expected({"product", Matmul{.rows = m, .outputs = n, .inputs = k}, 1}, h);
}

std::vector<Operator> some_operators() {
    std::vector<Operator> all;
    for (const char* format : {"bf16", "fp8", "fp8-block128", "int4-g128", "mxfp4"}) {
        const StorageFormat weights = *storage_format(format);
        for (const double rows : {1.0, 17.0, 300.0, 9000.0}) {
            all.push_back(
                {"product", Matmul{.rows = rows, .outputs = 6144, .inputs = 4096, .weights = weights}, 1});
            all.push_back(
                {"experts",
                 Matmul{.rows = rows * 8, .outputs = 1536, .inputs = 4096, .groups = 100, .weights = weights},
                 1});
        }
    }
    for (const double sequences : {1.0, 3.0, 64.0, 500.0}) {
        for (const double past : {0.0, 100.0, 5000.0, 100000.0}) {
            all.push_back({"decode", attention(sequences, 1, past), 1});
            all.push_back({"prefill", attention(sequences, 700, past), 1});
        }
    }
    for (const int gpus : {2, 4, 8}) {
        for (const double bytes : {1e3, 1e6, 1e9})
            all.push_back({"all-reduce", Collective{CollectiveKind::all_reduce, Bytes(bytes), gpus}, 1});
    }
    return all;
}

}  // namespace

TEST_CASE("every device has every kernel parameter, within its bounds", "[perf]") {
    for (const Hardware& h : all_devices()) {
        for (const CeilingParameter& p : ceiling_parameters()) {
            INFO(h.name << " " << p.name);
            const bool given =
                h.ceilings.values.count(p.name) > 0 || h.generation.kernels.values.count(p.name) > 0;
            CHECK(given);
            CHECK(p.get(h.reach) >= p.low);
            CHECK(p.get(h.reach) <= p.high);
        }
    }
}

TEST_CASE("no kernel beats its floor on any device, and the interval holds the expectation", "[perf]") {
    const std::vector<Operator> operators = some_operators();
    for (const Hardware& h : all_devices()) {
        for (const Operator& op : operators) {
            if (std::holds_alternative<Collective>(op.shape) && link_for(h, 8) == nullptr) continue;
            const OperatorTime t = operator_time(op, h, {});
            INFO(h.name << " " << op.name);
            CHECK(t.time.floor > Seconds());
            CHECK(t.time.floor <= t.time.low);
            CHECK(t.time.low <= t.time.expected);
            CHECK(t.time.expected <= t.time.high);
            CHECK(test::near(total(t.shares).base(), t.time.expected.base(), 1e-9));
            CHECK(t.time.high < 1 * hour);
        }
    }
}

TEST_CASE("a long cache is read at nearly the memory's rate, a short one is not", "[perf]") {
    const Hardware h = device("h100-sxm");
    const auto rate = [&](double sequences, double context) {
        return sequences * context * 4096 * byte / decode(h, sequences, context) / h.memory.bandwidth.value;
    };
    CHECK(rate(64, 32768) > 0.85);
    CHECK(rate(1, 512) < 0.1);
}

TEST_CASE("a sequence's cache is split over the SMs: sixteen of 4 k take little longer than one of 64 k",
          "[perf]") {
    const Hardware h = device("h100-sxm");
    CHECK(decode(h, 1, 65536) / decode(h, 16, 4096) < 1.2);
    CHECK(decode(h, 1, 65536) / decode(h, 16, 4096) > 0.8);
}

TEST_CASE("a product takes no less with more rows, and steps up where a wave of tiles fills", "[perf]") {
    const Hardware h = device("h100-sxm");
    Seconds before;
    for (const double m : {1.0, 16.0, 64.0, 128.0, 129.0, 256.0, 512.0, 1024.0, 4096.0}) {
        const Seconds now = product(h, m, 8192, 8192);
        CHECK(now >= 0.999 * before);
        before = now;
    }
    CHECK(product(h, 1, 8192, 8192) / product(h, 32, 8192, 8192) > 0.9);  // the weights are read either way
    CHECK(product(h, 8192, 8192, 8192) < 1.5 * product(h, 4096, 8192, 8192) * 1.5);
}

TEST_CASE("quantised weights speed up a product that streams them, in proportion at most", "[perf]") {
    const Hardware h = device("h100-sxm");
    const auto with = [&](const char* format) {
        return expected(
            {"product",
             Matmul{.rows = 1, .outputs = 16384, .inputs = 16384, .weights = *storage_format(format)}, 1},
            h);
    };
    CHECK(with("bf16") / with("fp8") > 1.6);
    CHECK(with("bf16") / with("fp8") < 2.0);
    CHECK(with("bf16") / with("int4-g128") > 2.5);
    CHECK(with("bf16") / with("int4-g128") < 4.0);
}

TEST_CASE("a kernel that quantises comes before 8-bit products and attention over an 8-bit cache, no other",
          "[perf]") {
    const Hardware h = device("h100-sxm");
    const KernelChoices apart{.quantise = {1e-6, 2e-6, 3e-6, ""}};
    KernelChoices issued = apart;
    issued.graph = false;
    const auto added = [&](const Operator& op, const KernelChoices& with) {
        KernelChoices without = with;
        without.quantise = {};
        const OperatorTime t = operator_time(op, h, with);
        CHECK(test::near(total(t.shares).base(), t.time.expected.base(), 1e-9));
        return (t.time.expected - operator_time(op, h, without).time.expected).base();
    };
    const auto product_of = [](const char* format, double groups) {
        return Operator{"product",
                        Matmul{.rows = 16,
                               .outputs = 4096,
                               .inputs = 4096,
                               .groups = groups,
                               .weights = *storage_format(format)},
                        1};
    };
    CHECK(test::near(added(product_of("fp8", 1), apart), 2e-6, 1e-6));
    CHECK(test::near(added(product_of("fp8-block128", 1), apart), 2e-6, 1e-6));
    CHECK(test::near(added(product_of("fp8", 1), issued), h.reach.stream.issue.base(), 1e-6));
    CHECK(added(product_of("bf16", 1), apart) == 0);
    CHECK(added(product_of("int4-g128", 1), apart) == 0);
    CHECK(added(product_of("fp8", 8), apart) == 0);
    const auto attention_of = [](double bytes, ElementType cache) {
        Attention a;
        a.groups = {{.sequences = 4, .fresh = 1, .past = 1000}};
        a.heads = 32;
        a.kv_heads = 8;
        a.key_dim = a.value_dim = 128;
        a.kv_per_token = BytesPerToken(bytes);
        a.cache = cache;
        return Operator{"attention", a, 1};
    };
    CHECK(test::near(added(attention_of(2048, ElementType::fp8), apart), 2e-6, 1e-6));
    CHECK(added(attention_of(4096, ElementType::bf16), apart) == 0);
    // Few bytes may as well be few vectors; and where nothing is computed in 8 bits, nothing is quantised.
    CHECK(added(attention_of(1024, ElementType::bf16), apart) == 0);
    CHECK(added(attention_of(1024, ElementType::fp4), apart) == 0);
    const Hardware a100 = device("a100-sxm-80gb");
    for (const Operator& op : {product_of("fp8", 1), attention_of(2048, ElementType::fp8)})
        CHECK(operator_time(op, a100, apart).time.expected == operator_time(op, a100, {}).time.expected);
}

TEST_CASE("rows for experts add up, and no expert is hit without a row", "[perf]") {
    for (const double tokens : {1.0, 7.0, 64.0, 5000.0}) {
        for (const ExpertLoad& load : {uniform_load(tokens, 128, 128, 8), balanced_load(tokens, 128, 128, 8),
                                       power_law_load(tokens, 128, 128, 8, 1.2)}) {
            CHECK(test::near(load.rows, tokens * 8, 0.02));
            CHECK(load.hit <= std::min(128.0, load.rows) + 1e-9);
            CHECK(load.hit >= 8 - 1e-9);
            for (std::size_t i = 0; i < expert_tiles.size(); ++i) {
                CHECK(load.tiles[i] >= load.hit - 1e-9);
                CHECK(load.tiles[i] * expert_tiles[i] >= load.rows * 0.999);
            }
        }
    }
}

TEST_CASE("the busiest device of an expert-parallel group has more than its share under a skewed router",
          "[perf]") {
    const ExpertLoad even = power_law_load(4096, 256, 256, 8, 1.01);
    const ExpertLoad part = power_law_load(4096, 256, 32, 8, 1.01);
    CHECK(part.rows > even.rows / 8);
    CHECK(part.rows < even.rows);
}

TEST_CASE("a prompt's attention grows with its square, once launches are paid", "[perf]") {
    const Hardware h = device("h100-sxm");
    const auto prefill = [&](double tokens) {
        return expected({"attention", attention(1, tokens, 0), 1}, h);
    };
    const double growth = prefill(65536) / prefill(32768);
    CHECK(growth > 3.6);
    CHECK(growth < 4.1);
}

TEST_CASE("a kernel table's warm cache is faster than a step's cold one only below the L2's size", "[perf]") {
    const Hardware h = device("h100-sxm");
    AttentionShape s;
    s.sequences = 8;
    s.heads = 32;
    s.kv_heads = 8;
    s.context = 1024;
    AttentionShape warm = s;
    warm.residency = Residency::Warm;
    CHECK(decode_attention_time(warm, h.reach).total < decode_attention_time(s, h.reach).total);
    s.context = warm.context = 8192;
    CHECK(decode_attention_time(warm, h.reach).total == decode_attention_time(s, h.reach).total);
}
