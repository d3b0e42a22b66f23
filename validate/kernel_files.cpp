// SPDX-License-Identifier: Apache-2.0
#include "validate/kernel_files.h"

#include "base/diagnostic.h"
#include "io/map_reader.h"
#include "validate/bundled/measured_run.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace headroom {

namespace fs = std::filesystem;

std::vector<std::string> files_below(const std::vector<std::string>& paths,
                                     const std::vector<std::string>& endings) {
    std::vector<std::string> found;
    for (const std::string& path : paths) {
        if (!fs::is_directory(path)) {
            if (!fs::exists(path)) refuse(path, "", "no such file or folder");
            found.push_back(path);
            continue;
        }
        std::vector<std::string> here;
        for (const auto& entry : fs::recursive_directory_iterator(path)) {
            const std::string name = entry.path().string();
            const auto ends = [&](const std::string& ending) { return name.ends_with(ending); };
            if (entry.is_regular_file() && std::any_of(endings.begin(), endings.end(), ends))
                here.push_back(name);
        }
        std::sort(here.begin(), here.end());
        found.insert(found.end(), here.begin(), here.end());
    }
    return found;
}

namespace {

/// Keeps a case, or refuses it by name where it beats the floor.
void keep(KernelTables& tables, KernelCase c, const std::string& file, const Peaks& peaks) {
    if (c.measured < floor_time(c.shape, peaks))
        tables.refused.push_back(fmt::format("{}:{} {}", file, c.line, c.name));
    else
        tables.cases.push_back(std::move(c));
}

}  // namespace

KernelTables read_kernel_tables(const std::string& path, const Hardware& hardware) {
    const Peaks& peaks = hardware.reach.peaks;
    KernelTables tables;
    bool any = false;
    for (const std::string& file : files_below({path}, {".csv", ".json"})) {
        if (const auto run = file.ends_with(".csv") ? std::nullopt : measured_run(read_file(file), file)) {
            any = true;
            tables.device = run->device;
            for (KernelCase& c : fitting_cases(run->launches, hardware))
                keep(tables, std::move(c), file, peaks);
            continue;
        }
        if (!file.ends_with(".csv")) continue;
        const CsvTable table = parse_csv(read_file(file), file);
        auto cases = kernel_cases(table, file);
        if (!cases) continue;
        any = true;
        const int device = table.column("device");
        if (!table.rows.empty()) tables.device = table.rows[0][static_cast<std::size_t>(device)];
        for (KernelCase& c : *cases) keep(tables, std::move(c), file, peaks);
    }
    if (!any)
        refuse(
            path, "",
            "holds no kernel table (columns framework, device, op_name, latency) and no recording of schema "
            "headroom.measured/1");
    return tables;
}

}  // namespace headroom
