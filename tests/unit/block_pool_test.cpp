// SPDX-License-Identifier: Apache-2.0
#include "memory/block_pool.h"

#include "check.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace headroom;

TEST_CASE("kept parts give way to need, the least recently used first", "[memory]") {
    BlockPool pool(10);
    REQUIRE(pool.take(9));
    const auto first = pool.make(3), second = pool.make(3), third = pool.make(3);
    CHECK(pool.name(first, 1));
    CHECK(pool.name(second, 2));
    CHECK_FALSE(pool.name(third, 2));  // the content is there already
    pool.drop(first);
    pool.drop(second);
    pool.drop(third);
    CHECK(pool.kept() == 6);
    CHECK(pool.empty() == 4);
    pool.hold(first);  // used again, so it is no longer the oldest
    pool.drop(first);
    CHECK(pool.take(5));
    CHECK(pool.find(2) == BlockPool::kNone);
    CHECK(pool.find(1) == first);
    CHECK_FALSE(pool.take(6));
    CHECK(pool.kept() == 3);
}

TEST_CASE("blocks are never made nor lost, whatever is done to a pool", "[memory]") {
    constexpr std::int64_t kTotal = 200;
    BlockPool pool(kTotal);
    std::mt19937_64 random(11);
    std::map<BlockPool::Part, std::int64_t> size;
    std::vector<BlockPool::Part> held;  // once for each holder
    std::int64_t alone = 0;
    const auto up_to = [&](std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(1, most)(random);
    };
    for (int i = 0; i < 20000; ++i) {
        const std::int64_t blocks = up_to(20);
        const auto content = static_cast<std::uint64_t>(up_to(40));
        switch (up_to(5)) {
            case 1:
                if (pool.take(blocks)) alone += blocks;
                break;
            case 2:
                pool.give(std::min(alone, blocks));
                alone -= std::min(alone, blocks);
                break;
            case 3:
                if (!pool.take(blocks)) break;
                held.push_back(pool.make(blocks));
                size[held.back()] = blocks;
                if (up_to(3) > 1) pool.name(held.back(), content);
                break;
            case 4:
                if (pool.find(content) == BlockPool::kNone) break;
                held.push_back(pool.find(content));
                pool.hold(held.back());
                break;
            default:
                if (held.empty()) break;
                pool.drop(held.back());
                held.pop_back();
        }
        // What is in use is what sequences have alone, and every part with a holder once.
        std::int64_t used = alone;
        for (const BlockPool::Part part : std::set(held.begin(), held.end())) used += size[part];
        REQUIRE(pool.used() == used);
        REQUIRE(pool.used() + pool.kept() + pool.empty() == kTotal);
        REQUIRE(pool.empty() >= 0);
        REQUIRE(pool.kept() >= 0);
    }
}
