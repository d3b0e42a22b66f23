// SPDX-License-Identifier: Apache-2.0
#include "mapping/search.h"

#include "mapping/footprint.h"
#include "mapping/legality.h"
#include "mapping/search_space.h"
#include "mapping/timing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace headroom {
namespace {

using Values = TileValues;

struct Score {
    Seconds time;
    std::int64_t l2_bytes = 0;
    auto operator<=>(const Score&) const = default;
};

// One kernel in all its orders.
struct Variants {
    std::vector<std::size_t> factors;
    std::map<std::vector<int>, std::size_t> by_time;  // one variant for each order in time
    std::vector<MappedComputation> nests;             // with every other kernel as it was
    std::vector<NestPlan> plans;
    std::map<Values, std::pair<Score, std::size_t>> best;  // by the values of its factors
};

// Kernels that share no tile factor with others: their best tiles are found by themselves.
struct Part {
    std::vector<std::size_t> kernels{}, factors{};
    std::multimap<Seconds, std::pair<Values, bool>> open{};  // tilings by their bound; whether it is tight
    bool found = false;
    Score best{};
    Values chosen{};

    bool proven() const { return open.empty() || (found && open.begin()->first > best.time); }
    Seconds bound() const { return proven() ? best.time : open.begin()->first; }
};

struct Search {
    const MappedComputation& nest;
    const MappingDevice& device;
    SearchLimit limit;
    std::vector<Variants> kernels{};
    std::vector<Part> parts{};
    std::map<std::pair<std::size_t, Values>, Seconds> bounds{}, on_chip{};
    SearchResult result{};

    Values own(std::size_t kernel, const Values& all) const {
        Values values;
        for (const std::size_t f : kernels[kernel].factors) values.push_back(all[f]);
        return values;
    }

    void set(MappedComputation& m, const Values& all) const {
        for (std::size_t f = 0; f < all.size(); ++f) m.mapping.tiles[f].value = all[f];
    }

    // No order is faster: work, idle SMs, and each tensor through HBM once. Negative: no room.
    Seconds bound(std::size_t kernel, const Values& all) {
        const auto key = std::pair(kernel, own(kernel, all));
        const auto found = bounds.find(key);
        if (found != bounds.end()) return found->second;
        Variants& v = kernels[kernel];
        set(v.nests[0], all);
        rebind(v.plans[0], v.nests[0].mapping);
        const Placed placed = place(v.nests[0], v.plans[0], device, kernel);
        const Seconds least =
            placed.fits ? least_expected(v.nests[0], v.plans[0], device, kernel, placed) : Seconds(-1);
        return bounds[key] = least;
    }

    // The bound with traffic on the chip: that of the best order in time, whatever the order of blocks.
    Seconds tight_bound(std::size_t kernel, const Values& all) {
        const auto key = std::pair(kernel, own(kernel, all));
        if (const auto found = on_chip.find(key); found != on_chip.end()) return found->second;
        Variants& v = kernels[kernel];
        std::optional<Seconds> least;
        for (const auto& [order, i] : v.by_time) {
            set(v.nests[i], all);
            rebind(v.plans[i], v.nests[i].mapping);
            const Seconds here = analyse_on_chip(v.nests[i], v.plans[i], device, kernel).expected;
            least = least ? min(*least, here) : here;
        }
        return on_chip[key] = max(bound(kernel, all), least.value_or(Seconds{}));
    }

    // The best order for these tiles; nothing when none is legal.
    std::pair<Score, std::size_t> score(std::size_t kernel, const Values& all) {
        Variants& v = kernels[kernel];
        const Values key = own(kernel, all);
        if (const auto found = v.best.find(key); found != v.best.end()) return found->second;
        const Seconds least = tight_bound(kernel, all);
        std::pair<Score, std::size_t> best{{Seconds(-1), 0}, 0};
        for (std::size_t i = 0; i < v.nests.size(); ++i) {
            set(v.nests[i], all);
            rebind(v.plans[i], v.nests[i].mapping);
            if (!mapping_faults(v.nests[i], v.plans[i]).empty()) continue;
            const KernelAnalysis k = analyse_kernel(v.nests[i], v.plans[i], device, kernel);
            ++result.analysed;
            const Score s{k.expected, k.l2_bytes};
            if (best.first.time < Seconds{} || s < best.first) best = {s, i};
            if (v.by_time.size() == 1 && s.time <= least) break;  // blocks in another order gain nothing
        }
        return v.best[key] = best;
    }

    void prepare() {
        for (std::size_t k = 0; k < nest.mapping.kernels.size(); ++k) {
            Variants v;
            const auto used = tile_factors(nest.mapping.kernels[k].nest);
            v.factors.assign(used.begin(), used.end());
            for (Nest& order : loop_orders(nest.mapping.kernels[k].nest)) {
                v.by_time.emplace(time_order(order), v.nests.size());
                MappedComputation m = nest;
                m.mapping.kernels[k].nest = std::move(order);
                v.plans.push_back(make_plan(m));
                v.nests.push_back(std::move(m));
            }
            kernels.push_back(std::move(v));
        }
    }

