// SPDX-License-Identifier: Apache-2.0
#include "serving/simulator.h"

#include "serving/pools.h"
#include "serving/steady.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <queue>

namespace headroom {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// A cache on its way to a decode replica.
struct Moving {
    double time;
    std::int64_t id;
    std::size_t replica;
    std::size_t index;  // in Run::moved_
    bool operator>(const Moving& other) const {
        return time != other.time ? time > other.time : id > other.id;
    }
};

class Run {
  public:
    Run(const System& system, const RequestSource& source, const Playback& playback,
        const Observers& observers);
    SimulationResult result();

  private:
    struct Member {
        std::size_t pool;
        Replica replica;
        std::int64_t coming;  // caches on their way to it
    };

    void pull();
    void arrive();
    double beyond(std::int64_t tokens);
    void move_on();
    void take_result(Live&& live, double now);
    void hand_over(Live&& live, double now);
    std::size_t least_loaded(bool first_pool) const;
    void watch_queue();
    void judge_saturation();
    double served_while_waiting() const;
    void pool_results();

    const System& system_;
    const RequestSource& source_;
    const Playback& playback_;
    const Observers& observers_;
    SimulationResult r_;
    ServingEvents events_;
    std::vector<std::unique_ptr<StepCosts>> costs_;
    std::map<std::int64_t, double> beyond_;  // by length: see `beyond_kernels`
    std::vector<std::unique_ptr<Member>> members_;
    std::unique_ptr<HandoverLinks> links_;

    Request request_;
    // Closed loop: when clients whose request has ended send the next.
    std::priority_queue<double, std::vector<double>, std::greater<>> free_;
    double next_arrival_ = kNever, first_arrival_ = 0, last_arrival_ = 0, now_ = 0;
    bool more_ = true, started_ = false;
    std::int64_t seen_ = 0, live_ = 0;
    std::size_t advancing_ = 0;  // the member whose events are told
    double transfers_ = 0;
    std::int64_t transferred_ = 0;
    std::priority_queue<Moving, std::vector<Moving>, std::greater<>> moving_;
    std::vector<Live> moved_;
    std::vector<std::size_t> free_moved_;

    // Queue length by arrival, kept at arrivals number 1, 2, 4, ... so that the middle is known at the end.
    struct Watch {
        double time;
        std::int64_t waiting;
    };
    std::vector<Watch> watches_;
    std::int64_t watch_every_ = 1;
};

Run::Run(const System& system, const RequestSource& source, const Playback& playback,
         const Observers& observers)
    : system_(system), source_(source), playback_(playback), observers_(observers) {
    events_.step = observers.step;
    events_.finished = [this](Live&& live, double now) { take_result(std::move(live), now); };
    events_.prompt_done = [this](Live&& live, double now) { hand_over(std::move(live), now); };
    events_.token_gap = [this](double gap, std::int64_t sequences) {
        r_.itl.add(gap, static_cast<double>(sequences));
    };
    int number = 0;
    for (std::size_t p = 0; p < system.pools.size(); ++p) {
        const Pool& pool = system.pools[p];
        costs_.push_back(std::make_unique<StepCosts>(pool.shard, pool.hardware, pool.engine,
                                                     system.policy.allocation == Allocation::reserve));
        for (int i = 0; i < pool.replicas; ++i) {
            members_.push_back(std::unique_ptr<Member>(
                new Member{p,
                           Replica(number++, pool.role, pool.shard, pool.hardware, pool.engine, system.policy,
                                   *costs_.back(), events_),
                           0}));
        }
    }
    if (system.handover) links_ = std::make_unique<HandoverLinks>(system);
}

// Reads ahead by one request.
void Run::pull() {
    next_arrival_ = kNever;
    const auto busy = live_ + static_cast<std::int64_t>(free_.size());
    if (playback_.concurrency > 0 && busy >= playback_.concurrency && free_.empty()) return;
    while (more_) {
        more_ = !(playback_.most > 0 && r_.requests >= playback_.most) && source_(request_);
        if (!more_) return;
        if (seen_++ % playback_.every == 0) break;
    }
    if (!more_) return;
    next_arrival_ = playback_.concurrency > 0 ? now_ : request_.arrival.in(second) / playback_.scale;
    if (playback_.concurrency > 0 && busy >= playback_.concurrency) {
        next_arrival_ = free_.top();
        free_.pop();
    }
    // A source's clock may start anywhere, but it never runs backwards.
    next_arrival_ = std::max(next_arrival_, last_arrival_);
}

std::size_t Run::least_loaded(bool first_pool) const {
    const std::size_t pool = first_pool ? 0 : system_.pools.size() - 1;
    std::size_t best = members_.size();
    std::int64_t least = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (members_[i]->pool != pool) continue;
        const std::int64_t load = members_[i]->replica.outstanding() + members_[i]->coming;
        if (best == members_.size() || load < least) {
            best = i;
            least = load;
        }
    }
    return best;
}

