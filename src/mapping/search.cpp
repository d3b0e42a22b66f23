// SPDX-License-Identifier: Apache-2.0
#include "mapping/search.h"

#include "mapping/footprint.h"
#include "mapping/legality.h"
#include "mapping/timing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace headroom {
namespace {

using Values = std::vector<std::int64_t>;

void visit(const Nest& n, const auto& f) {
    f(n);
    for (const Nest& inner : n.body) visit(inner, f);
}

// What a tile factor may be: granule times 2^k and 3 x 2^k, and the largest dimension that it cuts.
Values values_of(const MappedComputation& nest, std::size_t factor) {
    const TileFactor& t = nest.mapping.tiles[factor];
    if (!t.searched) return {t.value};
    std::int64_t largest = 1;
    for (const NestKernel& k : nest.mapping.kernels) {
        visit(k.nest, [&](const Nest& n) {
            for (const Loop& l : n.loops) {
                if (l.factor == static_cast<int>(factor))
                    largest = std::max(
                        largest, nest.computation.dimensions[static_cast<std::size_t>(l.dimension)].size);
            }
        });
    }
    Values values;
    for (std::int64_t v = std::min(t.granule, largest); v < largest; v *= 2) {
        values.push_back(v);
        if (v * 3 / 2 < largest && v > t.granule) values.push_back(v * 3 / 2);
    }
    values.push_back(largest);
    return values;
}

std::set<std::size_t> factors_of(const Nest& nest) {
    std::set<std::size_t> used;
    visit(nest, [&](const Nest& n) {
        for (const Loop& l : n.loops) {
            if (l.factor >= 0) used.insert(static_cast<std::size_t>(l.factor));
        }
    });
    return used;
}

// Every way to order neighbouring loops of one binding, in this nest and those inside. Loops of one
// dimension keep their order, and loops over warps stay where they are.
std::vector<Nest> orders(const Nest& n) {
    std::vector<std::vector<Loop>> loops{{}};
    for (std::size_t from = 0; from < n.loops.size();) {
        std::size_t to = from + 1;
        while (to < n.loops.size() && n.loops[to].over == n.loops[from].over) ++to;
        std::vector<std::size_t> order(to - from);
        std::iota(order.begin(), order.end(), from);
        std::vector<std::vector<Loop>> longer;
        do {
            bool kept = true;
            for (std::size_t i = 0; i < order.size(); ++i) {
                for (std::size_t j = i + 1; j < order.size(); ++j) {
                    const bool same = n.loops[order[i]].dimension == n.loops[order[j]].dimension;
                    if (order[i] > order[j] && (same || n.loops[from].over == LoopBinding::warps))
                        kept = false;
                }
            }
            for (std::size_t i = 0; kept && i < loops.size(); ++i) {
                longer.push_back(loops[i]);
                for (const std::size_t at : order) longer.back().push_back(n.loops[at]);
            }
        } while (std::next_permutation(order.begin(), order.end()));
        loops = std::move(longer);
        from = to;
    }
    std::vector<Nest> all;
    for (std::vector<Loop>& order : loops) {
        all.push_back(n);
        all.back().loops = std::move(order);
    }
    for (std::size_t child = 0; child < n.body.size(); ++child) {
        std::vector<Nest> more;
        for (const Nest& inner : orders(n.body[child])) {
            for (Nest variant : all) {
                variant.body[child] = inner;
                more.push_back(std::move(variant));
            }
        }
        all = std::move(more);
    }
    return all;
}

struct Score {
    Seconds time;
    std::int64_t l2_bytes = 0;
    auto operator<=>(const Score&) const = default;
};

// The loops over time in the order in which they stand: all that matters on the chip.
void time_order(const Nest& n, std::vector<int>& order) {
    for (const Loop& l : n.loops) {
        if (l.over == LoopBinding::time) order.push_back(l.dimension);
    }
    for (const Nest& inner : n.body) time_order(inner, order);
}

// One kernel in all its orders.
struct Variants {
    std::vector<std::size_t> factors;
    std::map<std::vector<int>, std::size_t> by_time;  // one variant for each order in time
    std::vector<MappedComputation> nests;             // with every other kernel as it was
    std::vector<NestPlan> plans;
    std::map<Values, std::pair<Score, std::size_t>> best;  // by the values of its factors
};

struct Search {
    const MappedComputation& nest;
    const MappingDevice& device;
    SearchLimit limit;
    std::vector<Variants> kernels{};
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
            const auto used = factors_of(nest.mapping.kernels[k].nest);
            v.factors.assign(used.begin(), used.end());
            for (Nest& order : orders(nest.mapping.kernels[k].nest)) {
                std::vector<int> in_time;
                time_order(order, in_time);
                v.by_time.emplace(std::move(in_time), v.nests.size());
                MappedComputation m = nest;
                m.mapping.kernels[k].nest = std::move(order);
                v.plans.push_back(make_plan(m));
                v.nests.push_back(std::move(m));
            }
            kernels.push_back(std::move(v));
        }
    }

    std::vector<Values> tilings() const {
        std::vector<Values> all{{}};
        for (std::size_t f = 0; f < nest.mapping.tiles.size(); ++f) {
            std::vector<Values> longer;
            for (const Values& some : all) {
                for (const std::int64_t v : values_of(nest, f)) {
                    longer.push_back(some);
                    longer.back().push_back(v);
                }
            }
            all = std::move(longer);
        }
        return all;
    }

    /// Tilings by their bound, and whether that is the tight one.
    using Open = std::multimap<Seconds, std::pair<Values, bool>>;

    /// All that fit, by the cheap bound.
    Open open_tilings() {
        Open open;
        std::int64_t orders_of_all = 1;
        for (const Variants& v : kernels) orders_of_all *= static_cast<std::int64_t>(v.nests.size());
        for (Values& values : tilings()) {
            result.tilings += orders_of_all;
            Seconds sum;
            bool fits = true;
            for (std::size_t k = 0; fits && k < kernels.size(); ++k) {
                const Seconds least = bound(k, values);
                fits = least >= Seconds{};
                sum += least;
            }
            if (fits)
                open.emplace(sum, std::pair(std::move(values), false));
            else
                result.too_large += orders_of_all;
        }
        return open;
    }

    void run() {
        prepare();
        Open open = open_tilings();
        Score best;
        Values chosen, given;
        const auto consider = [&](const Values& values) {
            Score sum;
            for (std::size_t k = 0; k < kernels.size(); ++k) {
                const Score s = score(k, values).first;
                if (s.time < Seconds{}) return;
                sum.time += s.time;
                sum.l2_bytes += s.l2_bytes;
            }
            if (result.found && best <= sum) return;
            best = sum;
            chosen = values;
            result.found = true;
        };
        for (const TileFactor& t : nest.mapping.tiles) given.push_back(t.value);
        bool given_fits = true;
        for (std::size_t k = 0; k < kernels.size(); ++k) given_fits &= bound(k, given) >= Seconds{};
        if (given_fits) consider(given);
        while (!open.empty() && result.analysed < limit.analyses) {
            const Seconds least = open.begin()->first;
            if (result.found && least > best.time) break;
            auto [values, tight] = std::move(open.begin()->second);
            open.erase(open.begin());
            if (tight) {
                consider(values);
                continue;
            }
            Seconds sum;
            for (std::size_t k = 0; k < kernels.size(); ++k) sum += tight_bound(k, values);
            open.emplace(max(least, sum), std::pair(std::move(values), true));
        }
        if (!result.found) return;
        result.proven = open.empty() || open.begin()->first > best.time;
        result.bound = result.proven ? best.time : open.begin()->first;
        result.gap = result.proven ? 0 : (best.time - result.bound) / best.time;
        finish(chosen);
    }

    void finish(const Values& chosen) {
        MappedComputation m = nest;
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
