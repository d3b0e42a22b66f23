// SPDX-License-Identifier: Apache-2.0
#include "validate/kernel_files.h"

#include "base/diagnostic.h"
#include "io/map_reader.h"

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

KernelTables read_kernel_tables(const std::string& path, const Peaks& peaks) {
    KernelTables tables;
    bool any = false;
    for (const std::string& file : files_below({path}, {".csv"})) {
        const CsvTable table = parse_csv(read_file(file), file);
        auto cases = kernel_cases(table, file);
        if (!cases) continue;
        any = true;
        const int device = table.column("device");
        if (!table.rows.empty()) tables.device = table.rows[0][static_cast<std::size_t>(device)];
        for (KernelCase& c : *cases) {
            if (c.measured < floor_time(c.shape, peaks))
                tables.refused.push_back(fmt::format("{}:{} {}", file, c.line, c.name));
            else
                tables.cases.push_back(std::move(c));
        }
    }
    if (!any) refuse(path, "", "holds no kernel table (columns framework, device, op_name, latency)");
    return tables;
}

}  // namespace headroom