// What a prompt's own steps take more than the step model says: its tokens come later by it, and no one else
// waits for it.
double Run::beyond(std::int64_t tokens) {
    const Pool& pool = system_.pools.front();
    if (pool.engine.time.prompt_stretch <= 1 && pool.engine.time.per_expert_layer <= 0) return 0;
    const auto [at, fresh] = beyond_.emplace(tokens, 0);
    if (fresh)
        at->second =
            beyond_kernels(pool.shard, pool.hardware, pool.engine, static_cast<double>(tokens)).in(second);
    return at->second;
}

void Run::arrive() {
    now_ = last_arrival_ = next_arrival_;
    if (!started_) first_arrival_ = now_;
    started_ = true;
    Live live;
    live.id = r_.requests++;
    live.arrival = now_;
    live.input = live.target = std::max<std::int64_t>(1, request_.input_tokens);
    live.ready = now_ + system_.pools.front().engine.time.per_request.expected;
    live.output = std::max<std::int64_t>(1, request_.output_tokens);
    live.width = std::max(1, request_.samples);
    if (system_.policy.keep_prefixes) live.prefix = request_.prefix;
    live.prefix_block = request_.prefix_block;
    const std::int64_t tokens = live.input;
    if (playback_.context > 0 && tokens + live.output > playback_.context) ++r_.beyond_context;
    // A decode pool that could never hold it would refuse it only after the prompt was run.
    const bool fits_later = system_.pools.size() < 2 || members_.back()->replica.fits(live);
    if (fits_later && members_[least_loaded(true)]->replica.enqueue(std::move(live))) {
        ++live_;
        r_.tokens_in += tokens;
    } else {
        ++r_.refused;
    }
    watch_queue();
    pull();
}

void Run::watch_queue() {
    if (r_.requests % watch_every_ != 0) return;
    auto waiting = static_cast<std::int64_t>(moving_.size());  // for a link
    for (const auto& member : members_) waiting += member->replica.waiting();
    watches_.push_back({now_, waiting});
    if (watches_.size() < 2048) return;
    // Every second one is dropped, so that the memory stays bounded.
    for (std::size_t i = 0; i < watches_.size() / 2; ++i) watches_[i] = watches_[2 * i + 1];
    watches_.resize(watches_.size() / 2);
    watch_every_ *= 2;
}

void Run::take_result(Live&& live, double now) {
    --live_;
    ++r_.completed;
    r_.tokens_out += live.output * live.width;
    const double late = beyond(live.input - live.cached);
    const double first = live.first_token - live.arrival + late, whole = now - live.arrival + late;
    r_.ttft.add(first);
    r_.e2e.add(whole);
    if (live.output > 1) r_.tpot.add((whole - first) / static_cast<double>(live.output - 1));
    r_.duration = std::max(r_.duration, now + late - first_arrival_);
    if (observers_.request) {
        observers_.request({live.id, live.arrival, live.first_token + late, now + late, live.input,
                            live.output, live.width, live.cached, live.preemptions});
    }
    now_ = now;
    if (playback_.concurrency == 0) return;
    free_.push(now + late);
    if (next_arrival_ == kNever) pull();
}

void Run::hand_over(Live&& live, double now) {
    const std::size_t to = least_loaded(false);
    ++members_[to]->coming;
    const double there = links_->move(advancing_, to, live, now);
    transfers_ += there - now;
    ++transferred_;
    if (free_moved_.empty()) {
        free_moved_.push_back(moved_.size());
        moved_.emplace_back();
    }
    const std::size_t index = free_moved_.back();
    free_moved_.pop_back();
    moving_.push({there, live.id, to, index});
    live.ready = there;
    live.target = live.input;
    live.has_cache = true;
    live.shared.clear();
    live.prefix.clear();
    moved_[index] = std::move(live);
}

void Run::move_on() {
    const Moving next = moving_.top();
    moving_.pop();
    now_ = next.time;
    --members_[next.replica]->coming;
    members_[next.replica]->replica.enqueue(std::move(moved_[next.index]));
    free_moved_.push_back(next.index);
}

