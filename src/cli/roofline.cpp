// SPDX-License-Identifier: Apache-2.0
#include "answers/roofline.h"

#include "cli/choices.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "report/roofline.h"

#include <CLI/CLI.hpp>

namespace headroom {

Action add_roofline(CLI::App& app) {
    struct Options {
        Subject subject;
        std::string phase = "decode", batch = "1", context = "1k";
    };
    const auto o = std::make_shared<Options>();
    add_subject_options(app, o->subject);
    app.add_option("--phase", o->phase, help_of(phases(false)));
    app.add_option("--batch", o->batch, "sequences in the step (default 1)");
    app.add_option("--context", o->context,
                   "decode: tokens attended to; prefill: tokens of the prompt (default 1k)");
    return [o] {
        OptionFaults faults;
        const bool prefill = choose("--phase", o->phase, phases(false), faults);
        const std::int64_t batch = parse_one_count("--batch", o->batch, 1, 1000000, faults);
        const std::int64_t context = parse_one_count("--context", o->context, 1, 100000000, faults);
        const Question question = load_question(o->subject, faults);
        emit(report(roofline(question, prefill, batch, context)), o->subject.output);
        return 0;
    };
}

}  // namespace headroom
