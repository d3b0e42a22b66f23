// SPDX-License-Identifier: Apache-2.0
#include "validate/serving_cases.h"

#include "base/diagnostic.h"
#include "base/units.h"
#include "memory/ledger.h"
#include "ops/tensor.h"
#include "serving/steady.h"
#include "spec/interval.h"
#include "validate/served_recipes.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
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

/// What the scripts of the published benchmark (InferenceMAX, benchmarks/*_h200*.sh) pass and its rows do not
/// say: an 8-bit KV cache for Llama-3.1-70B, and for DeepSeek-R1 under TensorRT-LLM.
void set_kv(ServingRun& run) {
    if (run.model == "llama-3.1-70b" || (run.model == "deepseek-r1" && run.engine == "trtllm"))
        run.kv = "fp8";
}

void set_formats(ServingRun& run, const std::string& gemm) {
    // These two have quantised checkpoints of their own; the config says how.
    if (run.model == "gpt-oss-120b" || run.model == "deepseek-r1") return;
    if (gemm == "fp8") run.weights = "fp8";
    if (gemm == "fp8_block") run.weights = "fp8-block128";
}

/// vLLM's rows without a version date from late 2025 (0.11 and before).
std::string engine_profile(const std::string& backend, const std::string& version) {
    if (backend != "vllm") return backend;
    return version == "0.18.0" ? "vllm-0.19" : "vllm-0.10";
}

ServingRun run_of(const Cells& row) {
    ServingRun run;
    run.id = row.text("id");
    run.version = row.text("backend_version");
    run.engine = engine_profile(row.text("backend"), run.version);
    run.model = catalogue_name(row.text("model_path"));
    run.hardware = row.text("system") == "h200_sxm"   ? "h200"
                   : row.text("system") == "h100_sxm" ? "h100-sxm"
                                                      : row.text("system");
    run.disaggregated = row.text("mode") == "disagg";
    run.input = row.number("isl");
    run.output = row.number("osl");
    const std::string& source = row.text("silicon_data_source");
    run.concurrency = number_after(source, "silicon_concurrency=", 1);
    set_formats(run, row.text("gemm_quant_mode"));
    run.routing = kRandomTokens;
    if (source.find("wip=") != std::string::npos) set_kv(run);  // a column of that benchmark alone
    const int tp = number_after(run.id, "_tp", 1);
    const bool ranks = row.text("attention_dp_size") != "" && row.number("attention_dp_size") > 1;
    run.deployment.tp = ranks ? 1 : tp;
    run.deployment.dp = ranks ? tp : 1;
    run.deployment.ep = number_after(run.id, "_ep", 1);
    run.ttft = row.number("silicon_ttft_ms") * ms;
    run.tpot = row.number("silicon_tpot_ms") * ms;
    if (run.version == "1.0.0rc3") run.waiting = 1;
    run.line = row.table.lines[row.row];
    apply_recipe(run, row.text("silicon_data_source"));
    return run;
}

/// Why a run is shown and not counted, or "".
std::string doubt(const ServingRun& run, const ServingTimes&, std::map<std::string, int>& seen) {
    const std::string key =
        fmt::format("{} {} {} {} {} {} {} {}", run.engine, run.model, run.hardware, run.input, run.output,
                    run.concurrency, run.tpot.base(), run.ttft.base());
    const auto [at, fresh] = seen.emplace(key, run.line);
    if (!fresh) return fmt::format("the same run as line {}", at->second);
    if (run.disaggregated) return "";
    if (run.ttft > run.output * run.tpot)
        return "requests waited longer than they decoded: fewer than the stated number were decoding, by an "
               "admission limit that the row does not give";
    return "";
}

constexpr const char* kReplaced = "faster than the floor of what --hw and --engine say instead of the row";

