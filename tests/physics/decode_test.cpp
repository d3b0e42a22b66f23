// SPDX-License-Identifier: Apache-2.0
#include "answers/predict.h"
#include "answers/roofline.h"
#include "catalogue.h"
#include "memory/ledger.h"
#include "ops/tensor.h"

using namespace headroom;
using namespace headroom::test;

namespace {

Question question(const std::string& model_name, const std::string& device, const std::string& stack,
                  Deployment d = {}) {
    return {{}, model(model_name), hardware(device), engine(stack), d};
}

}  // namespace

TEST_CASE("the batch is the arithmetic intensity of 16-bit weights, for every model", "[physics]") {
    for (const char* name : {"llama-2-7b", "llama-3-70b", "qwen3-32b", "gemma-3-27b"}) {
        INFO(name);
        // 2 P B operations over 2 P bytes
        CHECK(near(weight_intensity(model(name)), 1.0));
    }
    const Model quantized = with_weight_format(model("llama-3-8b"), *storage_format("fp8"), true);
    CHECK(near(weight_intensity(quantized), 2.0));
}

TEST_CASE("an H100 SXM bends at 295 FLOP per byte, and one sequence uses a third of a per cent of it",
          "[physics]") {
    const Question q = question("llama-3-8b", "h100-sxm", "ideal");
    const PredictAnswer a = predict(q, {1}, {1024}, {1024});
    CHECK(near(a.ridge.base(), 295.3, 0.001));
    const StepTime& decode = a.results[0].decode;
    CHECK(near(decode.work.flop / decode.time.floor / decode.peak, 0.0034, 0.1));
    CHECK(decode.work.flop / decode.time.expected / decode.peak > 0.002);
}

TEST_CASE("70 billion FP8 weights take 20.9 ms from one H100 SXM, so 48 tokens a second is the ceiling",
          "[physics]") {
    Question q = question("llama-3-70b", "h100-sxm", "ideal");
    for (const bool every_matrix : {false, true}) {
        q.model = with_weight_format(model("llama-3-70b"), *storage_format("fp8"), every_matrix);
        const PredictAnswer a = predict(q, {1}, {16}, {16});
        CHECK(near(a.results[0].decode.time.floor.in(ms), 20.9, 0.02));
        CHECK(near(1 / a.results[0].decode.time.floor.in(second), 48, 0.02));
    }
}

TEST_CASE("the textbook's memory figures follow from the card's capacity", "[physics]") {
    Question q = question("llama-3-70b", "h100-sxm", "ideal");
    const auto fits = [&](bool every_matrix, const char* kv, std::optional<Bytes> card) {
        Question asked = q;
        asked.model = with_weight_format(q.model, *storage_format("fp8"), every_matrix);
        asked.model.kv_format = storage_format(kv);
        if (card) asked.hardware.memory.capacity.value = *card;
        return capacity(shard(asked.model, {}), asked.hardware, asked.engine, 8192).max_sequences;
    };
    CHECK(fits(true, "fp8", 80 * GB) == 7);
    CHECK(fits(true, "bf16", 80 * GB) == 3);
    CHECK(fits(true, "fp8", {}) == 10);
    CHECK(fits(true, "bf16", {}) == 5);
    CHECK(fits(false, "fp8", {}) == 9);
}

TEST_CASE("every byte of a device is attributed, for every device and engine", "[physics]") {
    const Shard part = shard(model("llama-3-8b"), {});
    for (const std::string& stack : entry_names(source(""), "engines")) {
        const Engine e = engine(stack);
        for (const std::string& device : entry_names(source(""), "hwprofiles")) {
            INFO(stack << " on " << device);
            const Ledger l = ledger(part, 0, hardware(device), e);
            CHECK(near((l.weights + l.activations + l.runtime + l.kv).base(), l.usable.base()));
            CHECK(l.usable <= l.device);
        }
    }
}

TEST_CASE("a model weighs what its tensors weigh, layer by layer, for every model", "[physics]") {
    for (const std::string& model_name : entry_names(source(""), "models")) {
        const Model m = model(model_name);
        INFO(model_name);
        Bytes sum;
        for (const Tensor& t : outer_tensors(m))
            sum += parameters(t) * bytes_per_element(format_of(m.formats, t));
        for (const int kind : m.layout) {
            const Layer& layer = m.kinds[static_cast<std::size_t>(kind)];
            for (const Tensor& t : layer_tensors(m, layer))
                sum += parameters(t) * bytes_per_element(format_of(formats_of(m, layer), t));
        }
        CHECK(near(sum.base(), weight_bytes(m).base()));
    }
}

TEST_CASE("no step is faster than its floor, and its seconds add up, for every model and device",
          "[physics]") {
    const Engine e = engine("vllm");
    std::vector<Hardware> devices;
    for (const std::string& name : entry_names(source(""), "hwprofiles")) devices.push_back(hardware(name));
    for (const std::string& name : entry_names(source(""), "models")) {
        const Shard part = shard(model(name), {});
        for (const Hardware& h : devices) {
            for (const Batch& batch :
                 {decode_batch(1, 512), decode_batch(64, 4096), prefill_batch(1, 2048)}) {
                const StepTime s = step_time(part, batch, h, e);
                INFO(name << " on " << h.name);
                CHECK(s.time.floor > Seconds{});
                CHECK(s.time.floor <= s.time.low);
                CHECK(s.time.low <= s.time.expected);
                CHECK(s.time.expected <= s.time.high);
                CHECK(near(total(s.shares).base(), s.time.expected.base()));
            }
        }
    }
}

TEST_CASE("the roofline's operators are the step: work and times add up", "[physics]") {
    const Question q = question("llama-3-70b", "h100-sxm", "ideal", {.tp = 4});
    const RooflineAnswer a = roofline(q, false, 32, 4096);
    Work sum;
    Seconds expected;
    for (const RooflineRow& row : a.rows) {
        sum += row.work;
        expected += row.time.time.expected;
        CHECK(row.time.time.floor <= row.time.time.expected);
    }
    CHECK(near(sum.flop.base(), a.step.work.flop.base()));
    CHECK(near(hbm_bytes(sum).base(), hbm_bytes(a.step.work).base()));
    CHECK(near(expected.base(), a.step.time.expected.base()));
}

TEST_CASE("two GPUs hold a model between them and each reads half the weights", "[physics]") {
    const Model m = model("llama-3-70b");
    const Bytes whole = largest_weight_bytes(shard(m, {}));
    const Bytes half = largest_weight_bytes(shard(m, {.tp = 2}));
    CHECK(near(2 * half.base(), whole.base(), 0.001));  // norms are on both
    CHECK(2 * half.base() >= whole.base());
}
