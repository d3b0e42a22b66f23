// SPDX-License-Identifier: Apache-2.0
#include "validate/measured_json.h"

#include "base/diagnostic.h"
#include "validate/bundled/measured_run.h"
#include "validate/capacity_cases.h"
#include "validate/ceilings_fit.h"
#include "validate/mapping_counters.h"

#include <set>

#include <fmt/format.h>

namespace headroom {

MeasuredCase predicted_case(const kernels::Case& shape, const Hardware& hardware) {
    const BundledShape bundled = bundled_shape(shape, hardware);
    const double spread = find_ceiling(spread_parameter(bundled_group(shape.op)))->get(hardware.reach);
    MeasuredCase c;
    c.name = kernels::describe(shape);
    c.group = hardware.name + kBundledMark + kernels::name_of(shape.op);
    TimeEstimate& t = c.predicted;
    t.floor = bundled_floor(bundled, hardware.reach.peaks);
    t.expected = max(t.floor, bundled_time(bundled, hardware.reach));
    t.low = max(t.floor, t.expected / spread);
    t.high = spread * t.expected;
    c.predicted_hbm = bundled_bytes(bundled);
    return c;
}

namespace {

/// A mapping's prediction of the bytes of a case, where there is one, and what was counted.
void add_counters(ValidateAnswer& answer, const MeasuredRun& run, std::size_t first_case,
                  const std::string& file, const Hardware& hardware, const Profiles& profiles) {
    for (const CountedLaunch& launch : run.counters) {
        const auto count = traffic_count(launch, file, hardware, profiles);
        const std::string name = kernels::describe(launch.shape);
        for (std::size_t i = first_case; i < answer.cases.size(); ++i) {
            MeasuredCase& c = answer.cases[i];
            if (c.name != name) continue;
            c.measured_hbm = launch.read + launch.written;
            if (count) c.predicted_hbm = count->predicted_reads + count->predicted_writes;
        }
        if (count) answer.counters.push_back(*count);
    }
}

}  // namespace

void set_measured(MeasuredCase& c, Seconds measured) {
    c.measured = measured;
    c.error = c.predicted.expected / measured - 1;
    if (measured < c.predicted.floor)
        c.refused = "faster than the floor: its data must have stayed in a cache between repetitions";
}

bool add_measured_json(ValidateAnswer& answer, const std::string& json, const std::string& file,
                       const Profiles& profiles) {
    const auto run = measured_run(json, file);
    if (!run) return add_capacities(answer, json, file, profiles);
    const std::string name =
        profiles.forced_hardware.empty() ? device_profile(run->device, file) : profiles.forced_hardware;
    const Hardware hardware = profiles.hardware(name);
    require_bundled(hardware);
    std::set<std::string> trained;
    for (const MeasuredLaunch& launch : run->launches) {
        if (launch.suite == "calibration") trained.insert(kernels::describe(launch.shape));
    }
    const std::size_t first_case = answer.cases.size();
    int untimed = 0;
    for (const MeasuredLaunch& launch : run->launches) {
        if (!has_predicted_time(launch.shape.op)) {
            ++untimed;
            continue;
        }
        MeasuredCase c = predicted_case(launch.shape, hardware);
        c.where = fmt::format("{}: case {}", file, launch.place);
        set_measured(c, launch.median);
        if (trained.count(c.name) > 0) c.not_counted = "profiles are fitted to the calibration shapes";
        answer.cases.push_back(std::move(c));
    }
    if (untimed > 0)
        answer.notes.push_back(
            fmt::format("{}: {} launches of mlp and loss, whose time is not predicted", file, untimed));
    add_counters(answer, *run, first_case, file, hardware, profiles);
    return true;
}

void require_bundled(const Hardware& hardware) {
    if (hardware.reach.bundled.decode.launch > Seconds()) return;
    refuse(
        hardware.file, "ceilings",
        "has no parameters (bundled.*) of the kernels in kernels/, nor has its generation: calibrate writes "
        "a profile that has them");
}

}  // namespace headroom
