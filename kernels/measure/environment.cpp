// SPDX-License-Identifier: Apache-2.0
#include "measure/environment.h"

#include "common/error.h"

#include <array>
#include <chrono>
#include <ctime>
#include <utility>

#include <cuda_runtime.h>
#include <dlfcn.h>

namespace headroom::kernels {

namespace {

// NVML is part of the driver, so it is looked up when running rather than linked. Signatures and constants
// are those of its reference manual (nvml.h, API version 2); every function returns 0 for success.
class Nvml {
  public:
    using Device = void*;

    Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
        if (library_ == nullptr) return;
        const auto start = find<int()>("nvmlInit_v2");
        ready_ = start != nullptr && start() == 0 && open();
    }
    ~Nvml() {
        if (ready_) {
            if (const auto stop = find<int()>("nvmlShutdown")) stop();
        }
        if (library_ != nullptr) dlclose(library_);
    }
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    bool ready() const { return ready_; }
    std::string driver() const {
        std::array<char, 96> text{};
        const auto read = find<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
        if (read == nullptr || read(text.data(), static_cast<unsigned>(text.size())) != 0) return {};
        return text.data();
    }
    template <class... Selector>
    unsigned number(const char* name, Selector... selector) const {
        unsigned value = 0;
        const auto read = find<int(Device, Selector..., unsigned*)>(name);
        return read != nullptr && read(device_, selector..., &value) == 0 ? value : 0;
    }
    unsigned busy_percent() const {
        struct {
            unsigned gpu, memory;
        } rates{};
        const auto read = find<int(Device, decltype(rates)*)>("nvmlDeviceGetUtilizationRates");
        return read != nullptr && read(device_, &rates) == 0 ? rates.gpu : 0;
    }
    unsigned long long clock_limits() const {
        unsigned long long reasons = 0;
        for (const char* name :
             {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}) {
            const auto read = find<int(Device, unsigned long long*)>(name);
            if (read != nullptr && read(device_, &reasons) == 0) return reasons;
        }
        return 0;
    }

  private:
    template <class Function>
    Function* find(const char* name) const {
        return reinterpret_cast<Function*>(dlsym(library_, name));
    }
    // CUDA and NVML number devices differently; the bus address is common to both.
    bool open() {
        int device = 0;
        std::array<char, 32> bus{};
        HEADROOM_CUDA(cudaGetDevice(&device));
        HEADROOM_CUDA(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device));
        const auto find_device = find<int(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
        return find_device != nullptr && find_device(bus.data(), &device_) == 0;
    }

    void* library_ = nullptr;
    Device device_ = nullptr;
    bool ready_ = false;
};

constexpr std::array kClockLimits{
    std::pair{0x04ull, "power cap"},        std::pair{0x08ull, "hardware slowdown"},
    std::pair{0x20ull, "thermal slowdown"}, std::pair{0x40ull, "hardware thermal slowdown"},
    std::pair{0x80ull, "power brake"},
};

std::string utc_now() {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text.data();
}

}  // namespace

DeviceState read_device_state() {
    const Nvml nvml;
    DeviceState state;
    state.known = nvml.ready();
    if (!state.known) return state;
    constexpr int kMultiprocessorClock = 1, kMemoryClock = 2, kGpuSensor = 0;
    state.multiprocessor_mhz = nvml.number("nvmlDeviceGetClockInfo", kMultiprocessorClock);
    state.memory_mhz = nvml.number("nvmlDeviceGetClockInfo", kMemoryClock);
    state.celsius = nvml.number("nvmlDeviceGetTemperature", kGpuSensor);
    state.watts = 1e-3 * nvml.number("nvmlDeviceGetPowerUsage");
    state.busy_percent = nvml.busy_percent();
    for (const auto& [bit, name] : kClockLimits) {
        if ((nvml.clock_limits() & bit) != 0) state.limits.emplace_back(name);
    }
    return state;
}

Environment read_environment() {
    Environment environment;
    environment.device = device_info();
    environment.date = utc_now();
    environment.driver = Nvml().driver();
    environment.before = read_device_state();
    return environment;
}

std::string reason_not_to_measure(const DeviceState& state) {
    if (!state.known) return {};
    if (state.busy_percent > 5) {
        return "the device is busy (" + std::to_string(state.busy_percent) + " % of the last second)";
    }
    // A power cap comes and goes with the load; heat and the board's own signals do not pass while we
    // measure.
    for (const auto& limit : state.limits) {
        if (limit != "power cap") return "the device's clock is held down: " + limit;
    }
    return {};
}

}  // namespace headroom::kernels
