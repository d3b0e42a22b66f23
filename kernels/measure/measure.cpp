// SPDX-License-Identifier: Apache-2.0
#include "measure/measure.h"

#include "ceilings/ceilings.h"
#include "common/error.h"
#include "common/matmul.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace headroom::kernels {

namespace {

char* at(void* base, std::size_t offset) { return static_cast<char*>(base) + offset; }

class Session {
  public:
    Session(DataPool& pool, const Progress& progress) : pool_(pool), progress_(progress) {}

    void memory(Ceilings& ceilings) {
        pool_.fill(DType::kBf16);
        for (const int mebibytes : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096}) {
            const std::size_t bytes = static_cast<std::size_t>(mebibytes) << 20;
            if (bytes > target_.bytes() || 2 * bytes > pool_.bytes()) break;
            tell("memory, " + std::to_string(mebibytes) + " MiB");
            ceilings.read.push_back({bytes, read(bytes)});
            ceilings.write.push_back({bytes, write(bytes)});
            ceilings.copy.push_back({2 * bytes, copy(bytes)});
        }
    }

    void on_chip(Ceilings& ceilings) {
        tell("L2 and shared memory");
        // Under half of the L2, which on the larger parts is two halves that each cache what their side asks
        // for.
        const std::size_t bytes = std::max<std::size_t>(device_info().l2_bytes / 3 >> 20, 1) << 20;
        constexpr int kPasses = 20;
        ceilings.l2_read = {kPasses * bytes, time_graph([&](Stream stream, int) {
                                read_repeatedly(pool_.data(), bytes, kPasses, sink(), stream);
                            })};
        double moved = 0;
        ceilings.shared_read.timing =
            time_graph([&](Stream stream, int) { moved = read_shared(500, sink(), stream); });
        ceilings.shared_read.bytes = static_cast<std::size_t>(moved);
    }

    void matrix(Ceilings& ceilings) {
        for (const DType type : {DType::kBf16, DType::kFp16, DType::kFp8E4M3, DType::kInt8}) {
            if (type == DType::kFp8E4M3 && device_info().compute() < 89) continue;
            tell(std::string("products, ") + name_of(type));
            MatrixRate rate;
            rate.dtype = type;
            // Before the product, which heats the device to its power cap.
            if (type != DType::kInt8) {
                double flop = 0;
                const auto timing = time_graph([&](Stream stream, int) {
                    flop = multiply_in_registers(type, 4000, target_.as<float>(), stream);
                });
                rate.mma_flop_per_s = flop / timing.median_s;
            }
            if (product(rate)) ceilings.matrix.push_back(rate);
        }
    }

    void launches(Ceilings& ceilings) {
        tell("launches");
        const OwnedStream stream;
        constexpr int kRounds = 200;
        const auto per_round = [&](int launches, bool wait) {
            using Clock = std::chrono::steady_clock;
            std::vector<double> seconds;
            for (int round = 0; round < kRounds; ++round) {
                const auto begin = Clock::now();
                for (int i = 0; i < launches; ++i) {
                    launch_empty(stream);
                    if (wait) stream.synchronize();
                }
                stream.synchronize();
                seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / launches);
            }
            std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
            return seconds[kRounds / 2];
        };
        per_round(1, true);
        ceilings.launch_alone_s = per_round(1, true);
        ceilings.launch_in_stream_s = per_round(100, false);
        ceilings.launch_in_graph_s = time_graph([&](Stream s, int) { launch_empty(s); }).median_s;
        ceilings.dependent_in_graph_s =
            time_graph([&](Stream s, int) { launch_increment(target_.as<unsigned>(), s); }).median_s;
    }

  private:
    static constexpr double kSteps = 18;

    void tell(const std::string& step) {
        if (progress_) progress_(step, std::min(1.0, done_ / kSteps));
        done_ += 1;
    }
    unsigned* sink() { return target_.as<unsigned>(); }

    // Copies of `bytes` that fit `room`, at most what makes the L2 cold.
    static TimingOptions rotating(std::size_t bytes, std::size_t room) {
        TimingOptions options;
        options.rotation =
            std::clamp(rotation_for(bytes), 1, static_cast<int>(std::max<std::size_t>(room / bytes, 1)));
        return options;
    }

    // By plain loads or by bulk copies: whichever this device likes better at this size.
    Timing read(std::size_t bytes) {
        Timing best;
        for (const auto method : {ReadMethod::kLoads, ReadMethod::kBulkCopies}) {
            if (!supports(method)) continue;
            const auto options = rotating(bytes, pool_.bytes());
            const auto timing = time_graph(
                [&](Stream stream, int turn) {
                    read_memory(method,
                                at(pool_.data(), static_cast<std::size_t>(turn % options.rotation) * bytes),
                                bytes, sink(), stream);
                },
                options);
            if (best.median_s == 0 || timing.median_s < best.median_s) best = timing;
        }
        return best;
    }
    Timing write(std::size_t bytes) {
        const auto options = rotating(bytes, target_.bytes());
        return time_graph(
            [&](Stream stream, int turn) {
                write_memory(at(target_.data(), static_cast<std::size_t>(turn % options.rotation) * bytes),
                             bytes, stream);
            },
            options);
    }
    Timing copy(std::size_t bytes) {
        const auto options = rotating(bytes, std::min(target_.bytes(), pool_.bytes()));
        return time_graph(
            [&](Stream stream, int turn) {
                const std::size_t offset = static_cast<std::size_t>(turn % options.rotation) * bytes;
                copy_memory(at(target_.data(), offset), at(pool_.data(), offset), bytes, stream);
            },
            options);
    }
    // False where the library has no product of this type on this device.
    bool product(MatrixRate& rate) {
        constexpr std::size_t kSide = 8192;
        pool_.fill(rate.dtype);
        MatmulShape shape;
        shape.rows = shape.columns = shape.depth = kSide;
        shape.input = rate.dtype;
        shape.output = rate.dtype == DType::kFp16 ? DType::kFp16 : DType::kBf16;
        const void* second = at(pool_.data(), kSide * kSide * size_of(rate.dtype));
        try {
            Matmul matmul(shape);
            matmul.tune(pool_.data(), second, target_.data(), 1.0f);
            rate.product = time_graph(
                [&](Stream stream, int) { matmul.run(pool_.data(), second, target_.data(), 1.0f, stream); });
        } catch (const DeviceError&) {
            return false;
        }
        rate.product_flop_per_s = 2.0 * std::pow(static_cast<double>(kSide), 3) / rate.product.median_s;
        return true;
    }

    DataPool& pool_;
    const Progress& progress_;
    DeviceBuffer target_{std::size_t{4} << 30};
    double done_ = 0;
};

}  // namespace

Ceilings measure_ceilings(DataPool& pool, const Progress& progress) {
    Ceilings ceilings;
    ceilings.environment = read_environment();
    Session session(pool, progress);
    session.memory(ceilings);
    session.on_chip(ceilings);
    session.launches(ceilings);
    session.matrix(ceilings);
    ceilings.environment.after = read_device_state();
    return ceilings;
}

CaseResult measure_case(const Case& c, DataPool& pool) {
    const auto prepared = prepare(c, pool);
    CaseResult result;
    result.shape = c;
    if (prepared.sample_error) result.sample_error = prepared.sample_error();
    TimingOptions options;
    options.rotation = prepared.rotation;
    result.timing = time_graph(prepared.launch, options);
    return result;
}

}  // namespace headroom::kernels
