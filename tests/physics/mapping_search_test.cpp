// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "io/catalogue.h"
#include "io/hardware_yaml.h"
#include "io/mapping_yaml.h"
#include "mapping/search.h"

#include <chrono>

using namespace headroom;
using headroom::test::source;

namespace {

MappingDevice device(const std::string& name, const Overrides& set = {}) {
    return mapping_device(read_hardware(source("hwprofiles/" + name + ".yaml"), source(""), set));
}

MappedComputation mapping(const std::string& name, const Overrides& set = {}) {
    return read_mapping(source("mappings/" + name + ".yaml"), source(""), set);
}

// Every tiling of two factors, the loops left as they are.
Seconds best_by_hand(MappedComputation nest, const MappingDevice& on, std::int64_t largest) {
    Seconds best(1e9);
    for (std::int64_t a = 16; a <= largest; a *= 2) {
        for (std::int64_t b = 16; b <= largest; b *= 2) {
            nest.mapping.tiles[0].value = a;
            nest.mapping.tiles[1].value = b;
            const Analysis found = analyse(nest, on);
            if (found.fits) best = min(best, found.expected);
        }
    }
    return best;
}

}  // namespace

TEST_CASE("the search finds tiles for every library entry, no worse than those given", "[mapping][physics]") {
    const MappingDevice h100 = device("h100-sxm");
    for (const std::string& name : entry_names(source(""), "mappings")) {
        INFO(name);
        const MappedComputation nest = mapping(name);
        const Analysis given = analyse(nest, h100);
        CHECK(given.fits);
        const auto from = std::chrono::steady_clock::now();
        const SearchResult r = search(nest, h100);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - from;
        CHECK(took.count() < 30);  // under 1 s on an idle core; tests run on loaded and instrumented ones too
        REQUIRE(r.found);
        CHECK(r.analysis.fits);
        CHECK(r.analysis.product_flop == given.product_flop);
        CHECK(r.analysis.expected <= 1.0000001 * given.expected);
        CHECK(r.proven == (r.gap == 0));
        CHECK(r.bound <= 1.0000001 * r.analysis.expected);
    }
}

TEST_CASE("a proven optimum is the best of all tilings", "[mapping][physics]") {
    const MappedComputation nest = mapping("attention-flash", {{"S", "2048"}, {"h", "3"}});
    const MappingDevice a100 = device("a100-sxm-80gb");
    const SearchResult r = search(nest, a100);
    REQUIRE(r.proven);
    CHECK(r.analysis.expected <= 1.0000001 * best_by_hand(nest, a100, 2048));
}

TEST_CASE("more SRAM holds larger tiles, and larger tiles re-read less", "[mapping][physics]") {
    // Partial results pass once per tile of keys; all but the SRAM is the A100's.
    const MappedComputation nest = mapping("attention-flash-key-outer");
    const auto l2_reads = [&](const std::string& sm, const std::string& block) {
        const Overrides set{{"compute.sram_per_sm", sm + " KiB"}, {"compute.sram_per_block", block + " KiB"}};
        const SearchResult r = search(nest, device("a100-sxm-80gb", set));
        REQUIRE(r.found);
        REQUIRE(r.proven);
        return r.analysis.levels[1].reads_bytes;
    };
    const auto small = l2_reads("96", "95"), a100 = l2_reads("164", "163"), h100 = l2_reads("228", "227");
    CHECK(a100 < small);
    CHECK(h100 < a100);
}
