// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "memory/buddy.h"
#include "memory/grouped.h"
#include "memory/oracle.h"
#include "memory/paged.h"
#include "memory/reserve.h"
#include "memory/shared_paged.h"
#include "spec/random.h"

#include <map>
#include <set>

namespace headroom {
namespace {

struct Live {
    Demand demand;
    Request request;
    std::int64_t tokens = 0;
};

bool adds_up(const Usage& u) {
    const bool none_negative = u.used >= 0 && u.internal >= 0 && u.reservation >= 0 && u.external >= 0 &&
                               u.free >= 0 && u.cached >= 0 && u.cached <= u.free;
    return none_negative && u.used + u.internal + u.reservation + u.external + u.free == u.region;
}

// Admissions, growth, writing and departures in random order. `check` sees the live sequences after each.
template <class A, class Check>
void exercise(A& allocator, std::uint64_t seed, int moves, std::int64_t longest, const Check& check) {
    Random random(seed);
    std::map<int, Live> live;
    int next = 0;
    for (int move = 0; move < moves; ++move) {
        const double what = random.uniform();
        if (what < 0.35 || live.empty()) {
            Live l;
            const auto prompt =
                static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(longest / 2)));
            const auto output =
                static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(longest / 2)));
            l.request.input_tokens = prompt;
            l.request.output_tokens = output;
            l.request.prefix_block = 8;
            const std::uint64_t family = random.below(3);  // prompts of a family begin alike
            for (std::int64_t at = 0; at < prompt; at += 8) {
                l.request.prefix.push_back(
                    mix(family * 1000 + static_cast<std::uint64_t>(at < 40 ? at : at + 100000 * next)));
            }
            l.demand = {prompt, prompt + output, prompt, nullptr};
            l.tokens = prompt;
            Demand asked = l.demand;
            asked.request = &l.request;
            if (allocator.admit(next, asked)) live[next++] = l;
        } else if (what < 0.85) {
            for (auto& [slot, l] : live) {
                if (l.tokens >= l.demand.final_tokens) continue;
                while (l.tokens >= allocator.room(slot) && allocator.grow(slot)) {
                }
                if (l.tokens >= allocator.room(slot)) continue;
                ++l.tokens;
                allocator.advance(1);
                if constexpr (std::is_same_v<A, GroupedAllocator>) allocator.wrote(slot, l.tokens);
            }
        } else {
            auto victim = live.begin();
            std::advance(victim, static_cast<std::ptrdiff_t>(random.below(live.size())));
            allocator.release(victim->first, victim->second.tokens);
            live.erase(victim);
        }
        REQUIRE(adds_up(allocator.usage(0)));
        REQUIRE(adds_up(allocator.usage(longest)));
        check(live);
    }
    for (const auto& [slot, l] : live) allocator.release(slot, l.tokens);
    const Usage empty = allocator.usage(0);
    CHECK(empty.used == 0);
    CHECK(empty.internal == 0);
    CHECK(empty.reservation == 0);
    CHECK(empty.free + empty.external == empty.region);
}

std::int64_t sum_of_tokens(const std::map<int, Live>& live) {
    std::int64_t sum = 0;
    for (const auto& entry : live) sum += entry.second.tokens;
    return sum;
}

// Pieces (place, size) neither overlap nor leave the region.
void disjoint(std::vector<std::pair<std::int64_t, std::int64_t>> pieces, std::int64_t region) {
    std::sort(pieces.begin(), pieces.end());
    std::int64_t end = 0;
    for (const auto& [place, size] : pieces) {
        REQUIRE(place >= end);
        end = place + size;
    }
    REQUIRE(end <= region);
}

}  // namespace

TEST_CASE("Reserved pieces never overlap and every slot is attributed", "[memory]") {
    ReserveAllocator a(1000, 96);
    exercise(a, 1, 4000, 96, [&](const auto& live) {
        std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
        for (const auto& entry : live) pieces.emplace_back(a.place(entry.first), 96);
        disjoint(pieces, 1000);
        REQUIRE(a.usage(0).used == sum_of_tokens(live));
    });
}