/// What a TPOT below the floor means, most likely.
std::string floor_reason(const ServingRun& run) {
    if (run.disaggregated)
        return "faster than the floor of one decoding worker: the requests spread over several, which the "
               "row does not "
               "count, or several tokens are guessed per step";
    if (run.ttft > run.output * run.tpot)
        return "faster than the floor of the stated concurrency: most requests were waiting, not decoding";
    return "faster than the floor of the stated load: prompts were found in a prefix cache, or generation "
           "stopped early";
}

/// Decoding workers that a disaggregated row may have spread over, where it does not say.
constexpr double kMostWorkers = 4;
/// Such rows that agree in every column differ by up to a factor of two: this much either way.
const double kAlike = std::sqrt(2.0);

/// Half a step until the prompt is seen, the prompts before it, its own prefill beside the decoding batch,
/// and the time outside the steps. Before it are: of the first round, when all clients start at once, half
/// the others; later those that a queue with this utilisation holds (M/D/1). Steps that a server holds
/// prompts back for come on top.
TimeEstimate first_token(const ServingRun& run, const Shard& parts, const Hardware& hardware,
                         const Engine& engine, const Load& load, double batch, const TimeEstimate& step) {
    const TimeEstimate own = prompt_time(parts, hardware, engine, load, batch, run.input);
    const double budget = engine.scheduler.max_batched_tokens.value;
    const double together = std::max(1.0, std::floor(budget / run.input));
    const TimeEstimate many = prompt_time(parts, hardware, engine, load, 1, together * run.input);
    const double busy = many.expected / together / (run.output * step.expected / batch);
    const double rho = std::min(0.9, busy);
    const double queued = std::min(batch / 2, rho / (2 * (1 - rho)));
    const auto wait = [&](double rounds, Seconds each) {
        return ((batch - 1) / 2 / rounds + queued) / together * each;
    };
    TimeEstimate t = own;
    t += 0.5 * step;
    t += {wait(run.rounds.low, many.floor), wait(run.rounds.low, many.low),
          wait(run.rounds.expected, many.expected), wait(run.rounds.high, many.high)};
    t += (run.waiting / batch * run.output) * step;  // until the next slot is free
    t += run.held_steps * step;
    t.floor = own.floor;
    t.low += Seconds(engine.time.per_request.low);
    t.expected += Seconds(engine.time.per_request.expected);
    t.high += Seconds(engine.time.per_request.high);
    if (const auto& left_out = engine.time.first_token) {
        t.low = max(t.floor, left_out->low * t.expected);
        t.high = left_out->high * t.expected;
    }
    return t;
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
    const auto routes = [](const Layer& layer) {
        return std::holds_alternative<MixtureOfExperts>(layer.feed_forward);
    };
    const bool skewed = !(run.routing == Routing{});
    if (skewed && std::any_of(model.kinds.begin(), model.kinds.end(), routes)) model.routing = run.routing;

    if (!run.weights.empty())
        model = with_weight_format(std::move(model), *storage_format(run.weights), false);
    if (!run.kv.empty()) model.kv_format = storage_format(run.kv);
    return model;
}

Engine served_engine(const ServingRun& run, Engine engine) {
    if (run.step_tokens > 0) engine.scheduler.max_batched_tokens.value = run.step_tokens;
    return engine;
}

ServedLoad served_load(const ServingRun& run, const Model& model, const Hardware& hardware,
                       const Engine& engine) {
    ServedLoad s{shard(served_model(run, model), run.deployment), {}, 1, false};
    s.load.input = run.input;
    s.load.output = run.output;
    s.load.context = run.input + run.output / 2;
    const double most =
        static_cast<double>(capacity(s.parts, hardware, engine, run.input + run.output).max_sequences);
    s.saturated = run.concurrency > most;
    s.batch = std::max(1.0, std::min(run.concurrency - run.waiting, most));
    // A decoding pool of a disaggregated deployment never meets a prompt.
    if (run.disaggregated) s.load.output = std::numeric_limits<double>::infinity();
    return s;
}

