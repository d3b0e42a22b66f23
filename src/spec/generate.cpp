// SPDX-License-Identifier: Apache-2.0
#include "spec/generate.h"

#include "base/overload.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <queue>

namespace headroom {
namespace {

std::int64_t whole(double tokens) { return std::max<std::int64_t>(1, std::llround(tokens)); }

// The arrival after `now` (seconds); `state` is what a process keeps between arrivals.
struct Clock {
    Arrivals arrivals;
    Random random;
    double now = 0;
    bool on = true;
    double phase_end = -1;

    double next() {
        now = std::visit([&](const auto& process) { return after(process); }, arrivals);
        return now;
    }

    double after(const PoissonArrivals& a) { return now + random.exponential(1 / a.rate.base()); }
    double after(const GammaArrivals& a) {
        const double shape = 1 / (a.cv * a.cv);
        return now + random.gamma(shape) / (shape * a.rate.base());
    }
    double after(const BurstArrivals& a) {
        double at = now;
        for (;;) {
            if (phase_end < 0) phase_end = at + random.exponential((on ? a.mean_on : a.mean_off).base());
            const double rate = (on ? a.on_rate : a.off_rate).base();
            const double gap = rate > 0 ? random.exponential(1 / rate) : phase_end - at + 1;
            if (at + gap <= phase_end) return at + gap;
            at = phase_end;  // exponential gaps have no memory, so the rest may be drawn anew
            phase_end = -1;
            on = !on;
        }
    }
    double after(const CurveArrivals& a) {  // thinning (Lewis and Shedler 1979)
        double most = 0;
        for (const auto& point : a.points) most = std::max(most, point.second.base());
        double at = now;
        do {
            at += random.exponential(1 / most);
        } while (random.uniform() * most >= rate_at(a, at));
        return at;
    }
    static double rate_at(const CurveArrivals& a, double time) {
        const double t = std::fmod(time, a.period.base());
        std::size_t i = a.points.size() - 1;
        while (i > 0 && a.points[i].first.base() > t) --i;
        const bool last = i + 1 == a.points.size();
        const double from = a.points[i].first.base();
        const double to = last ? a.period.base() : a.points[i + 1].first.base();
        const double r0 = a.points[i].second.base();
        const double r1 = (last ? a.points.front() : a.points[i + 1]).second.base();
        return to > from ? r0 + (r1 - r0) * (t - from) / (to - from) : r0;
    }
};

struct Session {
    double at = 0;
    std::int64_t id = 0;
    std::int64_t turn = 0;
    std::int64_t system = 0;         // which system prompt
    std::int64_t system_tokens = 0;  // its length
    std::int64_t history = 0;        // tokens before this turn's input, the system prompt included
};
struct Later {
    bool operator()(const Session& a, const Session& b) const {
        return a.at != b.at ? a.at > b.at : a.id > b.id;
    }
};

class Generator {
  public:
    explicit Generator(const Workload& w)
        : workload_(w),
          clock_{with_rate(w.arrivals, mean_rate(w.arrivals) / w.turns.mean), Random(mix(w.seed))},
          random_(mix(w.seed) ^ 0x5bd1e995u),
          hashes_(shares_prefixes(w)) {
        double sum = 0;
        Random lengths(mix(w.seed) + 7);
        for (int k = 1; k <= w.system.prompts; ++k) {
            sum += std::pow(k, -w.system.skew);
            shares_.push_back(sum);
            const auto* fixed = std::get_if<FixedLength>(&w.system.tokens);
            system_tokens_.push_back(fixed ? fixed->tokens : draw(w.system.tokens, lengths));
        }
        next_session_ = start();
    }

    bool next(Request& request) {
        if (given_ >= workload_.requests) return false;
        ++given_;
        Session session;
        if (!waiting_.empty() && waiting_.top().at <= next_session_.at) {
            session = waiting_.top();
            waiting_.pop();
        } else {
            session = next_session_;
            next_session_ = start();
        }
        fill(session, request);
        continue_later(session, request);
        return true;
    }

