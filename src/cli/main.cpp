// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostic.h"
#include "io/catalogue.h"
#include "io/hardware_yaml.h"

#include <fmt/core.h>

int main() {
    using namespace headroom;
    try {
        const std::string data = data_folder("");
        for (const std::string& name : entry_names(data, "hwprofiles")) {
            const Hardware h = read_hardware(find_entry(data, "hwprofiles", name), data);
            fmt::print("{:<16} {:>10} {:>12} ridge {}\n", h.name, format_binary(h.memory.capacity.value),
                       format(h.memory.bandwidth.value), format(ridge_point(h, ElementType::bf16)));
        }
    } catch (const InputError& e) {
        fmt::print(stderr, "{}\n", e.what());
        return 2;
    }
    return 0;
}
