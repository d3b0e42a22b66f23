// SPDX-License-Identifier: Apache-2.0
#include "validate/bundled/measured_run.h"

#include "base/diagnostic.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headroom {
namespace {

using kernels::Case;
using kernels::CaseKind;
using kernels::DType;
using Row = nlohmann::json;

constexpr std::array kOperators{CaseKind::kRead,
                                CaseKind::kWrite,
                                CaseKind::kCopy,
                                CaseKind::kSoftmax,
                                CaseKind::kStandardAttention,
                                CaseKind::kFlashAttention,
                                CaseKind::kDecodeAttention,
                                CaseKind::kPagedDecodeAttention,
                                CaseKind::kWeightStream,
                                CaseKind::kMlp,
                                CaseKind::kLoss};
constexpr std::array kTypes{DType::kBf16, DType::kFp16, DType::kFp8E4M3};

std::string text(const Row& row, const char* key) {
    const auto at = row.find(key);
    return at != row.end() && at->is_string() ? at->get<std::string>() : "";
}

/// Fields of one case; what is missing or no whole number above zero is a located error.
class Fields {
  public:
    Fields(const Row& row, const std::string& file, const char* list, int place)
        : row_(row), file_(file), list_(list), place_(place) {}

    int count(const char* key) const {
        const double value = number(key);
        if (value < 1 || value > 1e9 || value != static_cast<int>(value))
            fault(key, "must be a count from 1");
        return static_cast<int>(value);
    }
    std::size_t bytes(const char* key) const {
        const double value = number(key);
        if (value < 1 || value > 1e15) fault(key, "must be an amount above zero");
        return static_cast<std::size_t>(value);
    }
    double number(const char* key) const {
        const auto at = row_.find(key);
        if (at == row_.end() || !at->is_number()) fault(key, "is missing or no number");
        return at->get<double>();
    }
    bool flag(const char* key) const {
        const auto at = row_.find(key);
        return at != row_.end() && at->is_boolean() && at->get<bool>();
    }
    [[noreturn]] void fault(const char* key, const std::string& what) const {
        refuse(file_, fmt::format("{}[{}].{}", list_, place_ - 1, key), what);
    }

    template <class T, std::size_t N>
    T named(const char* key, const std::array<T, N>& values) const {
        const std::string name = text(row_, key);
        for (const T value : values) {
            if (name == kernels::name_of(value)) return value;
        }
        fault(key, "'" + name + "' is none of those known here");
    }

  private:
    const Row& row_;
    const std::string& file_;
    const char* list_;
    int place_;
};

Case attention_case(Case c, const Fields& f) {
    c.query_heads = f.count("query_heads");
    c.kv_heads = f.count("kv_heads");
    c.head_dim = f.count("head_dim");
    c.context = f.count("context_tokens");
    if (c.query_heads % c.kv_heads != 0) f.fault("query_heads", "is no multiple of kv_heads");
    if (c.op == CaseKind::kDecodeAttention || c.op == CaseKind::kPagedDecodeAttention) {
        c.ragged = f.flag("ragged");
        if (c.op == CaseKind::kPagedDecodeAttention) c.block_tokens = f.count("block_tokens");
        return c;
    }
    c.query_tokens = f.count("query_tokens");
    c.causal = f.flag("causal");
    return c;
}

Case case_of(const Fields& f) {
    Case c;
    c.op = f.named("operator", kOperators);
    if (c.op == CaseKind::kRead || c.op == CaseKind::kWrite || c.op == CaseKind::kCopy) {
        c.bytes = f.bytes("bytes");
        return c;
    }
    c.dtype = f.named("dtype", kTypes);
    if (c.op == CaseKind::kMlp || c.op == CaseKind::kLoss) {
        c.tokens = f.count("tokens");
        c.hidden = f.count("hidden");
        (c.op == CaseKind::kMlp ? c.inner : c.vocabulary) =
            f.count(c.op == CaseKind::kMlp ? "inner" : "vocabulary");
        c.gated = f.flag("gated");
        c.fused = f.flag("fused");
        return c;
    }
    c.batch = f.count("batch");
    if (c.op != CaseKind::kWeightStream) return attention_case(c, f);
    c.inputs = f.count("inputs");
    c.outputs = f.count("outputs");
    return c;
}

/// The shape by its own fields, or, where it has none, that of the launch with its name.
Case counted_case(const Row& row, const Fields& fields, const MeasuredRun& run) {
    if (row.contains("operator")) return case_of(fields);
    const std::string name = text(row, "case");
    for (const MeasuredLaunch& launch : run.launches) {
        if (kernels::describe(launch.shape) == name) return launch.shape;
    }
    fields.fault("case", "'" + name + "' is no case of this file, and there is no operator");
}

CountedLaunch counted_launch(const Row& row, const MeasuredRun& run, const std::string& file) {
    const int place = static_cast<int>(run.counters.size()) + 1;
    const Fields fields(row, file, "counters", place);
    CountedLaunch launch;
    launch.place = place;
    launch.shape = counted_case(row, fields, run);
    for (const Row& kernel : row.value("kernels", Row::array())) {
        const bool drain = text(kernel, "kernel") == "drain";
        launch.drained |= drain;
        launch.written += Bytes(kernel.value("written_bytes", 0.0));
        if (!drain) launch.read += Bytes(kernel.value("read_bytes", 0.0));
    }
    return launch;
}

}  // namespace

