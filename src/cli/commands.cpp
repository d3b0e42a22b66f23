// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <array>

namespace headroom {

std::span<const Command> commands() {
    static constexpr std::array kCommands{
        Command{"predict", "time of a prefill and of a decode step", add_predict},
        Command{"limits", "the memory ledger and the batch that fits", add_limits},
        Command{"roofline", "every operator of a step: work, bound, floor and expected time", add_roofline},
        Command{"simulate", "a workload through continuous batching, request by request", add_simulate},
        Command{"plan", "the fewest GPUs that carry a workload within objectives, and what binds", add_plan},
        Command{"kv", "what each KV allocation policy wastes on a workload", add_kv},
        Command{"compare", "rows side by side, one thing varied", add_compare},
        Command{"hw", "devices: list, show NAME, check PATH", add_hw},
        Command{"models", "models: list, show NAME, check PATH, import config.json", add_models},
        Command{"engines", "serving stacks: list, show NAME, check PATH", add_engines},
        Command{"workloads", "traffic: list, show NAME, check PATH, fit TRACE", add_workloads},
        Command{"map", "a loop nest on a device: traffic at each level, time, best tiles", add_map},
        Command{"fit", "a device's ceilings from measured kernel tables", add_fit},
        Command{"calibrate", "this machine's GPU measured: a complete device profile", add_calibrate},
        Command{"validate", "predictions beside measurements", add_validate},
    };
    return kCommands;
}

}  // namespace headroom