void Run::judge_saturation() {
    r_.arrivals = playback_.concurrency > 0 ? 0 : last_arrival_ - first_arrival_;
    if (r_.arrivals <= 0 || watches_.size() < 16) return;
    const auto mean_between = [&](double from, double to) {
        double sum = 0, count = 0;
        for (const Watch& w : watches_) {
            const double share = (w.time - first_arrival_) / r_.arrivals;
            if (share < from || share > to) continue;
            sum += static_cast<double>(w.waiting);
            ++count;
        }
        return count > 0 ? sum / count : 0;
    };
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const Watch& w : watches_) {
        if (w.time - first_arrival_ >= r_.arrivals / 2) least = std::min(least, w.waiting);
    }
    const double end = mean_between(0.9, 1), middle = mean_between(0.45, 0.55);
    const double many = std::max(10.0, 0.005 * static_cast<double>(r_.requests));
    r_.saturated = least >= 2 && end >= many && end > 1.1 * middle;
    if (r_.saturated) r_.sustainable_per_s = served_while_waiting();
}

// Requests per second of the slowest pool while requests waited for it.
double Run::served_while_waiting() const {
    double slowest = static_cast<double>(r_.completed) / r_.duration;
    bool found = false;
    for (std::size_t p = 0; p < system_.pools.size(); ++p) {
        double backlog = 0, tokens = 0;
        for (const auto& member : members_) {
            if (member->pool != p) continue;
            backlog += member->replica.counters().backlog;
            tokens += static_cast<double>(member->replica.counters().backlog_tokens);
        }
        const double replicas = system_.pools[p].replicas;
        if (backlog < 0.1 * replicas * r_.arrivals || tokens <= 0) continue;
        const double out = static_cast<double>(r_.tokens_out) / static_cast<double>(r_.completed);
        const double each = system_.pools[p].role == PoolRole::prefill  ? 1
                            : system_.pools[p].role == PoolRole::decode ? out - 1
                                                                        : out;
        const double rate = replicas * tokens / backlog / each;
        slowest = found ? std::min(slowest, rate) : rate;
        found = true;
    }
    return slowest;
}

void Run::pool_results() {
    double prompts = 0, cached = 0;
    for (std::size_t p = 0; p < system_.pools.size(); ++p) {
        PoolResult pool{.role = system_.pools[p].role, .replicas = system_.pools[p].replicas};
        double stepping = 0;
        for (const auto& member : members_) {
            if (member->pool != p) continue;
            const ReplicaCounters& c = member->replica.counters();
            const BlockPool& kv = member->replica.blocks();
            pool.steps += c.steps;
            pool.preemptions += c.preemptions;
            pool.blocks = kv.total();
            pool.block_tokens = member->replica.cache().block_tokens;
            pool.blocks_at_end += kv.used();
            const double time = r_.duration * pool.replicas;
            if (time > 0) {
                pool.busy += c.busy / time;
                pool.mean_batch += c.sequence_seconds / time;
                pool.kv_utilisation += c.block_seconds / time / static_cast<double>(kv.total());
            }
            stepping += c.busy;
            prompts += static_cast<double>(c.prompt_tokens);
            cached += static_cast<double>(c.cached_tokens);
        }
        if (pool.steps > 0) pool.mean_step = stepping / static_cast<double>(pool.steps);
        r_.preemptions += pool.preemptions;
        r_.pools.push_back(pool);
    }
    r_.prefix_hit_rate = prompts > 0 ? cached / prompts : 0;
    if (transferred_ > 0) r_.transfer_mean = Seconds(transfers_ / static_cast<double>(transferred_));
}

SimulationResult Run::result() {
    pull();
    for (;;) {
        double next = kNever;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            const double here = members_[i]->replica.next_event();
            if (here >= next) continue;
            next = here;
            advancing_ = i;
        }
        const double moved = moving_.empty() ? kNever : moving_.top().time;
        if (next_arrival_ == kNever && moved == kNever && next == kNever) break;
        if (next_arrival_ <= std::min(moved, next)) {
            arrive();
        } else if (moved <= next) {
            move_on();
        } else {
            members_[advancing_]->replica.advance();
        }
    }
    judge_saturation();
    pool_results();
    return std::move(r_);
}

}  // namespace

SimulationResult simulate(const System& system, const RequestSource& source, const Playback& playback,
                          const Observers& observers) {
    return Run(system, source, playback, observers).result();
}

}  // namespace headroom
