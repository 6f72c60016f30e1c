// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Statements about hardware that the drivers rely on, each with a check for a real machine. So far,
// only the models and simulators of this project are known to satisfy them. Each driver has one
// table of statements (cxl_hmu.cpp and so on).
#pragma once

#include <signal.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/text.hpp"
#include "console/signals.hpp"

namespace pmukit::cli::qualify {

enum class Verdict { kPass, kFail, kNotTested };
std::string_view name_of(Verdict verdict);  // "PASS", "FAIL", "NOT TESTED"

struct Outcome {
    Verdict verdict;
    std::string seen;
};

template <typename... Args>
std::string text_of(fmt::format_string<Args...> format, Args &&...args)
{
    std::string text;
    append(text, format, std::forward<Args>(args)...);
    return text;
}
template <typename... Args>
Outcome pass(fmt::format_string<Args...> format, Args &&...args)
{
    return {Verdict::kPass, text_of(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Outcome fail(fmt::format_string<Args...> format, Args &&...args)
{
    return {Verdict::kFail, text_of(format, std::forward<Args>(args)...)};
}
template <typename... Args>
Outcome not_tested(fmt::format_string<Args...> format, Args &&...args)
{
    return {Verdict::kNotTested, text_of(format, std::forward<Args>(args)...)};
}
// For a failed access: it does not show whether the device satisfies the statement.
inline Outcome not_tested(const Error &error)
{
    return {Verdict::kNotTested, error.message};
}

enum class Kind : uint8_t {
    kRead,     // reads registers and files
    kWrite,    // writes registers that are not in use, and restores each value
    kEvent,    // opens an event of the PMU briefly
    kOutside,  // needs something that a program does not have; `how` names it
};
std::string_view name_of(Kind kind);

struct Statement {
    unsigned number;  // never changes, because bug reports refer to it
    Kind kind;
    const char *text;
    const char *source;  // a specification, a driver, or "assumed"
    const char *how;     // how to check it, or what a check would need
};

class Machine;

template <typename Device>
struct Check : Statement {
    Outcome (*run)(const Machine &machine, Device &device) = nullptr;
};

struct Line {
    Statement statement;
    Outcome outcome;
};

// Properties of a device for a bug report, one "name value" per line.
struct Facts {
    bool full = false;  // write whole memory addresses, not only their offsets in the page
    std::string text;

    void add(std::string_view name, std::string_view value)
    {
        append(text, "{} {}\n", name, value);
    }
    void hex(std::string_view name, uint64_t value) { append(text, "{} {:#x}\n", name, value); }
    // A memory address; without `full` only its offset in the page.
    void address(std::string_view name, uint64_t value)
    {
        if (full)
            return hex(name, value);
        append(text, "{} page+{:#x}\n", name, value & 0xfff);
    }
};

struct DeviceReport {
    std::string device;
    std::vector<Line> lines;  // ordered by number
    std::string facts;
};

struct Driver {
    std::string_view name;
    std::vector<Statement> (*statements)();
    // Errc::kNotFound: this machine does not have the hardware.
    Result<std::vector<DeviceReport>> (*examine)(const Machine &machine, bool full);
};
std::span<const Driver> drivers();

// While an object of this class exists, signals that end the program are blocked, so that registers
// are restored first.
class SignalsWait {
public:
    SignalsWait()
    {
        sigset_t ending;
        sigemptyset(&ending);
        for (const int signal : ending_signals())
            sigaddset(&ending, signal);
        sigaddset(&ending, SIGPIPE);
        sigprocmask(SIG_BLOCK, &ending, &before_);
    }
    SignalsWait(const SignalsWait &) = delete;
    SignalsWait &operator=(const SignalsWait &) = delete;
    ~SignalsWait() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

constexpr const char *kNeedsActive = "writes to the device: run with --active";

// held() is called before each check that writes. It returns the reason why the device's registers
// must not be written now; nullopt: they may be written.
template <typename Device>
Outcome run_check(const Machine &machine, bool active, const Check<Device> &check, Device &device,
                  std::optional<std::string> (*held)(const Machine &, Device &))
{
    if (check.kind == Kind::kOutside)
        return not_tested("needs {}", check.how);
    if (check.kind == Kind::kRead)
        return check.run(machine, device);
    if (!active)
        return not_tested("{}", kNeedsActive);
    const SignalsWait wait;
    if (check.kind == Kind::kWrite)
        if (const std::optional<std::string> why = held(machine, device))
            return not_tested("not written: {}", *why);
    return check.run(machine, device);
}

// Runs all checks that only read before the first check that writes.
template <typename Device>
std::vector<Line> run_checks(const Machine &machine, bool active,
                             std::span<const Check<Device>> checks, Device &device,
                             std::optional<std::string> (*held)(const Machine &, Device &))
{
    std::map<unsigned, Line> lines;
    for (const bool writes : {false, true})
        for (const Check<Device> &check : checks)
            if ((check.kind == Kind::kWrite || check.kind == Kind::kEvent) == writes)
                lines[check.number] = {check, run_check(machine, active, check, device, held)};
    std::vector<Line> ordered;
    for (auto &[number, line] : lines)
        ordered.push_back(std::move(line));
    return ordered;
}

template <typename Device>
std::vector<Statement> statements_of(std::span<const Check<Device>> checks)
{
    return {checks.begin(), checks.end()};
}

// Combines the outcomes for all parts of a device: the first FAIL, if a part fails; otherwise PASS,
// if a part passes, with the number of such parts; otherwise NOT TESTED.
template <typename Parts, typename Examine>
Outcome each(Parts &parts, Examine examine)
{
    std::optional<Outcome> first;
    size_t passed = 0;
    for (auto &part : parts) {
        Outcome outcome = examine(part);
        if (outcome.verdict == Verdict::kFail)
            return {Verdict::kFail, part.name + ": " + outcome.seen};
        passed += outcome.verdict == Verdict::kPass;
        if (!first || (first->verdict != Verdict::kPass && outcome.verdict == Verdict::kPass))
            first = {outcome.verdict, part.name + ": " + outcome.seen};
    }
    if (!first)
        return not_tested("there is none");
    if (passed && std::size(parts) > 1)
        append(first->seen, "; {} of {} alike", passed, std::size(parts));
    return *first;
}

}  // namespace pmukit::cli::qualify
