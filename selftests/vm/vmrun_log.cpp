// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_log.hpp"

#include <algorithm>
#include <utility>

#include "base/number.hpp"
#include "vmrun_text.hpp"

namespace pmukit::vm {

namespace {

// Parts of log lines that are warnings. A comment names the part of the kernel that prints the
// line.
constexpr std::string_view kWarnings[] = {
    "WARNING:",  // WARN(), lockdep
    "BUG:",      // BUG(), KASAN, atomic sleep, soft lockup
    "KASAN",
    "KCSAN",
    "KFENCE",
    "UBSAN",
    "Oops",  // page and protection faults
    "general protection fault",
    "Unable to handle kernel",  // arm64's page faults
    "Internal error:",          // arm64's oops
    "kernel BUG at",
    "Kernel panic",
    "Call Trace:",                 // x86 backtraces of any cause
    "Call trace:",                 // arm64 backtraces
    "possible recursive locking",  // lockdep
    "possible circular locking",
    "inconsistent lock state",
    "suspicious RCU usage",           // PROVE_RCU
    "sleeping function called from",  // DEBUG_ATOMIC_SLEEP
    "scheduling while atomic",
    "unreferenced object",  // kmemleak
    "suspected memory leaks",
    "Cannot allocate a kmemleak_object structure",  // after this message, kmemleak disables itself
    "Kernel memory leak detector disabled",
    "detected stall",         // RCU
    "blocked for more than",  // hung task
    "soft lockup",            // watchdog
    "hard LOCKUP",
    "ODEBUG:",       // DEBUG_OBJECTS
    "DMA-API:",      // DMA_API_DEBUG
    "nobody cared",  // an interrupt without a handler
    "Trying to vfree",
    "refcount_t:",
    "list_add corruption",
    "list_del corruption",
};

bool contains_any(std::string_view line, std::span<const std::string_view> parts)
{
    return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
        return line.find(part) != std::string_view::npos;
    });
}

// The line that KCSAN and KASAN print above and below a report.
constexpr std::string_view kBar =
    "==================================================================";

bool has(std::string_view line, std::string_view part)
{
    return line.find(part) != std::string_view::npos;
}

// In a backtrace, the module of a function is in brackets.
bool names_any(std::string_view line, std::span<const std::string> modules)
{
    return std::any_of(modules.begin(), modules.end(),
                       [&](const std::string &module) { return has(line, "[" + module + "]"); });
}

// True for text that begins with a time such as "[    9.062233]".
bool begins_with_kernel_time(std::string_view text)
{
    constexpr std::string_view kDigits = "0123456789";
    const size_t second = text.find_first_not_of(' ', 1);
    const size_t point = text.find_first_not_of(kDigits, second);
    if (!text.starts_with('[') || point == second || point == std::string_view::npos ||
        text[point] != '.')
        return false;
    const size_t end = text.find_first_not_of(kDigits, point + 1);
    return end != std::string_view::npos && end == point + 7 && text[end] == ']';
}

// Returns the position of a kernel message in the line, or npos.
size_t where_kernel_speaks(std::string_view line)
{
    size_t at = line.find('[');
    while (at != std::string_view::npos && !begins_with_kernel_time(line.substr(at)))
        at = line.find('[', at + 1);
    return at;
}

}  // namespace

std::optional<std::string> GuestLines::take(std::string_view line)
{
    const size_t kernel = where_kernel_speaks(line);
    begun_ += line.substr(0, kernel);
    if (kernel != std::string_view::npos)
        return std::nullopt;
    return std::exchange(begun_, {});
}

std::string without_races_of_others(std::string_view log, std::span<const std::string> modules)
{
    std::string kept, report;
    bool inside = false, ours = false;
    std::vector<std::string> lines = lines_of(log);
    for (size_t i = 0; i < lines.size(); i++) {
        bool bar = has(lines[i], kBar);
        bool opens = bar && i + 1 < lines.size() && has(lines[i + 1], "BUG: KCSAN");
        if (opens && !inside) {
            inside = true;
            ours = false;
        }
        (inside ? report : kept) += lines[i] + "\n";
        ours = ours || names_any(lines[i], modules);
        if (!inside || !bar || opens)
            continue;
        kept += ours ? report : "";
        report.clear();
        inside = false;
    }
    return kept + report;
}

std::vector<std::string> warnings_in(std::string_view log,
                                     std::span<const std::string_view> harmless)
{
    std::vector<std::string> found;
    for (std::string &line : lines_of(log))
        if (contains_any(line, kWarnings) && !contains_any(line, harmless))
            found.push_back(std::move(line));
    return found;
}

bool has_panicked(std::string_view log)
{
    return log.find("Kernel panic - not syncing") != std::string_view::npos;
}

bool has_asserted(std::string_view errors)
{
    size_t at = errors.find(": Assertion `");
    return at != std::string_view::npos && errors.find("' failed", at) != std::string_view::npos;
}

std::map<std::string, uint64_t> violations_in(std::string_view model_log)
{
    constexpr std::string_view kBegin = "model: driver=", kCount = " violations=";
    std::map<std::string, uint64_t> sums;
    for (std::string_view line : split(model_log, '\n')) {
        const size_t at = line.find(kCount);
        if (!line.starts_with(kBegin) || at == line.npos)
            continue;
        const std::string driver(
            line.substr(kBegin.size(), line.find(' ', kBegin.size()) - kBegin.size()));
        std::string_view rest = line.substr(at + kCount.size());
        const Result<uint64_t> count = parse_u64(rest.substr(0, rest.find(' ')));
        sums[driver] += count ? *count : 1;  // a count that is not a number is one violation
    }
    return sums;
}

}  // namespace pmukit::vm