TEST_CASE("Pieces of known length never overlap, and freed ones join again", "[memory]") {
    OracleAllocator a(1000);
    exercise(a, 2, 4000, 120, [&](const auto& live) {
        std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
        for (const auto& [slot, l] : live) {
            REQUIRE(a.piece_of(slot).size == l.demand.final_tokens);
            pieces.emplace_back(a.piece_of(slot).place, a.piece_of(slot).size);
        }
        disjoint(pieces, 1000);
        REQUIRE(a.usage(0).used == sum_of_tokens(live));
    });
    CHECK(a.admit(100000, {1000, 1000, 1000, nullptr}));  // the whole region is one hole
}

TEST_CASE("Buddies are powers of two at multiples of themselves, and join again", "[memory]") {
    for (const BuddySize size : {BuddySize::known, BuddySize::guessed, BuddySize::longest}) {
        BuddyAllocator a(1000, size, 128);
        exercise(a, 3, 4000, 128, [&](const auto& live) {
            std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
            for (const auto& entry : live) {
                const auto piece = a.piece_of(entry.first);
                REQUIRE((piece.size & (piece.size - 1)) == 0);
                REQUIRE(piece.place % piece.size == 0);
                REQUIRE(piece.wanted <= piece.size);
                pieces.emplace_back(piece.place, piece.size);
            }
            disjoint(pieces, 1000);
        });
        for (int i = 0; i < 7; ++i) CHECK(a.admit(100000 + i, {128, 128, 64, nullptr}));  // 512 + 256 + 128
        CHECK(!a.admit(200000, {128, 128, 64, nullptr}));
    }
}

TEST_CASE("A sequence has as many blocks as its tokens need, and all have what the pool gave", "[memory]") {
    for (const std::int64_t block : {1, 16, 7}) {
        PagedAllocator a(1000, block);
        exercise(a, 4, 3000, 120, [&](const auto& live) {
            std::int64_t all = 0;
            for (const auto& [slot, l] : live) {
                REQUIRE(a.held(slot) * block >= l.tokens);
                REQUIRE((a.held(slot) - 1) * block <= l.tokens);
                all += a.held(slot);
            }
            const Usage u = a.usage(0);
            REQUIRE(u.free == (1000 / block - all) * block);
            REQUIRE(u.used + u.internal + u.reservation + u.external + u.free == u.region);
            REQUIRE(a.usage(0).used == sum_of_tokens(live));
        });
    }
}

TEST_CASE("Shared blocks are counted once; references are the sequences that use them", "[memory]") {
    for (const std::int64_t block : {4, 8, 16}) {
        SharedPagedAllocator a(1200, block);
        exercise(a, 5, 3000, 160, [&](const auto& live) {
            std::map<std::uint32_t, std::pair<int, std::int64_t>> owners;  // how many, tokens in it
            for (const auto& [slot, l] : live) {
                std::int64_t begin = 0;
                for (const std::uint32_t b : a.table(slot)) {
                    auto& [users, tokens] = owners[b];
                    const std::int64_t inside = std::clamp<std::int64_t>(l.tokens - begin, 0, block);
                    if (users > 0) REQUIRE(tokens == inside);
                    ++users;
                    tokens = inside;
                    begin += block;
                }
            }
            std::int64_t used = 0;
            for (const auto& [b, of] : owners) {
                REQUIRE(a.references(b) == of.first);
                used += of.second;
            }
            REQUIRE(a.in_use() == static_cast<std::int64_t>(owners.size()));
            REQUIRE(a.in_use() + a.cached() + a.empty() == 1200 / block);
            REQUIRE(a.usage(0).used == used);
            REQUIRE(a.usage(0).shared == sum_of_tokens(live) - used);
        });
        CHECK(a.in_use() == 0);
        CHECK(a.found_tokens() > 0);
        for (std::uint32_t b = 0; b < 1200 / block; ++b) CHECK(a.references(b) == 0);
    }
}

