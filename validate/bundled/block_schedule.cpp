// SPDX-License-Identifier: Apache-2.0
#include "validate/bundled/block_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

namespace headroom {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Start {
    double time;
    std::size_t sm;
    double work;
    bool operator>(const Start& o) const { return time > o.time; }
};

/// `progress` is the integral of the scale at which all blocks run: in it an SM's blocks advance at constant
/// rates, whatever the others do, so an entry stays true until that SM's own blocks change (`version`).
struct Finish {
    double progress;
    std::size_t sm;
    int version;
    bool operator>(const Finish& o) const { return progress > o.progress; }
};

template <class T>
using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;

struct Sm {
    std::vector<double> left;
    double at = 0;  ///< the progress up to which `left` is counted
    int version = 0;
};

class Run {
  public:
    Run(const std::vector<double>& work, const BlockMachine& machine)
        : work_(work), machine_(machine), sms_(static_cast<std::size_t>(machine.sms)) {
        for (int slot = 0; slot < machine.slots; ++slot)
            for (std::size_t i = 0; i < sms_.size(); ++i) launch(i);
    }

    double finish() {
        while (step()) {
        }
        return now_;
    }

  private:
    double rate(const Sm& sm) const {
        return std::min(machine_.block, machine_.sm / static_cast<double>(sm.left.size()));
    }
    double demand(const Sm& sm) const {
        return sm.left.empty() ? 0 : rate(sm) * static_cast<double>(sm.left.size());
    }
    void launch(std::size_t i) {
        if (next_ < work_.size()) starts_.push({now_ + machine_.start_s, i, work_[next_++]});
    }
    void advance(Sm& sm) const {
        if (!sm.left.empty()) {
            const double done = (progress_ - sm.at) * rate(sm);
            for (double& left : sm.left) left -= done;
        }
        sm.at = progress_;
    }
    void post(std::size_t i) {
        Sm& sm = sms_[i];
        ++sm.version;
        if (sm.left.empty()) return;
        const double least = *std::min_element(sm.left.begin(), sm.left.end());
        finishes_.push({progress_ + std::max(least, 0.0) / rate(sm), i, sm.version});
    }
    void begin(double scale) {
        const Start start = starts_.top();
        starts_.pop();
        progress_ += (start.time - now_) * scale;
        now_ = start.time;
        Sm& sm = sms_[start.sm];
        advance(sm);
        demand_ -= demand(sm);
        sm.left.push_back(start.work);
        demand_ += demand(sm);
        post(start.sm);
    }
    void end(double time) {
        const std::size_t i = finishes_.top().sm;
        progress_ = finishes_.top().progress;
        now_ = time;
        Sm& sm = sms_[i];
        advance(sm);
        demand_ -= demand(sm);
        const auto least = std::min_element(sm.left.begin(), sm.left.end());
        sm.left.erase(least);
        demand_ += demand(sm);
        launch(i);
        post(i);
    }
    bool step() {
        while (!finishes_.empty() && finishes_.top().version != sms_[finishes_.top().sm].version)
            finishes_.pop();
        if (finishes_.empty() && starts_.empty()) return false;
        const double scale = demand_ > machine_.device ? machine_.device / demand_ : 1;
        const double ends =
            finishes_.empty() ? kNever : now_ + (finishes_.top().progress - progress_) / scale;
        if (!starts_.empty() && starts_.top().time <= ends)
            begin(scale);
        else
            end(ends);
        return true;
    }

    const std::vector<double>& work_;
    BlockMachine machine_;
    std::vector<Sm> sms_;
    Earliest<Start> starts_;
    Earliest<Finish> finishes_;
    std::size_t next_ = 0;
    double now_ = 0;
    double progress_ = 0;
    double demand_ = 0;
};

}  // namespace

double makespan(std::vector<double> work, double jitter, const BlockMachine& machine) {
    // Multiples of the golden ratio fill the unit interval evenly, however many are taken.
    constexpr double kGolden = 0.6180339887498949;
    double place = 0;
    for (double& w : work) {
        place += kGolden;
        place -= std::floor(place);
        w *= 1 + jitter * (2 * place - 1);
    }
    return Run(work, machine).finish();
}

}  // namespace headroom