  private:
    Session start() {
        Session s;
        s.at = clock_.next();
        if (sessions_ == 0) origin_ = s.at;
        s.id = sessions_++;
        const double place = random_.uniform() * shares_.back();
        s.system = std::lower_bound(shares_.begin(), shares_.end(), place) - shares_.begin();
        s.system_tokens = system_tokens_[static_cast<std::size_t>(s.system)];
        s.history = s.system_tokens;
        return s;
    }

    void fill(const Session& s, Request& request) {
        request.arrival = Seconds(s.at - origin_);
        const std::int64_t added = draw(workload_.input, random_);
        const std::int64_t room = std::max<std::int64_t>(1, workload_.turns.max_context - s.history);
        request.input_tokens = s.history + (s.turn > 0 ? std::min(added, room) : added);
        request.output_tokens = draw(workload_.output, random_);
        request.samples = workload_.samples;
        request.beam = workload_.beam;
        request.session = workload_.turns.mean > 1 ? s.id : -1;
        request.parent = -1;
        request.prefix.clear();
        request.prefix_block = 0;
        if (hashes_) add_hashes(s, request);
    }

    // A conversation only grows, so that a block's place in it stands for its content once it is full.
    void add_hashes(const Session& s, Request& request) const {
        const std::int64_t block = workload_.prefix_block;
        request.prefix_block = workload_.prefix_block;
        for (std::int64_t begin = 0; begin < request.input_tokens; begin += block) {
            const std::int64_t end = std::min(begin + block, request.input_tokens);
            const bool shared = end <= s.system_tokens;
            const auto owner = static_cast<std::uint64_t>(shared ? 2 * s.system : 2 * s.id + 1);
            request.prefix.push_back(mix(mix(owner) + static_cast<std::uint64_t>(end)));
        }
    }

    void continue_later(Session s, const Request& request) {
        if (random_.uniform() < 1 / workload_.turns.mean) return;
        s.history = request.input_tokens + request.output_tokens;
        if (s.history >= workload_.turns.max_context) return;
        s.at += random_.exponential(workload_.turns.gap.base());
        ++s.turn;
        waiting_.push(s);
    }

    Workload workload_;
    Clock clock_;
    Random random_;
    bool hashes_;
    std::vector<double> shares_;  // cumulative popularity of the system prompts
    std::vector<std::int64_t> system_tokens_;
    std::int64_t given_ = 0, sessions_ = 0;
    double origin_ = 0;
    Session next_session_;
    std::priority_queue<Session, std::vector<Session>, Later> waiting_;
};

}  // namespace

std::int64_t draw(const Length& length, Random& random) {
    return std::visit(Overload{
                          [&](const FixedLength& l) { return std::max<std::int64_t>(1, l.tokens); },
                          [&](const LogNormalLength& l) {
                              const double sigma = std::log(l.p99 / l.p50) / 2.3263478740408408;
                              return std::clamp(whole(l.p50 * std::exp(sigma * random.normal())), l.least,
                                                l.most);
                          },
                          [&](const QuantileLength& l) { return whole(quantile(l, random.uniform())); },
                          [&](const MixtureLength& l) {
                              double sum = 0;
                              for (const auto& part : l.parts) sum += part.first;
                              double place = random.uniform() * sum;
                              std::size_t i = 0;
                              while (i + 1 < l.parts.size() && place >= l.parts[i].first)
                                  place -= l.parts[i++].first;
                              return std::visit([&](const auto& part) { return draw(Length(part), random); },
                                                l.parts[i].second);
                          },
                      },
                      length);
}

RequestSource generate(const Workload& workload) {
    auto generator = std::make_shared<Generator>(workload);
    return [generator](Request& request) { return generator->next(request); };
}

RequestSource first_requests(RequestSource source, std::int64_t most) {
    if (most == 0) return source;
    return [source = std::move(source), left = most](Request& request) mutable {
        return left-- > 0 && source(request);
    };
}

}  // namespace headroom
