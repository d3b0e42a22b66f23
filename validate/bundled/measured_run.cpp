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
                                CaseKind::kWeightStream};
constexpr std::array kTypes{DType::kBf16, DType::kFp16, DType::kFp8E4M3};

std::string text(const Row& row, const char* key) {
    const auto at = row.find(key);
    return at != row.end() && at->is_string() ? at->get<std::string>() : "";
}

/// Fields of one case; what is missing or no whole number above zero is a located error.
class Fields {
  public:
    Fields(const Row& row, const std::string& file, int place) : row_(row), file_(file), place_(place) {}

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
        refuse(file_, fmt::format("cases[{}].{}", place_ - 1, key), what);
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
    c.batch = f.count("batch");
    if (c.op != CaseKind::kWeightStream) return attention_case(c, f);
    c.inputs = f.count("inputs");
    c.outputs = f.count("outputs");
    return c;
}

std::map<std::string, Bytes> counted_bytes(const Row& root) {
    std::map<std::string, Bytes> counted;
    for (const Row& counter : root.value("counters", Row::array())) {
        Bytes& sum = counted[text(counter, "case")];
        for (const Row& kernel : counter.value("kernels", Row::array()))
            sum += Bytes(kernel.value("read_bytes", 0.0) + kernel.value("written_bytes", 0.0));
    }
    return counted;
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
        const Fields fields(row, file, place);
        MeasuredLaunch launch{case_of(fields), text(row, "suite"), Seconds(fields.number("median_s")), place};
        if (launch.median <= Seconds()) fields.fault("median_s", "must be above zero");
        run.launches.push_back(std::move(launch));
    }
    run.counted = counted_bytes(root);
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
            return "bundled weights";
    }
    return "";
}

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
        const bool copies = launch.shape.op == CaseKind::kSoftmax;
        if (copies || (launch.suite != "calibration" && launch.suite != "validation")) continue;
        cases.push_back(kernel_case(launch, hardware));
    }
    return cases;
}

}  // namespace headroom
