// SPDX-License-Identifier: Apache-2.0
#include "spec/ceilings.h"

#include "spec/ceiling_fields.h"

#include <algorithm>
#include <vector>

namespace headroom {

using namespace ceiling_fields;

namespace {

template <int Kind>
void add_product(std::vector<CeilingParameter>& list, const std::string& kind) {
    constexpr auto group = &Ceilings::product;
    using P = ProductCeilings;
    const auto name = [&](const char* leaf) { return "product." + kind + "." + leaf; };
    list.insert(
        list.end(),
        {field<group, Kind, &P::launch>(name("launch"), "us", 1 * micro, 6 * micro, "smallest product"),
         field<group, Kind, &P::fill>(name("fill"), "us", 0, 5 * micro, "fill and drain of one block"),
         field<group, Kind, &P::matrix>(name("matrix"), "", 0.3, 1, "matrix rate of a running tile / peak"),
         field<group, Kind, &P::tile_load>(name("tile_load"), "GB/s", 5 * giga, 4000 * giga,
                                           "operands that one SM takes in"),
         field<group, Kind, &P::split>(name("split"), "us", 0, 6 * micro, "cost of splitting k"),
         field<group, Kind, &P::split_rate>(name("split_rate"), "TB/s", 0.2 * tera, 20 * tera,
                                            "partial sums written and read back"),
         field<group, Kind, &P::spread>(name("spread"), "", spread_low, spread_high, spread_meaning)});
    if (Kind != static_cast<int>(ProductKind::Fp8) && Kind != static_cast<int>(ProductKind::Fp8Block)) {
        return;
    }
    list.insert(list.end(),
                {field<group, Kind, &P::quantise>(name("quantise"), "us", 0, 30 * micro,
                                                  "launches that quantise the input"),
                 field<group, Kind, &P::quantise_chain>(name("quantise_chain"), "us", 0, 2 * micro,
                                                        "quantising 1024 of k with few rows"),
                 field<group, Kind, &P::quantise_rate>(name("quantise_rate"), "GB/s", 40 * giga, 4000 * giga,
                                                       "quantising many rows, 16-bit input")});
}

template <int Kind>
void add_experts(std::vector<CeilingParameter>& list, const std::string& kind) {
    constexpr auto group = &Ceilings::experts;
    using E = ExpertCeilings;
    const auto name = [&](const char* leaf) { return "experts." + kind + "." + leaf; };
    list.insert(
        list.end(),
        {field<group, Kind, &E::launch>(name("launch"), "us", 2 * micro, 40 * micro,
                                        "one product of one token"),
         field<group, Kind, &E::matrix>(name("matrix"), "", 0.2, 1, "matrix rate of a running tile / peak"),
         field<group, Kind, &E::tile_load>(name("tile_load"), "GB/s", 5 * giga, 4000 * giga,
                                           "operands that one SM takes in"),
         field<group, Kind, &E::copies>(name("copies"), "", 0, 8, "passes over the rows around the products"),
         field<group, Kind, &E::spread>(name("spread"), "", spread_low, spread_high, spread_meaning)});
}

void add_attention(std::vector<CeilingParameter>& list) {
    constexpr auto dec = &Ceilings::decode;
    constexpr auto pre = &Ceilings::prefill;
    using D = DecodeCeilings;
    using P = PrefillCeilings;
    list.insert(
        list.end(),
        {field<dec, &D::launch>("decode.launch", "us", 2 * micro, 14 * micro,
                                "smallest call with its cache write"),
         field<dec, &D::block>("decode.block", "us", 0.1 * micro, 8 * micro, "a block outside its tiles"),
         field<dec, &D::tile16>("decode.tile16", "us", 0.05 * micro, 6 * micro, "128 tokens, 16-bit cache"),
         field<dec, &D::tile8>("decode.tile8", "us", 0.05 * micro, 6 * micro, "128 tokens, 8-bit cache"),
         field<dec, &D::merge>("decode.merge", "us", 0, 10 * micro, "merging splits"),
         field<dec, &D::regroup>("decode.regroup", "us", 0, 10 * micro, "reordering q and output by kv head"),
         field<dec, &D::l2_rate>("decode.l2_rate", "TB/s", 1 * tera, 20 * tera, "cache read from L2"),
         field<dec, &D::even>("decode.even", "", 0, 1, "1: tiles spread evenly over the SMs by one schedule"),
         field<dec, &D::ungrouped>("decode.ungrouped", "", 0, 1, "0: never split without grouped heads"),
         field<pre, &P::launch>("prefill.launch", "us", 2 * micro, 16 * micro,
                                "smallest call with its cache write"),
         field<pre, &P::block>("prefill.block", "us", 0.05 * micro, 8 * micro, "a block outside its tiles"),
         field<pre, &P::matrix>("prefill.matrix", "", 0.2, 1, "matrix rate of full tiles / peak"),
         field<pre, &P::chain>("prefill.chain", "", 0.3, 1,
                               "a tile alone on its SM / its share of a full SM"),
         field<pre, &P::packed>("prefill.packed", "", 0, 1, "1: heads of a group share a tile of rows"),
         field<pre, &P::append>("prefill.append", "us", 0, 6 * micro, "one block of the cache write"),
         field<pre, &P::copies_q>("prefill.copies_q", "", 0, 4, "extra passes over q"),
         field<pre, &P::copies_kv>("prefill.copies_kv", "", 0, 8, "extra passes over k and v"),
         field<pre, &P::l2_rate>("prefill.l2_rate", "TB/s", 1 * tera, 20 * tera, "operands found in L2"),
         field<dec, &D::spread>("decode.spread", "", spread_low, spread_high, spread_meaning),
         field<pre, &P::spread>("prefill.spread", "", spread_low, spread_high, spread_meaning)});
}

void add_mla(std::vector<CeilingParameter>& list) {
    constexpr auto mla = &Ceilings::mla;
    using M = MlaCeilings;
    list.insert(
        list.end(),
        {field<mla, &M::decode_host>("mla.decode_host", "us", 0, 400 * micro,
                                     "host issue of a call outside a graph"),
         field<mla, &M::host8>("mla.decode_host8", "us", 0, 100 * micro,
                               "further host issue, 8-bit cache kernels"),
         field<mla, &M::decode_launch>("mla.decode_launch", "us", 2 * micro, 150 * micro, "smallest call"),
         field<mla, &M::decode_block>("mla.decode_block", "us", 0.1 * micro, 20 * micro,
                                      "a block outside its tiles"),
         field<mla, &M::decode_tile>("mla.decode_tile", "us", 0.05 * micro, 20 * micro,
                                     "64 tokens of latent"),
         field<mla, &M::decode_heads>("mla.decode_heads", "", 1, 128, "query heads that share a block"),
         field<mla, &M::decode_splits>("mla.decode_splits", "", 0, 64, "fixed splits; 0: spread evenly"),
         field<mla, &M::decode_copies>("mla.decode_copies", "", 0, 30,
                                       "passes over absorbed q and latent output"),
         field<mla, &M::prefill_host>("mla.prefill_host", "us", 0, 400 * micro,
                                      "host issue of a call outside a graph"),
         field<mla, &M::prefill_launch>("mla.prefill_launch", "us", 2 * micro, 150 * micro, "smallest call"),
         field<mla, &M::prefill_matrix>("mla.prefill_matrix", "", 0.2, 1, "matrix rate of full tiles / peak"),
         field<mla, &M::prefill_copies>("mla.prefill_copies", "", 0, 12, "extra passes over q, k, v, output"),
         field<mla, &M::decode_spread>("mla.decode_spread", "", spread_low, spread_high, spread_meaning),
         field<mla, &M::prefill_spread>("mla.prefill_spread", "", spread_low, spread_high, spread_meaning)});
}

void add_collective(std::vector<CeilingParameter>& list) {
    constexpr auto net = &Ceilings::collective;
    using C = CollectiveCeilings;
    list.insert(
        list.end(),
        {field<net, &C::base>("collective.base", "us", 1 * micro, 15 * micro, "first step, low latency"),
         field<net, &C::hop>("collective.hop", "us", 0.1 * micro, 5 * micro, "each further step"),
         field<net, &C::low_latency>("collective.low_latency", "", 0.05, 0.6,
                                     "low-latency protocol / link rate"),
         field<net, &C::bulk>("collective.bulk", "us", 1 * micro, 80 * micro,
                              "bandwidth protocol before its first byte"),
         field<net, &C::ring>("collective.ring", "", 0.3, 1, "ring algorithms / link rate"),
         field<net, &C::in_switch>("collective.in_switch", "", 0, 1, "all-reduce in the switch / link rate"),
         field<net, &C::pairs>("collective.pairs", "", 0.3, 1, "all to all / link rate"),
         field<net, &C::one_shot>("collective.one_shot", "us", 1 * micro, 40 * micro,
                                  "smallest engine all-reduce"),
         field<net, &C::spread>("collective.spread", "", spread_low, spread_high, spread_meaning)});
}

/// What instructions take, in a pipeline that fills or a protocol that polls, is clocks. A tile of decode
/// attention waits for its SM's share of the memory; what an SM takes in comes through its port to L2, so
/// many bytes a clock. A launch is the host's and the front end's, a block begins with loads whose latency is
/// the memory's own: both stay. Shares of a peak stay.
Carries carries(std::string_view name) {
    if (name.starts_with("bundled.")) return Carries::as_it_is;  // calibrate replaces them
    for (const char* leaf : {".even", ".ungrouped", ".packed", ".decode_heads", ".decode_splits"})
        if (name.ends_with(leaf)) return Carries::kernel_choice;
    for (const char* leaf :
         {".fill", ".quantise_chain", "collective.base", "collective.hop", "collective.bulk"})
        if (name.ends_with(leaf)) return Carries::cycles;
    if (name.ends_with("l2_rate") || name.ends_with("split_rate")) return Carries::l2_rate;
    if (name.ends_with("tile_load")) return Carries::sm_rate;
    for (const char* leaf : {".tile16", ".tile8", ".decode_tile"})
        if (name.ends_with(leaf)) return Carries::memory_share;
    return Carries::as_it_is;
}

std::vector<CeilingParameter> build() {
    std::vector<CeilingParameter> list;
    list.push_back({"memory", "", 0.5, 1, "reachable share of the memory bandwidth",
                    [](const Ceilings& c) { return c.memory; }, [](Ceilings& c, double v) { c.memory = v; }});
    add_product<0>(list, "half");
    add_product<1>(list, "fp8");
    add_product<2>(list, "fp8_block");
    add_product<3>(list, "weight_only");
    add_attention(list);
    add_mla(list);
    add_experts<0>(list, "half");
    add_experts<1>(list, "fp8");
    add_experts<2>(list, "fp8_block");
    add_experts<3>(list, "weight_only");
    list.push_back(field<&Ceilings::stream, &StreamCeilings::launch>(
        "stream.launch", "us", 0.2 * micro, 6 * micro, "small kernel inside a graph"));
    list.push_back(field<&Ceilings::stream, &StreamCeilings::issue>(
        "stream.issue", "us", 1 * micro, 30 * micro, "kernel to kernel, issued by the host"));
    list.push_back(field<&Ceilings::stream, &StreamCeilings::spread>("stream.spread", "", spread_low,
                                                                     spread_high, spread_meaning));
    add_collective(list);
    add_bundled(list);
    for (CeilingParameter& p : list) p.carries = carries(p.name);
    return list;
}

}  // namespace

std::span<const CeilingParameter> ceiling_parameters() {
    static const std::vector<CeilingParameter> list = build();
    return list;
}

double carried(const CeilingParameter& p, double value, const Peaks& from, const Peaks& to) {
    const double clocks = to.clock / from.clock, sms = static_cast<double>(to.sms) / from.sms;
    const auto within = [&](double v) { return std::clamp(v, p.low, p.high); };
    switch (p.carries) {
        case Carries::as_it_is:
        case Carries::kernel_choice:
            return value;
        case Carries::cycles:
            return within(value / clocks);
        case Carries::sm_rate:
            // A device of few wide cores feeds each with more than its share of the memory.
            if (sms < 0.25) return within(std::max(value * clocks, 1.5 * to.memory.base() / to.sms));
            return within(value * clocks);
        case Carries::l2_rate:
            return within(value * clocks * sms);
        case Carries::memory_share:
            return within(value * sms / (to.memory / from.memory));
    }
    return value;
}

const CeilingParameter* find_ceiling(std::string_view name) {
    const auto list = ceiling_parameters();
    const auto at = std::find_if(list.begin(), list.end(), [&](const auto& p) { return p.name == name; });
    return at == list.end() ? nullptr : &*at;
}

}  // namespace headroom
