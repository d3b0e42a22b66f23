// SPDX-License-Identifier: Apache-2.0
#include "validate/fit_tables.h"

#include "validate/ceilings_fit.h"
#include "validate/ceilings_yaml.h"
#include "validate/kernel_files.h"

namespace headroom {

FitAnswer fit_tables(const std::string& path, const Hardware& hardware, const OtherTables& other) {
    KernelTables tables = read_kernel_tables(path, hardware);
    CeilingsFit fit = fit_ceilings(tables.cases, hardware.reach);
    FitAnswer answer;
    answer.hardware = hardware.name;
    answer.refused = static_cast<int>(tables.refused.size());
    answer.refused_names = std::move(tables.refused);
    if (!other.path.empty()) {
        answer.other_hardware = other.hardware.name;
        cross(fit, tables.cases, read_kernel_tables(other.path, other.hardware).cases, other.hardware.reach);
    }
    answer.memory = fit.ceilings.memory;
    answer.yaml = ceilings_yaml(hardware, fit.ceilings, fit.groups);
    answer.groups = std::move(fit.groups);
    return answer;
}

}  // namespace headroom