TEST_CASE("Copies share every block until one writes; then only the last is copied", "[memory]") {
    SharedPagedAllocator a(160, 16);
    const Demand prompt{40, 80, 40, nullptr};
    REQUIRE(a.admit(0, prompt));
    REQUIRE(a.fork(0, 1, prompt));
    REQUIRE(a.fork(0, 2, prompt));
    CHECK(a.in_use() == 3);
    CHECK(a.usage(0).used == 40);
    CHECK(a.usage(0).shared == 80);
    for (const int slot : {0, 1, 2}) {
        CHECK(a.room(slot) == 40);
        REQUIRE(a.grow(slot));
        CHECK(a.room(slot) == 48);
    }
    a.advance(3);
    CHECK(a.in_use() == 5);  // two full ones for all, a last one for each
    CHECK(a.usage(0).used == 32 + 3 * 9);
    CHECK(a.usage(0).shared == 2 * 32);
    a.release(1, 41);
    CHECK(a.usage(0).used == 32 + 2 * 9);
    a.release(0, 41);
    a.release(2, 41);
    CHECK(a.in_use() == 0);
    CHECK(a.usage(0).free == 160);
}

TEST_CASE("A prompt that was served before is found until its room is needed", "[memory]") {
    SharedPagedAllocator a(64, 16);
    Request r;
    r.input_tokens = 48;
    r.prefix = {11, 12, 13};
    r.prefix_block = 16;
    const Demand d{48, 49, 48, &r};
    REQUIRE(a.admit(0, d));
    a.release(0, 48);
    CHECK(a.cached() == 3);
    REQUIRE(a.admit(1, d));
    CHECK(a.found_tokens() == 48);
    a.release(1, 48);
    REQUIRE(a.admit(2, {64, 64, 64, nullptr}));  // needs all four blocks
    a.release(2, 64);
    REQUIRE(a.admit(3, d));
    CHECK(a.found_tokens() == 48);  // nothing more was found
}

TEST_CASE("Pages of hybrid models: one pool, one owner, windows free what fell out", "[memory]") {
    // 2 layers that keep all, 10 with a window of 40 tokens, 8 B per layer and token
    const ModelKv kv{{{BytesPerToken(8), 0, Bytes{}}, 2}, {{BytesPerToken(8), 40, Bytes{}}, 10}};
    const PageLayout layout = page_layout(kv, 16);
    CHECK(layout.layers == 2);
    CHECK(layout.groups.size() == 6);
    CHECK(layout.page == 2 * 16 * 8);
    for (const bool keep : {false, true}) {
        GroupedAllocator a(40000, layout, keep);
        exercise(a, 6, 2000, 160, [&](const auto& live) {
            std::set<std::uint32_t> owned;
            for (const auto& [slot, l] : live) {
                for (std::size_t g = 0; g < layout.groups.size(); ++g) {
                    const auto pages = a.pages(slot, g);
                    for (const std::uint32_t page : pages) REQUIRE(owned.insert(page).second);
                    const bool window = layout.groups[g].window > 0;
                    if (window && !keep)
                        REQUIRE(pages.size() <= 4);  // 40 tokens touch at most 4 blocks of 16
                    if (!window || keep) REQUIRE(static_cast<std::int64_t>(pages.size()) * 16 >= l.tokens);
                }
            }
        });
    }
}

TEST_CASE("Groups: the remainder is padded, and a state must fit into a page", "[memory]") {
    // Gemma-3-27B: 10 layers that keep all and 52 with a window are 1 + 6 groups with 8 padding layers.
    const ModelKv gemma{{{BytesPerToken(8), 0, Bytes{}}, 10}, {{BytesPerToken(8), 1024, Bytes{}}, 52}};
    const PageLayout layout = page_layout(gemma, 16);
    CHECK(layout.groups.size() == 7);
    int layers = 0;
    for (const PageGroup& g : layout.groups) layers += g.layers;
    CHECK(layers == 62);
    CHECK(static_cast<int>(layout.groups.size()) * layout.layers - layers == 8);

    const ModelKv hybrid{{{BytesPerToken(2048), 0, Bytes{}}, 12}, {{BytesPerToken{}, 0, Bytes(1100000)}, 36}};
    const PageLayout states = page_layout(hybrid, 16);
    CHECK(states.block == 544);
    CHECK(states.block * 2048 >= 1100000);
    CHECK(states.groups.size() == 4);
}

}  // namespace headroom
