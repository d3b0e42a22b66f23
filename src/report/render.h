// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers/question.h"
#include "perf/operator_time.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace headroom {

/// JSON keeps the order in which keys are written.
using Json = nlohmann::ordered_json;

enum class Format { table, json, csv };

/// One answer in every format; `text` is the table form. CSV is made of the JSON's list named `rows`, or is
/// one row of all there is where that is empty.
struct Report {
    Json json;
    std::string text;
    std::string rows = "results";
};
std::string render(const Report& report, Format format);

/// `{"schema": "headroom.<command>/1", "version": ..., "inputs": {...}}`.
Json envelope(const std::string& command);
Json envelope(const std::string& command, const Question& question);

/// floor_s, low_s, expected_s, high_s.
void put_times(Json& to, const TimeEstimate& time);

/// A list of flat objects as CSV: one column per key (nested keys joined by a dot), in the order of the first
/// row.
std::string csv(const Json& rows);

/// Aligned columns; text columns to the left, numbers to the right.
class Table {
  public:
    explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    std::string to_string() const;

  private:
    std::vector<std::vector<std::string>> rows_;
};

/// "llama-3-8b on 1 x h100-sxm, weights bf16, KV bf16, engine vllm".
std::string heading(const Question& question);

/// What a time binds on: "compute", or "compute (floor: memory)" where the floor is bound by another
/// resource.
std::string bound_text(Bound expected, Bound floor);
/// What such a cell means, as a line below its table; "" where there is none.
std::string bound_note(bool any_differs);
/// Whether `bound_text` names both.
bool differs(Bound expected, Bound floor);

/// "0.34 %".
std::string percent(double fraction, int significant = 3);

/// A bar of `width` characters filled to `fraction`.
std::string bar(double fraction, int width);

}  // namespace headroom
