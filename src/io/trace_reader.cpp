// SPDX-License-Identifier: Apache-2.0
#include "io/trace_reader.h"

#include "base/diagnostic.h"
#include "io/trace_rows.h"

#include <algorithm>
#include <deque>
#include <limits>

#include <fmt/core.h>

namespace headroom {
namespace {

using trace::ColumnRole;
using trace::Layout;
using trace::Rows;

// How far rows are from their place. A row must wait for at most as many rows as lie between it and the
// first earlier row with a later arrival; only rows that set a new latest arrival can be that one.
class Disorder {
  public:
    void add(std::int64_t at) {
        if (row_ == 0 || at >= latest_) {
            latest_ = at;
            records_.push_back({at, row_});
            if (records_.size() > static_cast<std::size_t>(TraceReader::kSortWindow)) {
                records_.pop_front();
                forgotten_ = true;
            }
        } else {
            ++rows;
            const auto first = std::upper_bound(records_.begin(), records_.end(), at,
                                                [](std::int64_t t, const Record& r) { return t < r.at; });
            window = std::max(window, row_ - first->row);
            if (forgotten_ && first == records_.begin()) window = std::numeric_limits<std::int64_t>::max();
        }
        ++row_;
    }

    std::int64_t rows = 0;    // that come after a later arrival
    std::int64_t window = 0;  // rows that must be held to sort them

  private:
    struct Record {
        std::int64_t at;
        std::int64_t row;
    };
    std::deque<Record> records_;
    std::int64_t row_ = 0, latest_ = 0;
    bool forgotten_ = false;
};

std::string first_line(const std::string& path, std::string& compression) {
    LineReader lines(path);
    std::string_view line;
    while (lines.next(line)) {
        if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
        compression = lines.compression();
        return std::string(line);
    }
    refuse(path, "", "holds no rows");
}

struct Waiting {
    std::int64_t at;
    std::int64_t row;
    Request request;
};

// Turned round, so that a heap's front is the earliest; equal arrivals stay in the file's order.
bool later(const Waiting& a, const Waiting& b) { return a.at != b.at ? a.at > b.at : a.row > b.row; }

}  // namespace

struct TraceReader::State {
    State(const std::string& name, const TraceOptions& given) : path(name), options(given) {
        const std::string first = first_line(path, report.compression);
        layout = trace::detect(path, first, options);
        report.format = layout.format;
        find_disorder();
        rows.emplace(path, layout, options);
    }

    void find_disorder() {
        if (layout.key[trace::index(ColumnRole::arrival)].empty()) {
            report.notes.emplace_back("no arrival times: all requests arrive at once");
            return;
        }
        Rows pass(path, trace::only(layout, {ColumnRole::arrival, ColumnRole::session, ColumnRole::delay}),
                  options);
        std::int64_t at = 0, seen = 0;
        while (pass.next_arrival(at)) disorder.add(at), ++seen;
        if (seen == 0 && layout.json) {  // the keys may be left out (AIPerf)
            layout.key[trace::index(ColumnRole::arrival)].clear();
            report.notes.emplace_back("no arrival times: all requests arrive at once");
        }
        if (disorder.rows == 0) return;
        const bool whole = disorder.window > kSortWindow;
        report.rows_out_of_order = disorder.rows;
        report.notes.push_back(fmt::format("{} of {} rows were out of order and were sorted{}", disorder.rows,
                                           seen, whole ? " (so far out that the whole file is held)" : ""));
    }

    // The next row in order: the earliest of a heap that holds the window.
    bool next_row(std::int64_t& at, Request& request) {
        if (disorder.rows == 0) return rows->next(at, request);
        while (!ended && static_cast<std::int64_t>(heap.size()) <= disorder.window) {
            Waiting row{0, read, {}};
            ended = !rows->next(row.at, row.request);
            if (ended) break;
            ++read;
            heap.push_back(std::move(row));
            std::push_heap(heap.begin(), heap.end(), later);
        }
        if (heap.empty()) return false;
        std::pop_heap(heap.begin(), heap.end(), later);
        at = heap.back().at;
        request = std::move(heap.back().request);
        heap.pop_back();
        return true;
    }

    void close() {
        closed = true;
        report.rows = rows->rows;
        report.rows_skipped = rows->faults.count();
        report.outputs_assumed = rows->outputs_assumed;
        if (emitted == 0) {
            std::vector<Diagnostic> faults = rows->faults.located();
            Diagnostic all;
            all.where.file = path;
            all.message = fmt::format("none of {} rows could be read", rows->rows);
            faults.push_back(std::move(all));
            throw InputError(std::move(faults));
        }
        for (const Diagnostic& fault : rows->faults.located()) {
            report.notes.push_back(fmt::format("{}:{}:{}: {}; row skipped", fault.where.file,
                                               fault.where.line, fault.where.column, fault.message));
        }
        if (report.rows_skipped > 0) {
            report.notes.push_back(fmt::format("{} of {} rows skipped: {}", report.rows_skipped, report.rows,
                                               rows->faults.by_kind()));
        }
        if (report.outputs_assumed > 0) {
            report.notes.push_back(fmt::format("{} missing output lengths taken as {} tokens",
                                               report.outputs_assumed, options.assume_output.value_or(0)));
        }
        if (rows->hash_counts_off > 0) {
            report.notes.push_back(
                fmt::format("{} rows have not one hash for every {} tokens of input; is that the block size?",
                            rows->hash_counts_off, layout.prefix_block));
        }
    }

    std::string path;
    TraceOptions options;
    TraceReport report;
    Layout layout;
    Disorder disorder;
    std::optional<Rows> rows;
    std::vector<Waiting> heap;
    std::int64_t read = 0, emitted = 0, origin = 0;
    bool ended = false, closed = false;
};

TraceReader::TraceReader(const std::string& path, const TraceOptions& options)
    : state_(std::make_unique<State>(path, options)) {}
TraceReader::~TraceReader() = default;
TraceReader::TraceReader(TraceReader&&) noexcept = default;

bool TraceReader::next(Request& request) {
    State& s = *state_;
    if (s.closed) return false;
    std::int64_t at = 0;
    if (!s.next_row(at, request)) return s.close(), false;
    if (s.emitted++ == 0) s.origin = at;
    request.arrival = Seconds(static_cast<double>(at - s.origin) * 1e-9);
    return true;
}

const TraceReport& TraceReader::report() const { return state_->report; }

std::string trace_format(const std::string& path, const TraceOptions& options) {
    std::string compression;
    const Layout layout = trace::detect(path, first_line(path, compression), options);
    return compression.empty() ? layout.format : fmt::format("{} ({})", layout.format, compression);
}

std::int64_t TraceReader::bytes_read() const { return state_->rows->bytes(); }

}  // namespace headroom
