// SPDX-License-Identifier: Apache-2.0
#include "validate/compare.h"

#include "base/diagnostic.h"
#include "io/map_reader.h"
#include "validate/bench_cases.h"
#include "validate/ceilings_fit.h"
#include "validate/kernel_files.h"
#include "validate/measured_json.h"
#include "validate/published_rates.h"
#include "validate/serving_cases.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>

namespace headroom {
namespace {

struct DeviceName {
    const char* part;
    const char* profile;
};

/// Parts of the names that drivers print. The first that fits wins.
constexpr DeviceName kDeviceNames[] = {
    {"A100-SXM4-80GB", "a100-sxm-80gb"},
    {"A100-SXM4-40GB", "a100-sxm-40gb"},
    {"A100 80GB PCIe", "a100-pcie-80gb"},
    {"A100-PCIE-40GB", "a100-pcie-40gb"},
    {"H100 80GB HBM3", "h100-sxm"},
    {"H100 NVL", "h100-nvl"},
    {"H100 PCIe", "h100-pcie"},
    {"GH200", "gh200"},
    {"GB200", "gb200"},
    {"H200", "h200"},
    {"H20", "h20"},
    {"B200", "b200"},
    {"L40S", "l40s"},
    {"L40", "l40"},
    {"L4", "l4"},
    {"RTX PRO 6000", "rtx-pro-6000"},
    {"RTX 6000 Ada", "rtx-6000-ada"},
    {"RTX A6000", "a6000"},
    {"RTX 5090", "rtx-5090"},
    {"RTX 4090", "rtx-4090"},
    {"RTX 3090", "rtx-3090"},
    {"A10", "a10"},
    {"A30", "a30"},
    {"A40", "a40"},
    {"MI300X", "mi300x"},
    {"MI325X", "mi325x"},
    {"T4", "t4"},
    {"V100-SXM2-32GB", "v100-32gb"},
};

/// A row of a kernel table that beats the floor. The floors count compulsory bytes once and grant what L2
/// holds, so a faster row is a wrong measurement or a wrong reading of its columns.
std::string kernel_refusal(Seconds measured, Seconds floor) {
    if (measured >= floor) return "";
    if (measured < 0.5 * floor)
        return "faster than the floor by more than 2: a column means something else here, or the call did "
               "less "
               "work than its shape says";
    return "faster than the floor: part of its operands must have been in a cache, or a clock was misread";
}

void add_kernels(ValidateAnswer& answer, const std::vector<KernelCase>& cases, const std::string& file,
                 const Hardware& hardware) {
    for (const KernelCase& c : cases) {
        MeasuredCase m;
        m.name = c.name;
        m.group = hardware.name + " " + c.group;
        m.where = fmt::format("{}:{}", file, c.line);
        m.measured = c.measured;
        const double spread = find_ceiling(spread_parameter(c.group))->get(hardware.reach);
        TimeEstimate& t = m.predicted;
        t.floor = floor_time(c.shape, hardware.reach.peaks);
        t.expected = max(t.floor, expected_time(c.shape, hardware.reach));
        t.low = max(t.floor, t.expected / spread);
        t.high = spread * t.expected;
        m.error = t.expected / c.measured - 1;
        m.refused = kernel_refusal(c.measured, t.floor);
        answer.cases.push_back(std::move(m));
    }
}

enum class FileKind { unknown, benchmark, measurements };

/// Adds a file of any known format.
FileKind add_file(ValidateAnswer& answer, const std::string& file, const Profiles& profiles, bool named) {
    const std::string text = read_file(file);
    if (const auto results = bench_results(text, file)) {
        try {
            add_bench(answer, *results, file, profiles);
        } catch (const InputError& e) {
            // One that lay in a folder was not meant; what it lacks is told and the rest goes on.
            if (named) throw;
            answer.notes.push_back(e.what());
        }
        return FileKind::benchmark;
    }
    const auto known = [](bool yes) { return yes ? FileKind::measurements : FileKind::unknown; };
    if (file.ends_with(".jsonl") && add_published_rates(answer, text, file, profiles)) return known(true);
    if (!file.ends_with(".csv")) return known(add_measured_json(answer, text, file, profiles));
    const CsvTable table = parse_csv(text, file);
    if (const auto cases = kernel_cases(table, file)) {
        if (cases->empty()) return known(true);
        const auto device = static_cast<std::size_t>(table.column("device"));
        const std::string name = profiles.forced_hardware.empty()
                                     ? device_profile(table.rows[0][device], file)
                                     : profiles.forced_hardware;
        add_kernels(answer, *cases, file, profiles.hardware(name));
        return known(true);
    }
    if (const auto runs = serving_runs(table, file)) {
        add_serving(answer, *runs, file, profiles);
        return known(true);
    }
    return FileKind::unknown;
}

/// Files other than results of benchmarks name a device and an engine of their own.
void note_replaced(ValidateAnswer& answer, const Profiles& profiles) {
    if (!profiles.forced_hardware.empty())
        answer.notes.push_back("rows are predicted for " + profiles.forced_hardware +
                               ", as --hw says, whatever device they name");
    if (!profiles.forced_engine.empty())
        answer.notes.push_back("rows are predicted with " + profiles.forced_engine +
                               ", as --engine says, whatever engine they name; single kernels have none");
}

CaseSummary summary_of(const std::string& group, const std::vector<const MeasuredCase*>& cases) {
    CaseSummary s;
    s.group = group;
    std::vector<double> errors, widths;
    int inside = 0;
    for (const MeasuredCase* c : cases) {
        if (!c->refused.empty()) ++s.below_floor;
        if (!c->refused.empty() || !c->not_counted.empty()) continue;
        errors.push_back(c->error);
        widths.push_back(c->predicted.high / c->predicted.expected);
        if (c->measured >= c->predicted.low && c->measured <= c->predicted.high) ++inside;
    }
    if (!errors.empty()) s.inside_interval = inside / static_cast<double>(errors.size());
    s.median_width = quantile_of(widths, 0.5);
    s.errors = summarise(std::move(errors));
    return s;
}

}  // namespace

std::string device_profile(const std::string& device, const std::string& file) {
    for (const DeviceName& n : kDeviceNames) {
        if (device.find(n.part) != std::string::npos) return n.profile;
    }
    refuse(file, "device", "'" + device + "' is no device known here; say which with --hw");
}

void summarise(ValidateAnswer& answer) {
    std::vector<std::string> order;
    std::map<std::string, std::vector<const MeasuredCase*>> groups;
    std::vector<const MeasuredCase*> all;
    for (const MeasuredCase& c : answer.cases) {
        if (groups.count(c.group) == 0) order.push_back(c.group);
        groups[c.group].push_back(&c);
        all.push_back(&c);
    }
    answer.groups.clear();
    for (const std::string& group : order) answer.groups.push_back(summary_of(group, groups[group]));
    answer.overall = summary_of("all", all);
    std::map<std::string, std::vector<double>> capacity;
    std::vector<std::string> capacity_order;
    for (const CapacityCase& c : answer.capacities) {
        if (!c.not_counted.empty()) continue;
        if (capacity.count(c.group) == 0) capacity_order.push_back(c.group);
        capacity[c.group].push_back(c.error);
    }
    answer.capacity_groups.clear();
    for (const std::string& group : capacity_order) {
        CaseSummary s;
        s.group = group;
        for (const double error : capacity[group]) s.worst = std::max(s.worst, std::abs(error));
        s.errors = summarise(std::move(capacity[group]));
        answer.capacity_groups.push_back(std::move(s));
    }
}

ValidateAnswer compare(const std::vector<std::string>& paths, const Profiles& profiles) {
    ValidateAnswer answer;
    bool told = false;  // some file tells device and engine itself
    for (const std::string& file : files_below(paths, {".csv", ".json", ".jsonl"})) {
        answer.files.push_back(file);
        const bool named = std::find(paths.begin(), paths.end(), file) != paths.end();
        const FileKind kind = add_file(answer, file, profiles, named);
        told = told || kind == FileKind::measurements;
        if (kind != FileKind::unknown) continue;
        const std::string fault =
            "is no measurement in a known format: a kernel table (CSV with device, op_name, "
            "latency), serving runs (CSV with silicon_tpot_ms), JSON of schema headroom.measured/1, or a "
            "result of vLLM's or SGLang's benchmark, AIPerf, trtllm-bench or llama-bench";
        if (named) refuse(file, "", fault);
        answer.notes.push_back(file + ": " + fault);
    }
    if (answer.cases.empty() && answer.capacities.empty() && answer.counters.empty())
        refuse("--measured", "", "no measurement was found");
    if (told) note_replaced(answer, profiles);
    summarise(answer);
    return answer;
}

}  // namespace headroom