std::optional<MeasuredRun> measured_run(const std::string& json, const std::string& file) {
    const Row root = Row::parse(json, nullptr, false);
    if (!root.is_object() || text(root, "schema") != "headroom.measured/1") return std::nullopt;
    MeasuredRun run;
    const Row environment = root.value("environment", Row::object());
    run.device = text(environment, "device");
    run.date = text(environment, "date").substr(0, 10);
    for (const Row& row : root.value("cases", Row::array())) {
        const int place = static_cast<int>(run.launches.size()) + 1;
        const Fields fields(row, file, "cases", place);
        MeasuredLaunch launch{case_of(fields), text(row, "suite"), Seconds(fields.number("median_s")), place};
        if (launch.median <= Seconds()) fields.fault("median_s", "must be above zero");
        run.launches.push_back(std::move(launch));
    }
    for (const Row& row : root.value("counters", Row::array()))
        run.counters.push_back(counted_launch(row, run, file));
    return run;
}

std::string bundled_group(CaseKind op) {
    switch (op) {
        case CaseKind::kRead:
            return "bundled read";
        case CaseKind::kWrite:
            return "bundled write";
        case CaseKind::kCopy:
        case CaseKind::kSoftmax:
            return "bundled copy";
        case CaseKind::kFlashAttention:
            return "bundled flash";
        case CaseKind::kDecodeAttention:
        case CaseKind::kPagedDecodeAttention:
            return "bundled decode";
        case CaseKind::kStandardAttention:
        case CaseKind::kWeightStream:
        case CaseKind::kMlp:
        case CaseKind::kLoss:
            return "bundled weights";
    }
    return "";
}

bool has_predicted_time(CaseKind op) { return op != CaseKind::kMlp && op != CaseKind::kLoss; }

KernelCase kernel_case(const MeasuredLaunch& launch, const Hardware& hardware) {
    KernelCase c{kernels::describe(launch.shape), bundled_group(launch.shape.op),
                 bundled_shape(launch.shape, hardware), launch.median, launch.place};
    c.kernel = kernels::name_of(launch.shape.op);
    c.suite = launch.suite;
    return c;
}

std::vector<KernelCase> fitting_cases(const std::vector<MeasuredLaunch>& launches, const Hardware& hardware) {
    std::vector<KernelCase> cases;
    for (const MeasuredLaunch& launch : launches) {
        const bool other = launch.shape.op == CaseKind::kSoftmax || !has_predicted_time(launch.shape.op);
        if (other || (launch.suite != "calibration" && launch.suite != "validation")) continue;
        cases.push_back(kernel_case(launch, hardware));
    }
    return cases;
}

}  // namespace headroom
