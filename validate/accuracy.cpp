// SPDX-License-Identifier: Apache-2.0
#include "validate/accuracy.h"

#include "io/map_reader.h"
#include "validate/accuracy_parts.h"
#include "validate/ceilings_fit.h"
#include "validate/engine_fit.h"
#include "validate/kernel_files.h"
#include "validate/measured_json.h"
#include "validate/simulated_runs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

namespace headroom {
namespace {

struct DeviceTables {
    std::vector<KernelCase> cases;
    int refused = 0;
};

/// By device profile; files in order, so that the halves are those of `fit`.
std::map<std::string, DeviceTables> device_tables(const std::vector<std::string>& paths,
                                                  const Profiles& profiles) {
    std::map<std::string, DeviceTables> devices;
    for (const std::string& file : files_below(paths, {".csv"})) {
        if (!file.ends_with(".csv")) continue;  // named itself
        const CsvTable table = parse_csv(read_file(file), file);
        auto cases = kernel_cases(table, file);
        if (!cases || cases->empty()) continue;
        const auto column = static_cast<std::size_t>(table.column("device"));
        const std::string name = device_profile(table.rows[0][column], file);
        const Peaks peaks = profiles.hardware(name).reach.peaks;
        DeviceTables& device = devices[name];
        for (KernelCase& c : *cases) {
            if (c.measured < floor_time(c.shape, peaks))
                ++device.refused;
            else
                device.cases.push_back(std::move(c));
        }
    }
    return devices;
}

std::map<std::string, std::vector<KernelCase>> groups_of(const std::vector<KernelCase>& cases) {
    std::map<std::string, std::vector<KernelCase>> groups;
    for (const KernelCase& c : cases) groups[c.group].push_back(c);
    return groups;
}

double inside(const std::vector<double>& errors, double spread) {
    const auto held = std::count_if(errors.begin(), errors.end(),
                                    [&](double e) { return std::abs(std::log1p(e)) <= std::log(spread); });
    return errors.empty() ? 0 : static_cast<double>(held) / static_cast<double>(errors.size());
}

std::string kernel_part(const std::map<std::string, DeviceTables>& devices, const Profiles& profiles) {
    std::string text =
        "## Kernels\n\nPublished one-layer tables (vLLM 0.14.0, NCCL). Each group was fitted on a random "
        "half of "
        "its rows; the errors are of the other half. `interval` is the printed factor either way.\n";
    for (const auto& [name, device] : devices) {
        const Ceilings reach = profiles.hardware(name).reach;
        text += fmt::format(
            "\n### {}\n\n{} rows faster than the floor were refused.\n\n| group | {} | in interval | "
            "interval |\n| --- | {} | ---: | ---: |\n",
            name, device.refused, kErrorHead, kErrorRule);
        for (const auto& [group, cases] : groups_of(device.cases)) {
            std::vector<bool> unseen = random_half(static_cast<int>(cases.size()), 0);
            unseen.flip();
            const std::vector<double> errors = errors_of(cases, unseen, reach);
            const double spread = find_ceiling(spread_parameter(group))->get(reach);
            text += fmt::format("| {} | {} | {} | x{:.2f} |\n", group, error_cells(summarise(errors)),
                                percent_of(inside(errors, spread)), spread);
        }
    }
    if (devices.size() < 2) return text;
    text += fmt::format(
        "\n### A device left out\n\nThe parameters of one device on the rows of another, with that one's "
        "datasheet peaks, the kernels that the software is known to choose there (FlashAttention 2 or 3), "
        "and "
        "clocks for latencies: what an unmeasured device is worth. Where it runs another kernel, the row is "
        "marked. "
        "Profiles without a fit of their own carry intervals of this width.\n\n| parameters of | rows of | "
        "group | {} |\n| --- | --- | --- | {} |\n",
        kErrorHead, kErrorRule);
    for (const auto& [from, unused] : devices) {
        for (const auto& [name, device] : devices) {
            if (from == name) continue;
            const Ceilings reach = moved_to(profiles.hardware(from).reach, profiles.hardware(name).reach);
            const auto fitted = groups_of(devices.at(from).cases);
            for (const auto& [group, cases] : groups_of(device.cases)) {
                const auto own = fitted.find(group);
                if (own == fitted.end()) continue;
                text += fmt::format("| {} | {} | {}{} | {} |\n", from, name, group,
                                    share_kernel(own->second, cases) ? "" : " (another kernel)",
                                    error_cells(summarise(errors_of(cases, {}, reach))));
            }
        }
    }
    return text;
}

std::string served_part(const std::vector<std::string>& paths, const Profiles& profiles) {
    std::string text;
    for (const std::string& file : files_below(paths, {".csv"})) {
        if (!file.ends_with(".csv")) continue;  // named itself
        const auto runs = serving_runs(parse_csv(read_file(file), file), file);
        if (!runs) continue;
        std::set<std::string> engines;
        for (const ServingRun& run : *runs) engines.insert(run.engine);
        UnseenErrors other_model, other_device;
        const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
            to.insert(to.end(), from.begin(), from.end());
        };
        const auto add = [&](const std::string& engine, const char* what, const char* split,
                             const ErrorSummary& e) {
            if (e.rows > 0)
                text += fmt::format("| {} | {} | {} | {} |\n", engine, what, split, error_cells(e));
        };
        for (const std::string& engine : engines) {
            const EngineFitAnswer fit = fit_engine(engine, *runs, profiles);
            add(engine, "TPOT", "fitted rows", fit.tpot);
            add(engine, "TPOT", "model left out", fit.tpot_other_model);
            add(engine, "TPOT", "device left out", fit.tpot_other_device);
            add(engine, "TTFT", "fitted rows", fit.ttft);
            add(engine, "TTFT", "model left out", fit.ttft_other_model);
            add(engine, "TTFT", "device left out", fit.ttft_other_device);
            append(other_model.tpot, fit.other_model.tpot);
            append(other_model.ttft, fit.other_model.ttft);
            append(other_device.tpot, fit.other_device.tpot);
            append(other_device.ttft, fit.other_device.ttft);
        }
        add("all", "TPOT", "model left out", summarise(other_model.tpot));
        add("all", "TPOT", "device left out", summarise(other_device.tpot));
        add("all", "TTFT", "model left out", summarise(other_model.ttft));
        add("all", "TTFT", "device left out", summarise(other_device.ttft));
    }
    if (text.empty()) return "";
    return fmt::format(
               "## Served runs\n\nConstant concurrency, co-located. Three host times and an overlap per "
               "engine were fitted to TPOT, three figures to TTFT, with the other engines' pooled times as "
               "centre; "
               "kernels were "
               "not touched.\n\n| engine | what | "
               "split | {} |\n| --- | --- | --- | {} |\n",
               kErrorHead, kErrorRule) +
           text;
}

// The event simulator on the same runs: what `simulate` and the winner of a plan say of them.
std::string simulated_part(const std::vector<std::string>& paths, const Profiles& profiles) {
    constexpr int kEvery = 4;
    struct Errors {
        std::vector<double> tpot, ttft, rate, steady;
    };
    std::map<std::string, Errors> engines;
    for (const std::string& file : files_below(paths, {".csv"})) {
        if (!file.ends_with(".csv")) continue;  // named itself
        const auto runs = serving_runs(parse_csv(read_file(file), file), file);
        if (!runs) continue;
        for (const SimulatedRun& s : simulated_runs(*runs, profiles, kEvery)) {
            Errors& e = engines[s.run->engine];
            e.tpot.push_back(s.tpot / s.run->tpot - 1);
            e.ttft.push_back(s.ttft / s.run->ttft - 1);
            e.rate.push_back(s.tokens_per_s / s.measured_tokens_per_s - 1);
            e.steady.push_back(s.steady_tpot / s.tpot - 1);
        }
    }
    if (engines.empty()) return "";
    std::string text = fmt::format(
        "\n## The simulator on served runs\n\nEvery {}th counted run, request by request at its concurrency: "
        "as many clients, each with its recipe's requests, outputs within a tenth of the stated length. "
        "`plan` searches "
        "with the steady state and runs its winner in this simulator.\n\n| engine | what | {} |\n| --- | --- "
        "| {} |\n",
        kEvery, kErrorHead, kErrorRule);
    for (const auto& [engine, e] : engines) {
        for (const auto& [what, errors] : {std::pair{"TPOT", &e.tpot},
                                           {"TTFT", &e.ttft},
                                           {"tokens/s", &e.rate},
                                           {"TPOT, steady state over simulator", &e.steady}})
            text += fmt::format("| {} | {} | {} |\n", engine, what, error_cells(summarise(*errors)));
    }
    return text;
}

/// The kernels in kernels/: recordings of our own, so the one part that others did not measure.
std::string bundled_part(const ValidateAnswer& answer) {
    std::string rows;
    std::map<std::string, std::pair<std::vector<double>, int>> all;  // by device: errors, and those inside
    for (const CaseSummary& s : answer.groups) {
        const auto at = s.group.find(kBundledMark);
        if (at == std::string::npos || s.errors.rows == 0) continue;
        rows += fmt::format("| {} | {} | {} | x{:.2f} | {} |\n", s.group, error_cells(s.errors),
                            percent_of(s.inside_interval), s.median_width, s.below_floor);
    }
    if (rows.empty()) return "";
    for (const MeasuredCase& c : answer.cases) {
        if (c.group.find(kBundledMark) == std::string::npos || !c.refused.empty() || !c.not_counted.empty())
            continue;
        auto& [errors, inside] = all[c.group.substr(0, c.group.find(kBundledMark))];
        errors.push_back(c.error);
        if (c.measured >= c.predicted.low && c.measured <= c.predicted.high) ++inside;
    }
    for (auto& [device, found] : all) {
        auto& [errors, inside] = found;
        const double share = inside / static_cast<double>(errors.size());
        rows += fmt::format("| {} all | {} | {} | | |\n", device, error_cells(summarise(errors)),
                            percent_of(share));
    }
    return fmt::format(
               "\n## The kernels in kernels/\n\nOur own recordings (`validate/measured/`) of two devices. "
               "The "
               "profile's `bundled.*` values are fitted to the calibration shapes of `a`; those are not "
               "counted "
               "here. Softmax and the standard form have no parameter of their own. Before, `calibrate` and "
               "then "
               "`validate` ran on one device, its shapes of a draw that no form ([kernels](kernels.md)) had "
               "been "
               "tried on: 4.1 % mean, 13.0 % for 95 %, over 248 shapes. The forms are unchanged since.\n\n"
               "| group | {} | in interval | interval | refused |\n| --- | {} | ---: | ---: | ---: |\n",
               kErrorHead, kErrorRule) +
           rows;
}

std::string case_part(const ValidateAnswer& answer) {
    std::string text = fmt::format(
        "\n## Served runs by engine and model, with the profiles as shipped\n\n| group | {} | in interval | "
        "interval | refused |\n| --- | {} | ---: | ---: | ---: |\n",
        kErrorHead, kErrorRule);
    for (const CaseSummary& s : answer.groups) {
        if (s.group.find("TPOT") == std::string::npos && s.group.find("TTFT") == std::string::npos) continue;
        text += fmt::format("| {} | {} | {} | x{:.2f} | {} |\n", s.group, error_cells(s.errors),
                            percent_of(s.inside_interval), s.median_width, s.below_floor);
    }
    std::map<std::string, int> reasons;
    for (const MeasuredCase& c : answer.cases) {
        const std::string& reason = c.refused.empty() ? c.not_counted : c.refused;
        if (!reason.empty())
            ++reasons[reason.starts_with("the same run") ? "the same run is listed twice" : reason];
    }
    text += "\nFigures that are not counted, and why:\n\n";
    for (const auto& [reason, count] : reasons) text += fmt::format("- {}: {}\n", count, reason);
    return text;
}

constexpr const char* kChosen =
    "\n## What was chosen on all rows\n\n"
    "Errors above are of unseen rows where the split says so, but some choices were made while looking at "
    "all of them:\n\n"
    "- the form of the kernel models (tile shapes, the overlap of compute and memory, shares of L2 that a "
    "repeated call keeps), and how the\n"
    "  tables' columns are read (`validate/kernel_cases.h`);\n"
    "- what of a fit carries over to another device, and how (clocks, bytes per clock, share of memory);\n"
    "- the form of the host's part of a step, and which engine profile a run belongs to by its version;\n"
    "- that the launch of an attention call on a compressed latent shrinks inside a graph as a small "
    "kernel's does;\n"
    "- the KV format of runs by the scripts of the benchmark that made them (their rows do not say it; "
    "scripts "
    "by their names, at a later date), the exponent 0.4\n"
    "  of skewed routing (from vLLM 0.19's runs of gpt-oss-120b, flat from 0.1 to 0.8; errors of other "
    "engines "
    "in view), which\n"
    "  engines quantise in a kernel of its own (by their sources) and that it takes 2.3 us, and the bounds "
    "of a "
    "prompt's host time (5 ms, before 20);\n"
    "- that one request waits for a slot in TensorRT-LLM's 1.0.0rc3 rows and does not decode, and how many "
    "requests a client "
    "sends where that is not public: ten, and five in SGLang's Llama-3.1-8B rows;\n"
    "- which public recipe a row belongs to and what of it is counted (`validate/served_recipes.h`), and "
    "the form of "
    "what a prompt's step takes beyond its kernels (a factor, and a least time per expert layer);\n"
    "- the rates above which TTFT of aiconfigurator's own runs is not counted, 8,000 tokens/s (TensorRT-LLM "
    "1.0.0rc3) and 12,000 (SGLang), as seen in these rows: from there on it is up to twenty times what any "
    "queue of the engine explains;\n"
    "- that outputs vary by a tenth either way when the simulator runs them (equal ones would stay in step: "
    "TTFT "
    "came out at twice the measured one);\n"
    "- which series of runs is not believed (a tenth of it beats the floor) and which runs are mostly "
    "waiting;\n"
    "- the memory accounting of vLLM 0.19 and 0.10: its two activation factors and runtime bytes come from "
    "the same kind of logs as the\n"
    "  rows that they are compared with;\n"
    "- how experts are padded on Hopper: from the kernels' sources, but which of their layouts a version "
    "has, "
    "and that scales are "
    "held twice, with the two start-up logs of gpt-oss in view;\n"
    "- that a disaggregated row's interval reaches to four decoding workers and a factor of 1.41 beyond;\n"
    "- that a start whose activation peak is twice or half what its limits explain had other limits, and is "
    "not "
    "counted;\n"
    "- the form of llama.cpp's law.\n\n"
    "## What is missed\n\n"
    "- Disaggregated runs: the rows do not say over how many decoding workers the concurrency spreads; one "
    "is assumed, and the error is that of\n"
    "  the assumption.\n"
    "  Nor whether tokens were guessed: rows that agree in every stated column differ by up to a factor of "
    "two.\n"
    "- A model that an engine was not fitted to: host times that the remaining runs do not determine stay "
    "near those of other engines.\n"
    "- TTFT of runs whose front end or client does not follow (above): it grows with the output, as if up to "
    "a "
    "quarter of the requests waited outside the engine. The rows say nothing of either.\n"
    "- TensorRT-LLM's 1.1.0rc2 rows of DeepSeek-R1 start 0.3 s and more later than others of the model.\n"
    "- The simulator has the recipes and what a prompt's own steps take, but no one waits for those: its "
    "TTFT "
    "of bursts is low.\n"
    "- TensorRT-LLM with expert parallelism runs experts faster than the tables of vLLM's kernels, from "
    "which the device's ceilings come:\n"
    "  DeepSeek-R1 up to 60 % too slow. Its rows disagree by more than that (64 clients: 19 and 32 ms), and "
    "it is "
    "faster with long outputs than with short ones.\n"
    "- vLLM 0.10 over an 8-bit cache attends about a quarter slower than the tables of 0.14; with 32 clients "
    "on up "
    "to 4 GPUs a step takes 2 to 6 ms more\n"
    "  than with 16 or 64 would suggest.\n";

}  // namespace

std::string accuracy_report(const std::vector<std::string>& paths, const Profiles& profiles) {
    const ValidateAnswer answer = compare(paths, profiles);
    return "# Accuracy\n\nGenerated by `headroom validate --measured DIR validate/measured --accuracy "
           "docs/accuracy.md` from measurements that others made, and a part of our own. "
           "An error is predicted over measured less 1; `bias` is its median.\n\n"
           "Others publish, for comparison: 20 to 25 % median error of the gap between tokens, 12 % of TTFT, "
           "20 to 60 % end to end; 6.7 % mean error of KV tokens.\n\n" +
           kernel_part(device_tables(paths, profiles), profiles) + "\n" + served_part(paths, profiles) +
           simulated_part(paths, profiles) + bundled_part(answer) + case_part(answer) + rates_part(answer) +
           memory_part(answer) + kChosen;
}

}  // namespace headroom
