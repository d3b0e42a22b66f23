// SPDX-License-Identifier: Apache-2.0
#include "catalogue.h"
#include "ops/step.h"

using namespace headroom;
using namespace headroom::test;

TEST_CASE("context parallelism cuts a prompt's work and a sequence's cache, not the weights", "[physics]") {
    const Model m = model("llama-3-8b");
    const Shard one = shard(m, {}), four = shard(m, {.cp = 4});
    const Batch prompt = prefill_batch(1, 65536);
    const Work whole = total_work(step_operators(one, prompt)),
               part = total_work(step_operators(four, prompt));
    // all but the head, which computes one row on each GPU
    CHECK(near(part.flop.base(), whole.flop.base() / 4, 0.001));
    // and the rows that it looks up in the embedding table
    CHECK(near(part.weights.base(), whole.weights.base(), 0.05));
    CHECK(near(growth(kv_of(four.stages[0])).base(), growth(kv_of(one.stages[0])).base() / 4));
    const Work decode = total_work(step_operators(four, decode_batch(8, 65536)));
    CHECK(near(decode.kv.base(), total_work(step_operators(one, decode_batch(8, 65536))).kv.base() / 4));
}
