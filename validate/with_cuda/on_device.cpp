// SPDX-License-Identifier: Apache-2.0
#include "validate/on_device.h"

#include "base/diagnostic.h"
#include "common/error.h"
#include "measure/measure.h"
#include "measure/record.h"
#include "validate/compare.h"
#include "validate/measured_json.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

namespace headroom {
namespace {

void require_quiet(const kernels::DeviceState& state) {
    const std::string reason = kernels::reason_not_to_measure(state);
    if (!reason.empty())
        refuse("", "", reason + "; figures taken now would not be the device's own, so none are");
}

/// The load that is seen after a measurement is the measurement's own.
void require_unthrottled(kernels::DeviceState state) {
    state.busy_percent = 0;
    require_quiet(state);
}

std::string conditions(const kernels::Environment& e) {
    std::string text = fmt::format("driver {}, CUDA {}.{}", e.driver.empty() ? "unknown" : e.driver,
                                   e.device.runtime_version / 1000, e.device.runtime_version % 1000 / 10);
    if (!e.after.known) return text + ", clocks unknown";
    text += fmt::format(", SM {} MHz and memory {} MHz before, {} and {} after, {} C",
                        e.before.multiprocessor_mhz, e.before.memory_mhz, e.after.multiprocessor_mhz,
                        e.after.memory_mhz, e.after.celsius);
    for (const std::string& limit : e.after.limits) text += ", " + limit;
    return text;
}

/// The fastest size that L2 does not help: above eight times its size.
MeasuredRate rate_of(const std::vector<kernels::SizedRate>& rates, std::size_t l2_bytes) {
    MeasuredRate best;
    for (const kernels::SizedRate& r : rates) {
        if (r.bytes <= 8 * l2_bytes || r.bytes_per_s() <= best.per_s) continue;
        best = {r.bytes_per_s(), r.timing.spread()};
    }
    return best;
}

MeasuredRate rate_of(const kernels::SizedRate& r) { return {r.bytes_per_s(), r.timing.spread()}; }

kernels::CaseResult measured_or_refused(const kernels::Case& c, kernels::DataPool& pool) {
    try {
        return kernels::measure_case(c, pool);
    } catch (const kernels::DeviceError& e) {
        refuse("", "", kernels::describe(c) + ": " + e.what());
    }
}

void write_record(const std::string& path, const kernels::Environment& environment,
                  const std::vector<kernels::CaseResult>& results) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
    if (!file) refuse(path, "", "cannot be written");
    kernels::write_measured(file.get(), environment, nullptr, results);
    if (std::fflush(file.get()) != 0 || std::ferror(file.get()) != 0) refuse(path, "", "cannot be written");
}

}  // namespace

std::string no_device() {
    return kernels::device_available() ? "" : "there is no GPU here (no CUDA driver or no device)";
}

std::string device_name() { return kernels::device_info().name; }

DeviceCeilings measure_device(const Progress& progress) {
    require_quiet(kernels::read_device_state());
    kernels::DataPool pool;
    constexpr double kCeilingsShare = 0.15;  // of the time
    const kernels::Ceilings measured = kernels::measure_ceilings(
        pool, [&](const std::string& step, double done) { progress(step, kCeilingsShare * done); });
    const kernels::Environment& e = measured.environment;
    require_unthrottled(e.after);
    DeviceCeilings out;
    const auto shapes = kernels::calibration_cases(e.device.memory_bytes);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const double done = static_cast<double>(i) / static_cast<double>(shapes.size());
        progress(kernels::describe(shapes[i]), kCeilingsShare + (1 - kCeilingsShare) * done);
        const Seconds median(measured_or_refused(shapes[i], pool).timing.median_s);
        out.launches.push_back({shapes[i], "calibration", median, static_cast<int>(i) + 1});
    }
    require_unthrottled(kernels::read_device_state());
    out.device = e.device.name;
    out.date = e.date.substr(0, 10);
    out.conditions = conditions(e);
    out.read = rate_of(measured.read, e.device.l2_bytes);
    out.write = rate_of(measured.write, e.device.l2_bytes);
    out.copy = rate_of(measured.copy, e.device.l2_bytes);
    out.l2_read = rate_of(measured.l2_read);
    out.shared_read = rate_of(measured.shared_read);
    out.launch_alone = Seconds(measured.launch_alone_s);
    out.launch_in_stream = Seconds(measured.launch_in_stream_s);
    out.launch_in_graph = Seconds(measured.launch_in_graph_s);
    out.dependent_in_graph = Seconds(measured.dependent_in_graph_s);
    for (const kernels::MatrixRate& m : measured.matrix) {
        out.products.push_back(
            {kernels::name_of(m.dtype), {m.product_flop_per_s, m.product.spread()}, m.mma_flop_per_s});
    }
    return out;
}

ValidateAnswer validate_on_device(const Hardware& hardware, const std::string& record,
                                  const Progress& progress) {
    require_bundled(hardware);
    require_quiet(kernels::read_device_state());
    kernels::Environment environment = kernels::read_environment();
    ValidateAnswer answer;
    std::vector<kernels::Case> cases;
    for (const kernels::Case& c : kernels::validation_cases(environment.device.memory_bytes)) {
        answer.cases.push_back(predicted_case(c, hardware));
        answer.cases.back().where = fmt::format("case {}", answer.cases.size());
        cases.push_back(c);
    }
    // Every prediction stands before the first kernel runs.
    kernels::DataPool pool;
    std::vector<kernels::CaseResult> results;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        progress(kernels::describe(cases[i]), static_cast<double>(i) / static_cast<double>(cases.size()));
        results.push_back(measured_or_refused(cases[i], pool));
        results.back().suite = "validation";
        set_measured(answer.cases[i], Seconds(results.back().timing.median_s));
    }
    environment.after = kernels::read_device_state();
    require_unthrottled(environment.after);
    if (!record.empty()) write_record(record, environment, results);
    summarise(answer);
    return answer;
}

}  // namespace headroom