ServingTimes serving_times(const ServingRun& run, const Model& model, const Hardware& hardware,
                           const Engine& profile) {
    const Engine engine = served_engine(run, profile);
    const ServedLoad s = served_load(run, model, hardware, engine);
    ServingTimes t;
    t.saturated = s.saturated;
    t.batch = s.batch;
    const StepTime iteration = mean_iteration(s.parts, hardware, engine, s.load, s.batch);
    t.tpot = iteration.time;
    t.follows = run.front_end <= 0 || s.batch / t.tpot.expected.base() <= run.front_end;
    t.saturated |= !t.follows;
    if (run.disaggregated) {
        const double least = std::max(1.0, s.batch / kMostWorkers);
        t.tpot.low = mean_iteration(s.parts, hardware, engine, s.load, least).time.low / kAlike;
        t.tpot.low = max(t.tpot.floor, t.tpot.low);
        t.tpot.high = kAlike * t.tpot.high;
    }
    t.ttft = first_token(run, s.parts, hardware, engine, s.load, s.batch, iteration.time);
    return t;
}

void add_serving(ValidateAnswer& answer, const std::vector<ServingRun>& runs, const std::string& file,
                 const Profiles& profiles) {
    std::map<std::string, Model> models;
    std::map<std::string, Hardware> devices;
    std::map<std::string, Engine> engines;
    std::map<std::string, int> seen;
    std::map<std::string, std::vector<std::size_t>> series;
    const bool replaced = !(profiles.forced_hardware + profiles.forced_engine).empty();
    for (const ServingRun& run : runs) {
        if (models.count(run.model) == 0) models.emplace(run.model, profiles.model(run.model));
        const std::string hardware = profiles.hardware_or(run.hardware);
        if (devices.count(hardware) == 0) devices.emplace(hardware, profiles.hardware(hardware));
        const std::string engine = profiles.engine_or(run.engine);
        if (engines.count(engine) == 0) engines.emplace(engine, profiles.engine(engine));
        const ServingTimes t =
            serving_times(run, models.at(run.model), devices.at(hardware), engines.at(engine));
        const std::string where = fmt::format("{}:{}", file, run.line);
        const std::string doubtful = doubt(run, t, seen);
        const auto add = [&](const char* what, const TimeEstimate& predicted, Seconds measured) {
            MeasuredCase c;
            c.name = run.id;
            c.group = fmt::format("{}{} {} {}", run.engine, run.disaggregated ? " disaggregated" : "",
                                  run.model, what);
            c.where = where;
            c.predicted = predicted;
            c.measured = measured;
            c.error = predicted.expected / measured - 1;
            c.not_counted = doubtful;
            if (measured < predicted.floor) c.refused = replaced ? kReplaced : floor_reason(run);
            answer.cases.push_back(std::move(c));
        };
        series[run.engine + run.version + run.model + (run.disaggregated ? "d" : "")].push_back(
            answer.cases.size());
        add("TPOT", t.tpot, run.tpot);
        add("TTFT", t.ttft, run.ttft);
        if (t.saturated || run.disaggregated)
            answer.cases.back().not_counted = t.follows ? "above saturation: prompts wait for room"
                                                        : "above saturation: the front end does not follow";
    }
    for (const auto& [name, members] : series) {
        const auto beaten = std::count_if(members.begin(), members.end(),
                                          [&](std::size_t i) { return !answer.cases[i].refused.empty(); });
        if (static_cast<double>(beaten) <= kMostBelowFloor * static_cast<double>(members.size())) continue;
        for (const std::size_t i : members) {
            for (MeasuredCase* c : {&answer.cases[i], &answer.cases[i + 1]}) {
                if (c->refused.empty())
                    c->not_counted =
                        fmt::format("{} of {} runs of this series beat the floor", beaten, members.size());
            }
        }
    }
}

}  // namespace headroom
