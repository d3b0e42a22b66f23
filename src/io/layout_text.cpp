// SPDX-License-Identifier: Apache-2.0
// layout  := item (" " item)*
// item    := [count "*"] (name | "(" layout ")")
#include "io/model_reader.h"

#include <algorithm>
#include <charconv>

namespace headroom {
namespace {

constexpr std::size_t kMostLayers = 10'000;

// The repetition that starts at `from`: the period and how often it comes, the longest stretch first.
struct Run {
    std::size_t period = 1;
    std::size_t times = 1;
};

Run best_run(const std::vector<int>& layout, std::size_t from, std::size_t to) {
    Run best;
    for (std::size_t period = 1; from + 2 * period <= to; ++period) {
        std::size_t end = from + period;
        while (end < to && layout[end] == layout[end - period]) ++end;
        const std::size_t times = (end - from) / period;
        if (times >= 2 && times * period > best.times * best.period) best = {period, times};
    }
    return best;
}

std::string write_range(const std::vector<int>& layout, std::size_t from, std::size_t to,
                        const std::vector<std::string>& names) {
    std::string text;
    while (from < to) {
        const Run run = best_run(layout, from, to);
        if (!text.empty()) text += " ";
        if (run.times > 1) text += std::to_string(run.times) + "*";
        const std::string once = run.period == 1 ? names[static_cast<std::size_t>(layout[from])]
                                                 : write_range(layout, from, from + run.period, names);
        text += run.period == 1 ? once : "(" + once + ")";
        from += run.period * run.times;
    }
    return text;
}

class Parser {
  public:
    Parser(const std::string& text, const std::vector<std::string>& names) : text_(text), names_(names) {}

    std::variant<std::vector<int>, LayoutFault> parse() {
        std::vector<int> layers = sequence(0);
        if (!fault_ && at_ < text_.size()) fail("a layer's name is needed here");
        if (!fault_ && layers.empty()) fail("no layers");
        if (fault_) return *fault_;
        return layers;
    }

  private:
    void fail(std::string message, std::string word = "") {
        if (!fault_) fault_ = LayoutFault{at_, std::move(message), std::move(word)};
    }
    void skip_spaces() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    }
    static bool in_name(char c) { return c != ' ' && c != '(' && c != ')' && c != '*'; }

    std::vector<int> sequence(int depth) {
        std::vector<int> layers;
        for (skip_spaces(); !fault_ && at_ < text_.size() && text_[at_] != ')'; skip_spaces()) {
            const std::vector<int> part = item(depth);
            if (layers.size() + part.size() > kMostLayers) fail("more layers than any model has");
            if (!fault_) layers.insert(layers.end(), part.begin(), part.end());
        }
        return layers;
    }

    std::vector<int> item(int depth) {
        const std::size_t times = count();
        std::vector<int> once;
        if (at_ < text_.size() && text_[at_] == '(') {
            if (depth > 8) fail("nested too deep");
            ++at_;
            if (!fault_) once = sequence(depth + 1);
            if (at_ >= text_.size()) fail("\")\" is missing");
            ++at_;
        } else {
            once = name();
        }
        std::vector<int> all;
        if (once.size() * times > kMostLayers) fail("more layers than any model has");
        for (std::size_t i = 0; !fault_ && i < times; ++i) all.insert(all.end(), once.begin(), once.end());
        return all;
    }

    // "12*", or 1 when what comes is a name.
    std::size_t count() {
        const std::size_t star = text_.find_first_of("* ()", at_);
        if (star == std::string::npos || text_[star] != '*') return 1;
        std::size_t times = 0;
        const char* end = text_.data() + star;
        const auto [stopped, code] = std::from_chars(text_.data() + at_, end, times);
        if (code != std::errc{} || stopped != end || times == 0 || times > kMostLayers)
            fail("a count is needed before \"*\"");
        at_ = star + 1;
        return times;
    }

    std::vector<int> name() {
        std::size_t end = at_;
        while (end < text_.size() && in_name(text_[end])) ++end;
        const std::string word = text_.substr(at_, end - at_);
        const auto found = std::find(names_.begin(), names_.end(), word);
        if (word.empty()) {
            fail("a layer's name is needed here");
        } else if (found == names_.end()) {
            fail("no kind of layer \"" + word + "\" under kinds", word);
        }
        at_ = end;
        return {static_cast<int>(found - names_.begin())};
    }

    const std::string& text_;
    const std::vector<std::string>& names_;
    std::size_t at_ = 0;
    std::optional<LayoutFault> fault_;
};

}  // namespace

std::string write_layout(const std::vector<int>& layout, const std::vector<std::string>& names) {
    return write_range(layout, 0, layout.size(), names);
}

std::variant<std::vector<int>, LayoutFault> read_layout(const std::string& text,
                                                        const std::vector<std::string>& names) {
    return Parser(text, names).parse();
}

}  // namespace headroom
