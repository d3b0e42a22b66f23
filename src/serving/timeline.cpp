// SPDX-License-Identifier: Apache-2.0
#include "serving/timeline.h"

#include <fmt/core.h>

namespace headroom {

std::string timeline_event(const StepRecord& s) {
    const char* kind = s.chunks == 0 ? "decode" : s.decodes == 0 ? "prefill" : "decode + prefill";
    std::string text = fmt::format(
        R"({{"name":"{}","ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"decodes":{},"context":{},"prompt_tokens":{},"prompts":{}}}}},)"
        "\n",
        kind, s.replica, s.lane, 1e6 * s.begin, 1e6 * (s.end - s.begin), s.decodes, s.decode_context,
        s.prompt_tokens, s.chunks);
    text += fmt::format(
        R"({{"name":"sequences","ph":"C","pid":{},"ts":{:.3f},"args":{{"running":{},"waiting":{}}}}},)"
        "\n",
        s.replica, 1e6 * s.begin, s.running, s.waiting);
    text +=
        fmt::format(R"({{"name":"KV blocks","ph":"C","pid":{},"ts":{:.3f},"args":{{"used":{},"free":{}}}}},)"
                    "\n",
                    s.replica, 1e6 * s.begin, s.blocks_used, s.blocks - s.blocks_used);
    return text;
}

std::string timeline_event(const RequestRecord& r) {
    const auto event = [&](const char* phase, double time, const std::string& args) {
        return fmt::format(R"({{"name":"request","cat":"request","ph":"{}","id":{},"pid":0,"ts":{:.3f}{}}},)"
                           "\n",
                           phase, r.id, 1e6 * time, args);
    };
    return event(
               "b", r.arrival,
               fmt::format(
                   R"(,"args":{{"input_tokens":{},"output_tokens":{},"cached_tokens":{},"preemptions":{}}})",
                   r.input, r.output, r.cached, r.preemptions)) +
           event("n", r.first_token, R"(,"args":{"first_token":true})") + event("e", r.finished, "");
}

std::string requests_csv_header() {
    return "id,arrival_s,ttft_s,tpot_s,e2e_s,input_tokens,output_tokens,samples,cached_tokens,preemptions\n";
}

std::string requests_csv_row(const RequestRecord& r) {
    const double ttft = r.first_token - r.arrival, e2e = r.finished - r.arrival;
    const std::string tpot =
        r.output > 1 ? fmt::format("{:.6f}", (e2e - ttft) / static_cast<double>(r.output - 1)) : "";
    return fmt::format("{},{:.6f},{:.6f},{},{:.6f},{},{},{},{},{}\n", r.id, r.arrival, ttft, tpot, e2e,
                       r.input, r.output, r.width, r.cached, r.preemptions);
}

}  // namespace headroom
