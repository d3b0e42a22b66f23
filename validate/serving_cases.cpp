// SPDX-License-Identifier: Apache-2.0
#include "validate/serving_cases.h"

#include "base/diagnostic.h"
#include "base/units.h"
#include "memory/ledger.h"
#include "ops/tensor.h"
#include "serving/steady.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

namespace headroom {
namespace {

struct Cells {
    const CsvTable& table;
    std::size_t row;
    const std::string& file;

    const std::string& text(std::string_view name) const {
        static const std::string none;
        const int at = table.column(name);
        return at < 0 ? none : table.rows[row][static_cast<std::size_t>(at)];
    }
    double number(std::string_view name) const {
        const auto parsed = parse_number(text(name));
        if (const double* value = std::get_if<double>(&parsed)) return *value;
        throw InputError({Diagnostic{{file, table.lines[row], table.column(name) + 1},
                                     std::string(name),
                                     "'" + text(name) + "' is not a number",
                                     ""}});
    }
};

/// The number after `key` in `text` ("..._tp8_0_ep1_..."), or `otherwise`.
int number_after(const std::string& text, const std::string& key, int otherwise) {
    const auto at = text.rfind(key);
    if (at == std::string::npos) return otherwise;
    std::size_t end = at + key.size();
    int value = 0;
    for (; end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0; ++end)
        value = 10 * value + (text[end] - '0');
    return value > 0 ? value : otherwise;
}

void set_formats(ServingRun& run, const std::string& gemm) {
    // These two have quantised checkpoints of their own; the config says how.
    if (run.model == "gpt-oss-120b" || run.model == "deepseek-r1") return;
    if (gemm == "fp8") run.weights = "fp8";
    if (gemm == "fp8_block") run.weights = "fp8-block128";
}

ServingRun run_of(const Cells& row) {
    ServingRun run;
    run.id = row.text("id");
    run.engine = row.text("backend");
    run.version = row.text("backend_version");
    run.model = catalogue_name(row.text("model_path"));
    run.hardware = row.text("system") == "h200_sxm"   ? "h200"
                   : row.text("system") == "h100_sxm" ? "h100-sxm"
                                                      : row.text("system");
    run.disaggregated = row.text("mode") == "disagg";
    run.input = row.number("isl");
    run.output = row.number("osl");
    run.concurrency = number_after(row.text("silicon_data_source"), "silicon_concurrency=", 1);
    set_formats(run, row.text("gemm_quant_mode"));
    const int tp = number_after(run.id, "_tp", 1);
    const bool ranks = row.text("attention_dp_size") != "" && row.number("attention_dp_size") > 1;
    run.deployment.tp = ranks ? 1 : tp;
    run.deployment.dp = ranks ? tp : 1;
    run.deployment.ep = number_after(run.id, "_ep", 1);
    run.ttft = row.number("silicon_ttft_ms") * ms;
    run.tpot = row.number("silicon_tpot_ms") * ms;
    run.line = row.table.lines[row.row];
    return run;
}

}  // namespace

std::string catalogue_name(const std::string& path) {
    std::string name = path.substr(path.find('/') == std::string::npos ? 0 : path.find('/') + 1);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const std::string ending : {"-fp8", "-instruct"}) {
        if (name.ends_with(ending)) name.resize(name.size() - ending.size());
    }
    return name;
}

std::optional<std::vector<ServingRun>> serving_runs(const CsvTable& table, const std::string& file) {
    for (const char* name :
         {"backend", "model_path", "system", "isl", "osl", "silicon_ttft_ms", "silicon_tpot_ms"}) {
        if (table.column(name) < 0) return std::nullopt;
    }
    std::vector<ServingRun> runs;
    for (std::size_t i = 0; i < table.rows.size(); ++i) runs.push_back(run_of({table, i, file}));
    return runs;
}

Model served_model(const ServingRun& run, Model model) {
    if (!run.weights.empty())
        model = with_weight_format(std::move(model), *storage_format(run.weights), false);
    if (!run.kv.empty()) model.kv_format = storage_format(run.kv);
    return model;
}

ServingTimes serving_times(const ServingRun& run, const Model& model, const Hardware& hardware,
                           const Engine& engine) {
    const Shard parts = shard(served_model(run, model), run.deployment);
    Load load;
    load.input = run.input;
    load.output = run.output;
    load.context = run.input + run.output / 2;
    ServingTimes t;
    const double most =
        static_cast<double>(capacity(parts, hardware, engine, run.input + run.output).max_sequences);
    t.saturated = run.concurrency > most;
    const double batch = std::max(1.0, std::min(run.concurrency, most));
    t.tpot = mean_iteration(parts, hardware, engine, load, batch).time;
    t.ttft = prompt_time(parts, hardware, engine, load, batch, run.input);
    return t;
}

void add_serving(ValidateAnswer& answer, const std::vector<ServingRun>& runs, const std::string& file,
                 const Profiles& profiles) {
    std::map<std::string, Model> models;
    std::map<std::string, Hardware> devices;
    std::map<std::string, Engine> engines;
    for (const ServingRun& run : runs) {
        if (models.count(run.model) == 0) models.emplace(run.model, profiles.model(run.model));
        if (devices.count(run.hardware) == 0) devices.emplace(run.hardware, profiles.hardware(run.hardware));
        if (engines.count(run.engine) == 0) engines.emplace(run.engine, profiles.engine(run.engine));
        const ServingTimes t =
            serving_times(run, models.at(run.model), devices.at(run.hardware), engines.at(run.engine));
        const std::string where = fmt::format("{}:{}", file, run.line);
        const std::string mode = run.disaggregated ? " disaggregated" : "";
        const auto add = [&](const char* what, const TimeEstimate& predicted, Seconds measured) {
            MeasuredCase c;
            c.name = run.id;
            c.group = run.engine + mode + " " + what;
            c.where = where;
            c.predicted = predicted;
            c.measured = measured;
            c.error = predicted.expected / measured - 1;
            answer.cases.push_back(std::move(c));
        };
        add("TPOT", t.tpot, run.tpot);
        add("TTFT", t.ttft, run.ttft);
    }
}

}  // namespace headroom