    // A factor that is not searched ties nothing together.
    std::vector<std::size_t> searched(std::size_t kernel) const {
        std::vector<std::size_t> factors;
        for (const std::size_t f : kernels[kernel].factors) {
            if (nest.mapping.tiles[f].searched) factors.push_back(f);
        }
        return factors;
    }

    void divide() {
        std::vector<std::size_t> first(kernels.size());  // kernel of the same part
        std::map<std::size_t, std::size_t> user;         // kernel of each factor
        for (std::size_t k = 0; k < kernels.size(); ++k) {
            first[k] = k;
            for (const std::size_t f : searched(k)) {
                const std::size_t other = first[user.emplace(f, k).first->second];
                std::replace(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(k) + 1, first[k],
                             other);
            }
        }
        std::map<std::size_t, Part> by_first;
        for (std::size_t k = 0; k < kernels.size(); ++k) by_first[first[k]].kernels.push_back(k);
        for (const auto& [f, k] : user) by_first[first[k]].factors.push_back(f);
        for (auto& [k, part] : by_first) parts.push_back(std::move(part));
    }

    std::vector<Values> tilings(const Part& part) const {
        std::vector<Values> all{given()};
        for (const std::size_t f : part.factors) {
            std::vector<Values> longer;
            for (const Values& some : all) {
                for (const std::int64_t v : tile_values(nest, f)) {
                    longer.push_back(some);
                    longer.back()[f] = v;
                }
            }
            all = std::move(longer);
        }
        return all;
    }

    Values given() const {
        Values values;
        for (const TileFactor& t : nest.mapping.tiles) values.push_back(t.value);
        return values;
    }

    std::optional<Seconds> bound(const Part& part, const Values& values) {
        Seconds sum;
        for (const std::size_t k : part.kernels) {
            const Seconds least = bound(k, values);
            if (least < Seconds{}) return std::nullopt;
            sum += least;
        }
        return sum;
    }

    // All that fit, by the cheap bound.
    void open_tilings() {
        std::int64_t all = 1, fit = 1;
        for (Part& part : parts) {
            std::int64_t count = 0;
            for (Values& values : tilings(part)) {
                ++count;
                if (const auto least = bound(part, values))
                    part.open.emplace(*least, std::pair(std::move(values), false));
            }
            all *= count;
            fit *= static_cast<std::int64_t>(part.open.size());
        }
        std::int64_t orders = 1;
        for (const Variants& v : kernels) orders *= static_cast<std::int64_t>(v.nests.size());
        result.tilings = all * orders;
        result.too_large = (all - fit) * orders;
    }

    void consider(Part& part, const Values& values) {
        Score sum;
        for (const std::size_t k : part.kernels) {
            const Score s = score(k, values).first;
            if (s.time < Seconds{}) return;
            sum.time += s.time;
            sum.l2_bytes += s.l2_bytes;
        }
        if (part.found && part.best <= sum) return;
        part.best = sum;
        part.chosen = values;
        part.found = true;
    }

    // The open tiling of least bound: analysed, or bounded more tightly and put back.
    void step(Part& part) {
        const Seconds least = part.open.begin()->first;
        auto [values, tight] = std::move(part.open.begin()->second);
        part.open.erase(part.open.begin());
        if (tight) return consider(part, values);
        Seconds sum;
        for (const std::size_t k : part.kernels) sum += tight_bound(k, values);
        part.open.emplace(max(least, sum), std::pair(std::move(values), true));
    }

    // The part that may gain most by another step; nothing when all are done.
    Part* next() {
        Part* most = nullptr;
        const auto gain = [](const Part& p) {
            return p.found ? p.best.time - p.bound() : Seconds(std::numeric_limits<double>::infinity());
        };
        for (Part& p : parts) {
            if (!p.proven() && (most == nullptr || gain(p) > gain(*most))) most = &p;
        }
        return most;
    }

    void run() {
        prepare();
        divide();
        open_tilings();
        for (Part& part : parts) {
            if (bound(part, given())) consider(part, given());
        }
        while (Part* part = result.analysed < limit.analyses ? next() : nullptr) step(*part);
        Seconds best;
        result.found = result.proven = true;
        for (const Part& part : parts) {
            result.found &= part.found;
            result.proven &= part.proven();
            result.bound += part.bound();
            best += part.best.time;
        }
        if (!result.found) {
            result = {false, {}, {}, result.tilings, result.too_large, result.analysed, false, {}, 0};
            return;
        }
        result.gap = result.proven ? 0 : (best - result.bound) / best;
        finish();
    }

    void finish() {
        MappedComputation m = nest;
        Values chosen = given();
        for (const Part& part : parts) {
            for (const std::size_t f : part.factors) chosen[f] = part.chosen[f];
        }
        set(m, chosen);
        for (std::size_t k = 0; k < kernels.size(); ++k)
            m.mapping.kernels[k].nest = kernels[k].nests[score(k, chosen).second].mapping.kernels[k].nest;
        result.analysis = analyse(m, device);
        result.best = std::move(m.mapping);
    }
};

}  // namespace

SearchResult search(const MappedComputation& nest, const MappingDevice& device, SearchLimit limit) {
    Search s{nest, device, limit};
    s.run();
    return std::move(s.result);
}

}  // namespace headroom
