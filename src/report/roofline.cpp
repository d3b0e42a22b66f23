// SPDX-License-Identifier: Apache-2.0
#include "report/roofline.h"

#include "base/units.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace headroom {
namespace {

double intensity(const RooflineRow& row) {
    const Bytes bytes =
        compulsory_bytes(row.work) > Bytes{} ? compulsory_bytes(row.work) : row.work.activations;
    return bytes > Bytes{} ? (row.work.flop / bytes).base() : 0;
}

// Attainable rate over intensity, both logarithmic; letters stand where the operators are on the roof.
std::string chart(const RooflineAnswer& a) {
    constexpr int kWidth = 72, kHeight = 14;
    const double ridge = a.ridge.base();
    const double left = -1, right = std::log10(ridge) + 1.2;   // from 0.1 FLOP/B to beyond the ridge
    const double top = 0.15, bottom = -std::log10(ridge) - 1;  // log10 of the fraction of the peak
    std::vector<std::string> lines(kHeight, std::string(kWidth, ' '));
    const auto column = [&](double x) {
        return static_cast<int>(std::lround((std::log10(x) - left) / (right - left) * (kWidth - 1)));
    };
    const auto row = [&](double fraction) {
        return static_cast<int>(std::lround((top - std::log10(fraction)) / (top - bottom) * (kHeight - 1)));
    };
    const auto put = [&](int x, int y, char c) {
        if (x >= 0 && x < kWidth && y >= 0 && y < kHeight)
            lines[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] = c;
    };
    for (int x = 0; x < kWidth; ++x) {
        const double at = std::pow(10, left + (right - left) * x / (kWidth - 1));
        put(x, row(std::min(1.0, at / ridge)), at < ridge ? '/' : '-');
    }
    char letter = 'a';
    for (const RooflineRow& r : a.rows) {
        const double at = intensity(r);
        if (at > 0 && letter <= 'z') put(column(at), row(std::min(1.0, at / ridge)), letter);
        ++letter;
    }
    std::string text;
    for (std::string& line : lines) text += "  |" + line.erase(line.find_last_not_of(' ') + 1) + "\n";
    text += "  +" + std::string(kWidth, '-') + "\n";
    text += fmt::format("   0.1 FLOP/B, logarithmic, to {}; the roof bends at {} FLOP/B and {}\n",
                        format_number(std::pow(10, right), 2), format_number(ridge, 4), format(a.peak.rate));
    return text;
}

std::string text_of(const RooflineAnswer& a) {
    std::string text = heading(a.question) + "\n";
    text += fmt::format("{}, {} {} of {} tokens\n\n", a.phase, a.batch,
                        a.batch == 1 ? "sequence" : "sequences", format_count(static_cast<double>(a.tokens)));
    Table table({"", "operator", "x", "FLOP", "bytes", "FLOP/B", "floor", "expected", "share", "binds"});
    char letter = 'a';
    for (const RooflineRow& r : a.rows) {
        table.add({std::string(1, letter <= 'z' ? letter : ' '), r.name, format_number(r.count, 4),
                   format_quantity(r.work.flop.base(), {.flop = 1}, 3), format(hbm_bytes(r.work), 3),
                   format_number(intensity(r), 3), format(r.time.time.floor, 3),
                   format(r.time.time.expected, 3), percent(r.time.time.expected / a.step.time.expected),
                   bound_text(r.time.bound, floor_bound(r.time))});
        ++letter;
    }
    const Seconds operators = [&] {
        Seconds sum;
        for (const RooflineRow& r : a.rows) sum += r.time.time.expected;
        return sum;
    }();
    table.add({"", "host", "1", "0", "0 B", "0", "0 s", format(a.step.time.expected - operators, 3),
               percent((a.step.time.expected - operators) / a.step.time.expected), "overhead"});
    table.add({"", "step", "", format(a.step.work.flop, 3), format(hbm_bytes(a.step.work), 3),
               format_number((a.step.work.flop / compulsory_bytes(a.step.work)).base(), 3),
               format(a.step.time.floor, 3), format(a.step.time.expected, 3), "100 %",
               bound_text(a.step.bound, a.step.floor_bound)});
    const bool any = differs(a.step.bound, a.step.floor_bound) ||
                     std::any_of(a.rows.begin(), a.rows.end(), [](const RooflineRow& r) {
                         return differs(r.time.bound, floor_bound(r.time));
                     });
    return text + table.to_string() + bound_note(any) + "\n" + chart(a);
}

}  // namespace

Report report(const RooflineAnswer& a) {
    Report r;
    r.json = envelope("roofline", a.question);
    r.json["inputs"]["phase"] = a.phase;
    r.json["inputs"]["batch"] = a.batch;
    r.json["inputs"]["tokens"] = a.tokens;
    r.json["ridge_flop_per_byte"] = a.ridge.base();
    r.json["peak_flop_per_s"] = a.peak.rate.base();
    r.json["operators"] = Json::array();
    for (const RooflineRow& row : a.rows) {
        Json j = {{"name", row.name}, {"count", row.count}, {"flop", row.work.flop.in(flop)}};
        j["weight_bytes"] = row.work.weights.in(byte);
        j["kv_bytes"] = (row.work.kv + row.work.kv_written).in(byte);
        j["activation_bytes"] = row.work.activations.in(byte);
        j["intensity_flop_per_byte"] = intensity(row);
        put_times(j, row.time.time);
        j["bound"] = to_string(row.time.bound);
        j["floor_bound"] = to_string(floor_bound(row.time));
        j["compute"] = to_string(row.compute);
        r.json["operators"].push_back(std::move(j));
    }
    Json step = {{"flop", a.step.work.flop.in(flop)}, {"hbm_bytes", hbm_bytes(a.step.work).in(byte)}};
    put_times(step, a.step.time);
    step["bound"] = to_string(a.step.bound);
    step["floor_bound"] = to_string(a.step.floor_bound);
    r.json["step"] = std::move(step);
    r.rows = "operators";
    r.text = text_of(a);
    return r;
}

}  // namespace headroom
