// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads TAP output in the format of the kernel's selftests (kselftest.h) and checks it: a program
// fails if it prints no plan, too few or too many results, or the same test number twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pmukit::vm {

enum class Verdict { kPass, kFail, kSkip };

struct TestResult {
    std::string program;
    std::string name;
    Verdict verdict = Verdict::kFail;
    std::string reason;  // for a skip or a failure; may be empty
};

// Returns the results of one program, at least one. Because a program may crash after complete TAP
// output, its exit code must be 0 if no test has failed; 4 is allowed if no test has passed either.
std::vector<TestResult> parse_tap(std::string_view program, std::string_view text, int exit_code);

// List of skips that are expected, one per line: "<kernel or *> <program> <test name> # <reason>".
// The reason is required.
class ExpectedSkips {
public:
    static ExpectedSkips parse(std::string_view text);
    bool contains(std::string_view kernel, const TestResult &result) const;
    const std::vector<std::string> &errors() const { return errors_; }

private:
    struct Line {
        std::string kernel, program, name;
    };
    std::vector<Line> lines_;
    std::vector<std::string> errors_;
};

}  // namespace pmukit::vm
