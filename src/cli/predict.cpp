// SPDX-License-Identifier: Apache-2.0
#include "answers/predict.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "report/predict.h"

#include <CLI/CLI.hpp>

namespace headroom {

Action add_predict(CLI::App& app) {
    struct Options {
        Subject subject;
        std::string batch = "1", context = "1k", prompt = "1k", beside = "0";
    };
    const auto o = std::make_shared<Options>();
    add_subject_options(app, o->subject);
    app.add_option("--batch", o->batch, "sequences decoded together, list or range (default 1)");
    app.add_option("--context", o->context,
                   "tokens that each attends to, the new one included; list or range (default 1k)");
    app.add_option("--prompt", o->prompt,
                   "tokens of the prompt that is prefilled, alone; list or range (default 1k)");
    app.add_option("--beside", o->beside,
                   "prompt tokens that run in the same step as the decoding sequences (default 0)");
    return [o] {
        OptionFaults faults;
        const std::int64_t beside = parse_one_count("--beside", o->beside, 0, 10000000, faults);
        const auto batches = parse_counts("--batch", o->batch, 1, 1000000, faults);
        const auto contexts = parse_counts("--context", o->context, 1, 100000000, faults);
        const auto prompts = parse_counts("--prompt", o->prompt, 1, 100000000, faults);
        const Question question = load_question(o->subject, faults);
        emit(report(predict(question, batches, contexts, prompts, beside)), o->subject.output);
        return 0;
    };
}

}  // namespace headroom
