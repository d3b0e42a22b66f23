// SPDX-License-Identifier: Apache-2.0
#include "mapping/search.h"

#include "check.h"
#include "io/catalogue.h"
#include "io/hardware_yaml.h"
#include "io/mapping_yaml.h"

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

}  // namespace

TEST_CASE("the search finds a tiling of every library entry, no worse than the one that was given",
          "[mapping][physics]") {
    const MappingDevice h100 = device("h100-sxm");
    for (const std::string& name : entry_names(source(""), "mappings")) {
        INFO(name);
        const MappedComputation nest = mapping(name);
        const auto from = std::chrono::steady_clock::now();
        const SearchResult r = search(nest, h100);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - from;
        if (std::getenv("MAPDEV")) printf("%-28s %6.3f s tilings %6ld large %6ld analysed %5ld proven %d gap %.3f\n", name.c_str(), took.count(), r.tilings, r.too_large, r.analysed, r.proven, r.gap);
        REQUIRE(r.found);
        CHECK(r.analysis.fits);
        CHECK(took.count() < 30);
        const Analysis given = analyse(nest, h100);
        CHECK(r.analysis.product_flop == given.product_flop);
        if (given.fits) CHECK(r.analysis.expected <= 1.0000001 * given.expected);
        CHECK((r.proven || r.gap > 0));
        CHECK(r.bound <= 1.0000001 * r.analysis.expected);
    }
}
