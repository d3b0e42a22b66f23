// SPDX-License-Identifier: Apache-2.0
#include "answers/limits.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/policies.h"
#include "report/limits.h"

#include <CLI/CLI.hpp>

namespace headroom {

Action add_limits(CLI::App& app) {
    struct Options {
        Subject subject;
        std::string context = "1k,4k,8k,32k", policies;
    };
    const auto o = std::make_shared<Options>();
    add_subject_options(app, o->subject);
    app.add_option("--context", o->context,
                   "tokens of a sequence, prompt and output; list or range (default 1k,4k,8k,32k)");
    app.add_option("--policy", o->policies,
                   "also the batch under these allocation policies, a list of " + policy_names());
    return [o] {
        OptionFaults faults;
        const auto contexts = parse_counts("--context", o->context, 1, 100000000, faults);
        const auto policies = parse_policies("--policy", o->policies, faults);
        const LimitsAnswer answer = limits(load_question(o->subject, faults), contexts, policies);
        emit(report(answer), o->subject.output);
        return answer.fits ? 0 : 1;
    };
}

}  // namespace headroom
