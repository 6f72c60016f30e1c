// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_tap.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "vmrun_text.hpp"

namespace pmukit::vm {

namespace {

constexpr int kExitSkip = 4;  // KSFT_SKIP

std::string_view trim(std::string_view text)
{
    size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// Removes a number from the front of the text and returns it.
std::optional<unsigned> take_number(std::string_view &text)
{
    unsigned value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc())
        return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return value;
}

bool take_prefix(std::string_view &text, std::string_view prefix)
{
    if (!text.starts_with(prefix))
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

// State of the parser while it reads the output of one program.
struct TapReading {
    std::optional<unsigned> plan;
    bool plan_twice = false;
    bool skip_all = false;
    std::string skip_all_reason;
    std::string bail_out;
    std::set<unsigned> numbers;
    bool number_twice = false;
    std::vector<TestResult> results;
};

void read_plan(std::string_view line, TapReading &tap)
{
    std::string_view rest = line;
    std::optional<unsigned> count = take_prefix(rest, "1..") ? take_number(rest) : std::nullopt;
    if (!count)
        return;
    tap.plan_twice = tap.plan_twice || tap.plan.has_value();
    tap.plan = count;
    rest = trim(rest);
    if (*count == 0 && take_prefix(rest, "# SKIP")) {
        tap.skip_all = true;
        tap.skip_all_reason = trim(rest);
    }
}

void read_result(std::string_view program, std::string_view line, TapReading &tap)
{
    bool good = take_prefix(line, "ok ");
    if (!good && !take_prefix(line, "not ok "))
        return;
    std::optional<unsigned> number = take_number(line);
    if (!number)
        return;
    tap.number_twice = !tap.numbers.insert(*number).second || tap.number_twice;

    line = trim(line);
    if (line.starts_with("- "))
        line = trim(line.substr(2));
    size_t hash = line.find(" # ");
    std::string_view directive = hash == std::string_view::npos ? "" : trim(line.substr(hash + 3));
    TestResult result{std::string(program), std::string(trim(line.substr(0, hash))),
                      good ? Verdict::kPass : Verdict::kFail, std::string(directive)};
    if (good && directive.starts_with("SKIP"))
        result.verdict = Verdict::kSkip;
    tap.results.push_back(std::move(result));
}

// Returns why the output as a whole is invalid, or an empty text if it is valid.
std::string failure_of(const TapReading &tap, int exit_code)
{
    if (!tap.bail_out.empty())
        return fmt::format("bailed out: {}", tap.bail_out);
    if (!tap.plan)
        return fmt::format("no TAP plan (exit code {})", exit_code);
    if (tap.plan_twice)
        return "more than one TAP plan";
    if (tap.number_twice || (!tap.numbers.empty() && *tap.numbers.rbegin() > *tap.plan))
        return "a test number twice or beyond the plan";
    if (tap.results.size() != *tap.plan)
        return fmt::format("planned {} tests, saw {} (exit code {})", *tap.plan, tap.results.size(),
                           exit_code);
    if (*tap.plan == 0 && !tap.skip_all)
        return "an empty plan tests nothing";
    bool failed = std::any_of(tap.results.begin(), tap.results.end(),
                              [](const TestResult &r) { return r.verdict == Verdict::kFail; });
    bool passed = std::any_of(tap.results.begin(), tap.results.end(),
                              [](const TestResult &r) { return r.verdict == Verdict::kPass; });
    if (!failed && exit_code != 0 && (passed || exit_code != kExitSkip))
        return fmt::format("exit code {} although no test failed", exit_code);
    return {};
}

}  // namespace

std::vector<TestResult> parse_tap(std::string_view program, std::string_view text, int exit_code)
{
    TapReading tap;
    for (const std::string &line : lines_of(text)) {
        std::string_view rest = line;
        if (take_prefix(rest, "Bail out!"))
            tap.bail_out = rest.empty() ? "no reason given" : std::string(trim(rest));
        read_plan(line, tap);
        read_result(program, line, tap);
    }
    std::string why = failure_of(tap, exit_code);
    if (!why.empty())
        tap.results.push_back({std::string(program), "whole program", Verdict::kFail, why});
    else if (tap.skip_all)
        tap.results.push_back(
            {std::string(program), "whole program", Verdict::kSkip, tap.skip_all_reason});
    return tap.results;
}

ExpectedSkips ExpectedSkips::parse(std::string_view text)
{
    ExpectedSkips skips;
    for (const std::string &line : lines_of(text)) {
        if (line.empty() || line[0] == '#')
            continue;
        size_t hash = line.find('#');
        std::vector<std::string> words = words_of(std::string_view(line).substr(0, hash));
        if (hash == std::string::npos || words.size() != 3) {
            skips.errors_.push_back(
                fmt::format("'{}' is not '<kernel> <program> <test> # reason'", line));
            continue;
        }
        skips.lines_.push_back({words[0], words[1], words[2]});
    }
    return skips;
}

bool ExpectedSkips::contains(std::string_view kernel, const TestResult &result) const
{
    return std::any_of(lines_.begin(), lines_.end(), [&](const Line &line) {
        return (line.kernel == "*" || line.kernel == kernel) && line.program == result.program &&
               line.name == result.name;
    });
}

}  // namespace pmukit::vm
