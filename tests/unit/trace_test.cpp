// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostic.h"
#include "check.h"
#include "io/trace_fields.h"
#include "io/trace_reader.h"
#include "io/traffic.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace headroom {
namespace {

struct Trace {
    std::vector<Request> requests;
    TraceReport report;
};

Trace read(const std::string& path, const TraceOptions& options = {}) {
    TraceReader reader(path, options);
    Trace trace;
    Request request;
    while (reader.next(request)) trace.requests.push_back(request);
    trace.report = reader.report();
    return trace;
}

Trace shipped(const std::string& name, const TraceOptions& options = {}) {
    return read(test::source("tests/data/traces/" + name), options);
}

std::string refusal(const std::string& name, const TraceOptions& options = {}) {
    try {
        shipped(name, options);
    } catch (const InputError& e) {
        return e.what();
    }
    return "";
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

bool any_contains(const std::vector<std::string>& texts, const std::string& part) {
    for (const std::string& text : texts) {
        if (contains(text, part)) return true;
    }
    return false;
}

class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& text, const std::string& suffix = ".csv")
        : path((std::filesystem::temp_directory_path() /
                ("headroom-trace-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)) + suffix))
                   .string()) {
        std::ofstream(path, std::ios::binary) << text;
    }
    ~TemporaryFile() { std::remove(path.c_str()); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    const std::string path;
};

}  // namespace

TEST_CASE("Azure 2023: seven decimals, CRLF, no end of line at the end", "[io]") {
    const Trace t = shipped("azure_2023.csv");
    CHECK(t.report.format == "azure");
    REQUIRE(t.requests.size() == 3);
    CHECK(t.requests[0].arrival == Seconds{});
    CHECK(test::near(t.requests[1].arrival.base(), 4.2500001, 1e-12));
    CHECK(test::near(t.requests[2].arrival.base() - t.requests[1].arrival.base(), 1e-7, 1e-6));
    CHECK(t.requests[2].input_tokens == 800);
    CHECK(t.requests[2].output_tokens == 60);
    CHECK(t.report.notes.empty());
}

TEST_CASE("Azure 2024: an offset, and no fraction on whole seconds; midnight passes", "[io]") {
    for (const char* name : {"azure_2024.csv", "azure_2024.csv.gz", "azure_2024.csv.zst"}) {
        const Trace t = shipped(name);
        REQUIRE(t.requests.size() == 3);
        CHECK(test::near(t.requests[1].arrival.base(), 0.5));
        CHECK(test::near(t.requests[2].arrival.base(), 1.50993));
    }
    CHECK(shipped("azure_2024.csv.gz").report.compression == "gzip");
    CHECK(shipped("azure_2024.csv.zst").report.compression == "zstd");
}

TEST_CASE("BurstGPT: rows without tokens are skipped with their place; version 3 writes floats", "[io]") {
    const Trace first = shipped("burstgpt_1.csv");
    CHECK(first.report.format == "burstgpt");
    CHECK(first.requests.size() == 3);
    CHECK(first.report.rows == 5);
    CHECK(first.report.rows_skipped == 2);
    CHECK(any_contains(first.report.notes, "burstgpt_1.csv:4:1: zero input and output tokens"));
    CHECK(any_contains(first.report.notes, "burstgpt_1.csv:5:1: zero output tokens"));
    CHECK(any_contains(first.report.notes, "2 of 5 rows skipped"));

    const Trace third = shipped("burstgpt_3.csv");
    REQUIRE(third.requests.size() == 2);
    CHECK(test::near(third.requests[1].arrival.base(), 2.5));
    CHECK(third.requests[1].input_tokens == 100);
    CHECK(third.requests[0].session == third.requests[1].session);
    CHECK(third.requests[0].session >= 0);
}

TEST_CASE("JSONL with hashes: Mooncake in ms and 512 tokens, Bailian in s and 16 tokens", "[io]") {
    const Trace mooncake = shipped("mooncake.jsonl");
    CHECK(mooncake.report.format == "mooncake");
    REQUIRE(mooncake.requests.size() == 3);
    CHECK(mooncake.requests[2].arrival == Seconds(3));
    CHECK(mooncake.requests[2].prefix == std::vector<std::uint64_t>{0, 1, 4, 5});
    CHECK(mooncake.requests[2].prefix_block == 512);
    CHECK(mooncake.report.notes.empty());

    const Trace bailian = shipped("bailian.jsonl");
    CHECK(bailian.report.format == "bailian");
    REQUIRE(bailian.requests.size() == 2);
    CHECK(test::near(bailian.requests[1].arrival.base(), 3.25));
    CHECK(bailian.requests[1].prefix_block == 16);
    CHECK(bailian.requests[1].session == 12);
    CHECK(bailian.requests[1].parent == 11);
    CHECK(bailian.requests[0].parent == -1);
}

TEST_CASE("AIPerf: a later turn may give a delay instead of a time", "[io]") {
    const Trace t = shipped("aiperf.jsonl");
    CHECK(t.report.format == "aiperf");
    REQUIRE(t.requests.size() == 3);
    CHECK(test::near(t.requests[2].arrival.base(), 1.5));
    CHECK(t.requests[1].prefix.empty());
    CHECK(t.requests[0].session == t.requests[2].session);
}

TEST_CASE("vidur and LLMServingSim tables", "[io]") {
    const Trace vidur = shipped("vidur.csv");
    CHECK(vidur.report.format == "vidur");
    REQUIRE(vidur.requests.size() == 2);
    CHECK(test::near(vidur.requests[1].arrival.base(), 0.5));
    for (const char* name : {"llmservingsim.tsv", "llmservingsim.jsonl"}) {
        const Trace sim = shipped(name);
        CHECK(sim.report.format == "llmservingsim");
        REQUIRE(sim.requests.size() == 2);
        CHECK(test::near(sim.requests[1].arrival.base(), 0.5));
        CHECK(sim.requests[0].input_tokens == 128);
    }
}

TEST_CASE("Any table is read by naming its columns; quotes and separators inside them are text", "[io]") {
    TraceOptions options;
    options.columns = {{"arrival", "when"}, {"input", "prompt"}, {"output", "answer"}, {"unit", "ms"}};
    const Trace t = shipped("own_columns.csv", options);
    REQUIRE(t.requests.size() == 2);
    CHECK(t.requests[1].arrival == Seconds(1));
    CHECK(t.requests[1].output_tokens == 8);

    options.columns["input"] = "promt";
    CHECK(contains(refusal("own_columns.csv", options), "did you mean \"prompt\""));
    options.columns = {{"inptu", "prompt"}};
    CHECK(contains(refusal("own_columns.csv", options), "did you mean \"input\""));
    CHECK(contains(refusal("own_columns.csv"), "--columns"));
}

TEST_CASE("A table without a header is read by positions", "[io]") {
    const TemporaryFile file("0.5,10,20\n1.5,30,40\n");
    TraceOptions options;
    options.columns = {{"arrival", "#1"}, {"input", "#2"}, {"output", "#3"}};
    const Trace t = read(file.path, options);
    REQUIRE(t.requests.size() == 2);
    CHECK(t.requests[0].input_tokens == 10);
    CHECK(t.requests[1].arrival == Seconds(1));
}

TEST_CASE("Rows out of order are sorted, equal arrivals keep the file's order, and it is said", "[io]") {
    const Trace t = shipped("disordered.csv");
    REQUIRE(t.requests.size() == 4);
    CHECK(t.requests[0].input_tokens == 100);
    CHECK(t.requests[1].input_tokens == 101);
    CHECK(t.requests[2].input_tokens == 200);
    CHECK(t.requests[3].arrival == Seconds(2));
    CHECK(t.report.rows_out_of_order == 3);
    CHECK(any_contains(t.report.notes, "3 of 4 rows were out of order"));
}

TEST_CASE("Sorting is right whatever the disorder, beyond the window too", "[io]") {
    std::uint64_t state = 1;
    for (const int reach : {10, 1000, 100000}) {
        std::string text = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
        for (int i = 0; i < 100000; ++i) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            const int at = reach == 100000
                               ? 100000 - i
                               : i + static_cast<int>((state >> 33) % static_cast<unsigned>(reach));
            text += std::to_string(at) + ",1,1\n";
        }
        const TemporaryFile file(text);
        const Trace t = read(file.path);
        REQUIRE(t.requests.size() == 100000);
        bool sorted = true;
        for (std::size_t i = 1; i < t.requests.size(); ++i) {
            sorted &= t.requests[i - 1].arrival <= t.requests[i].arrival;
        }
        CHECK(sorted);
        CHECK(any_contains(t.report.notes, "whole file is held") == (reach == 100000));
    }
}

TEST_CASE("Every faulty row is located and counted, and the others are read", "[io]") {
    const Trace t = shipped("faulty.csv");
    CHECK(t.requests.size() == 2);
    CHECK(t.report.rows == 7);
    CHECK(t.report.rows_skipped == 5);
    CHECK(any_contains(t.report.notes, "faulty.csv:3:1: not a time: \"soon\""));
    CHECK(any_contains(t.report.notes, "faulty.csv:4:3: not a count of input tokens: \"many\""));
    CHECK(any_contains(t.report.notes, "faulty.csv:5:1: too few columns"));
    CHECK(any_contains(t.report.notes, "faulty.csv:6:3: not a count of input tokens: \"-5\""));
    CHECK(any_contains(t.report.notes, "faulty.csv:7:7: not a count of output tokens: \"1.5\""));
}

TEST_CASE("Missing output lengths are refused until one is assumed", "[io]") {
    CHECK(contains(refusal("no_output.csv"), "--assume-output"));
    TraceOptions options;
    options.assume_output = 128;
    const Trace t = shipped("no_output.csv", options);
    REQUIRE(t.requests.size() == 2);
    CHECK(t.requests[1].output_tokens == 128);
    CHECK(any_contains(t.report.notes, "2 missing output lengths taken as 128"));
}

TEST_CASE("Files that are no trace are refused with a reason", "[io]") {
    CHECK(contains(refusal("absent.csv"), "no such file"));
    for (const auto& [text, reason] :
         {std::pair<const char*, const char*>{"", "holds no rows"},
          {"a,b\n1,2\n", "is no known trace"},
          {"{\"timestamp\": 0}\n", "is no known trace"},
          {"arrived_at,num_prefill_tokens,num_decode_tokens\nx,y,z\n", "none of 1 rows could be read"}}) {
        const TemporaryFile file(text);
        std::string said;
        try {
            read(file.path);
        } catch (const InputError& e) {
            said = e.what();
        }
        CHECK(contains(said, reason));
    }
}

TEST_CASE("A compressed file that is cut short is refused, not read in part", "[io]") {
    for (const char* name : {"azure_2024.csv.gz", "azure_2024.csv.zst"}) {
        std::ifstream in(test::source(std::string("tests/data/traces/") + name), std::ios::binary);
        std::string bytes((std::istreambuf_iterator<char>(in)), {});
        const TemporaryFile file(bytes.substr(0, bytes.size() - 12));
        CHECK_THROWS_AS(read(file.path), InputError);
    }
}

TEST_CASE("Times are exact to the nanosecond", "[io]") {
    using trace::parse_time;
    using trace::TimeUnit;
    CHECK(parse_time("61.114", TimeUnit::s) == 61114000000);
    CHECK(parse_time("19440110.0", TimeUnit::s) == 19440110000000000);
    CHECK(parse_time("1.944e7", TimeUnit::s) == 19440000000000000);
    CHECK(parse_time("0.0005", TimeUnit::ms) == 500);
    CHECK(parse_time("1970-01-02T00:00:00.000000001Z", TimeUnit::date) == 86400000000001);
    CHECK(parse_time("2024-02-29 12:00:00+02:00", TimeUnit::date) == 1709200800000000000);
    for (const char* bad : {"", "-1", "1:30", "abc", "1e400"}) CHECK(!parse_time(bad, TimeUnit::s));
    for (const char* bad : {"2024-13-01 00:00:00", "2024-01-01 00:00", "2024-01-01 00:00:00+0x:00"}) {
        CHECK(!parse_time(bad, TimeUnit::date));
    }
}

TEST_CASE("The Azure conversation trace has its published statistics", "[outside]") {
    const std::string data = test::outside_data();
    if (data.empty()) {
        WARN("no outside data; skipped");
        return;
    }
    const WorkloadSummary w = summarise(find_traffic(data + "/traces/azure-2023-conv.csv"));
    CHECK(w.requests == 19366);
    CHECK(w.rows_skipped == 0);
    CHECK(std::abs(w.rate.base() - 5.53) < 0.005);
    CHECK(std::abs(w.input_tokens.mean - 1155) < 0.5);
    CHECK(w.input_tokens.p50 == 1020);
    CHECK(std::abs(w.input_tokens.p90 - 2734) <= 0.5);
    CHECK(w.input_tokens.p99 == 4142);
    CHECK(std::abs(w.output_tokens.mean - 211) < 0.5);
    CHECK(w.output_tokens.p50 == 129);
    CHECK(w.output_tokens.p90 == 424);
    CHECK(w.output_tokens.p99 == 601);
}

TEST_CASE("The Mooncake conversation trace has its published prefix hit rates", "[outside]") {
    const std::string data = test::outside_data();
    if (data.empty()) {
        WARN("no outside data; skipped");
        return;
    }
    const WorkloadSummary w = summarise(find_traffic(data + "/traces/mooncake-conversation.jsonl"));
    CHECK(w.requests == 12031);
    REQUIRE(w.prefix);
    const auto percent = [](double rate) { return std::round(1000 * rate) / 10; };
    CHECK(percent(w.prefix->unlimited.block_rate) == 36.6);
    CHECK(percent(w.prefix->unlimited.token_rate) == 37.4);
    CHECK(percent(w.prefix->unlimited.request_rate) == 40.9);
    REQUIRE(w.prefix->limited.size() == 3);
    CHECK(percent(w.prefix->limited[0].block_rate) == 4.5);
    CHECK(percent(w.prefix->limited[1].block_rate) == 21.2);
    CHECK(percent(w.prefix->limited[2].block_rate) == 32.6);
    REQUIRE(w.tick);
    CHECK(test::near(w.tick->base(), 3, 0.01));
}

}  // namespace headroom
