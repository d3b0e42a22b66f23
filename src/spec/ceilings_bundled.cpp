// SPDX-License-Identifier: Apache-2.0
#include "spec/ceiling_fields.h"

#include <string>

namespace headroom::ceiling_fields {
namespace {

using B = BundledCeilings;

template <auto... Path>
CeilingParameter entry(const std::string& name, std::string_view unit, double low, double high,
                       std::string_view meaning) {
    return field<&Ceilings::bundled, Path...>("bundled." + name, unit, low, high, meaning);
}

template <auto Part>
void add_transfer(std::vector<CeilingParameter>& list, const std::string& name) {
    using T = BundledTransfer;
    list.insert(list.end(),
                {entry<Part, &T::launch>(name + ".launch", "us", 0, 10 * micro, "smallest transfer"),
                 entry<Part, &T::memory>(name + ".memory", "", 0.4, 1, "share of the memory bandwidth"),
                 entry<Part, &T::spread>(name + ".spread", "", spread_low, spread_high, spread_meaning)});
}

template <auto Part>
void add_library(std::vector<CeilingParameter>& list, const std::string& name) {
    using P = ProductCeilings;
    constexpr auto tile = &BundledLibrary::tile;
    list.insert(
        list.end(),
        {entry<Part, tile, &P::launch>(name + ".launch", "us", 1 * micro, 6 * micro, "smallest product"),
         entry<Part, tile, &P::fill>(name + ".fill", "us", 0, 5 * micro, "fill and drain of one block"),
         entry<Part, tile, &P::matrix>(name + ".matrix", "", 0.3, 1, "matrix rate of a running tile / peak"),
         entry<Part, tile, &P::tile_load>(name + ".tile_load", "GB/s", 5 * giga, 400 * giga,
                                          "operands that one SM takes in"),
         entry<Part, tile, &P::split>(name + ".split", "us", 0, 6 * micro, "cost of splitting k"),
         entry<Part, tile, &P::split_rate>(name + ".split_rate", "TB/s", 0.2 * tera, 20 * tera,
                                           "partial sums written and read back"),
         entry<Part, &BundledLibrary::sustained>(name + ".sustained", "", 0.2, 1,
                                                 "matrix rate that the power limit lets last / peak")});
}

void add_decode(std::vector<CeilingParameter>& list) {
    constexpr auto part = &B::decode;
    using D = BundledDecode;
    list.insert(
        list.end(),
        {entry<part, &D::launch>("decode.launch", "us", 0.1 * micro, 10 * micro, "kernel launch"),
         entry<part, &D::start>("decode.start", "us", 0.05 * micro, 10 * micro, "a block around its tokens"),
         entry<part, &D::row>("decode.row", "us", 0, 1 * micro, "a query head of a warp around its tokens"),
         entry<part, &D::latency>("decode.latency", "us", 0.3 * micro, 6 * micro, "asking to having tokens"),
         entry<part, &D::chain>("decode.chain", "us", 0, 3 * micro, "arithmetic of 64 tokens, few heads"),
         entry<part, &D::narrow>("decode.narrow", "us", 0, 5 * micro, "the same, 128-wide heads, up to 16"),
         entry<part, &D::wide>("decode.wide", "us", 0, 8 * micro, "the same, 128-wide heads, over 16"),
         entry<part, &D::sm>("decode.sm", "GB/s", 5 * giga, 200 * giga, "what one SM takes in"),
         entry<part, &D::memory>("decode.memory", "", 0.4, 1, "share of the memory bandwidth"),
         entry<part, &D::page>("decode.page", "", 0, 0.2, "loss by pages of 16 tokens"),
         entry<part, &D::jitter>("decode.jitter", "", 0.001, 0.4, "how unequal equal blocks are"),
         entry<part, &D::merge>("decode.merge", "us", 0, 10 * micro, "the kernel that merges parts"),
         entry<part, &D::trip>("decode.trip", "us", 0, 3 * micro, "each of its loads in turn"),
         entry<part, &D::part_rate>("decode.part_rate", "TB/s", 0.1 * tera, 20 * tera, "all its parts"),
         entry<part, &D::spread>("decode.spread", "", spread_low, spread_high, spread_meaning)});
}

void add_flash(std::vector<CeilingParameter>& list) {
    constexpr auto part = &B::flash;
    using F = BundledFlash;
    list.insert(
        list.end(),
        {entry<part, &F::launch>("flash.launch", "us", 0.1 * micro, 20 * micro, "kernel launch"),
         entry<part, &F::start>("flash.start", "us", 0, 10 * micro, "a block around its tiles"),
         entry<part, &F::matrix64>("flash.matrix64", "", 0.05, 1, "SM's rate / peak, 64-wide heads"),
         entry<part, &F::matrix128>("flash.matrix128", "", 0.05, 1, "SM's rate / peak, 128-wide heads"),
         entry<part, &F::matrix256>("flash.matrix256", "", 0.05, 1, "SM's rate / peak, 256-wide heads"),
         entry<part, &F::alone>("flash.alone", "", 0.5, 1, "rate of a block alone / its SM's"),
         entry<part, &F::jitter>("flash.jitter", "", 0.001, 0.2, "how unequal equal blocks are"),
         entry<part, &F::diagonal>("flash.diagonal", "", 0, 10, "masking, in tiles per block"),
         entry<part, &F::causal>("flash.causal", "", 0.8, 2, "tile of the causal kernel / full"),
         entry<part, &F::spread>("flash.spread", "", spread_low, spread_high, spread_meaning)});
}

void add_stream(std::vector<CeilingParameter>& list) {
    constexpr auto part = &B::stream;
    using S = BundledStream;
    list.insert(
        list.end(),
        {entry<part, &S::launch>("stream.launch", "us", 0.1 * micro, 10 * micro, "kernel launch"),
         entry<part, &S::start>("stream.start", "us", 0.05 * micro, 10 * micro, "a block around its steps"),
         entry<part, &S::latency>("stream.latency", "us", 0.3 * micro, 6 * micro, "asking to having bytes"),
         entry<part, &S::step>("stream.step", "us", 0, 5 * micro, "arithmetic of a step, 8 rows"),
         entry<part, &S::sm>("stream.sm", "GB/s", 5 * giga, 200 * giga, "what one SM takes in"),
         entry<part, &S::memory>("stream.memory", "", 0.4, 1, "share of the memory bandwidth"),
         entry<part, &S::l2>("stream.l2", "TB/s", 0.5 * tera, 60 * tera, "rows that blocks read again"),
         entry<part, &S::merge>("stream.merge", "us", 0, 10 * micro, "summing splits in the last block"),
         entry<part, &S::merge_rate>("stream.merge_rate", "GB/s", 1 * giga, 2000 * giga, "which reads them"),
         entry<part, &S::spread>("stream.spread", "", spread_low, spread_high, spread_meaning)});
}

}  // namespace

void add_bundled(std::vector<CeilingParameter>& list) {
    add_transfer<&B::read>(list, "read");
    add_transfer<&B::write>(list, "write");
    add_transfer<&B::copy>(list, "copy");
    add_decode(list);
    add_flash(list);
    add_stream(list);
    add_library<&B::half>(list, "half");
    add_library<&B::fp8>(list, "fp8");
}

}  // namespace headroom::ceiling_fields
