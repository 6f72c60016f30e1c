// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/tierd/audit_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/counted.hpp"
#include "base/file.hpp"
#include "console/exit_status.hpp"

namespace pmukit::cli {
namespace {

using tierd::Stay;

// Values of the fields, and the words of --explain for them.
struct Value {
    std::string_view name, text;
};

constexpr Value kHot = {"hot", "it was hot"};
constexpr Value kCold = {"cold",
                         "it was not accessed for the longest time, and a hot page needed its "
                         "place"};

struct StayValue {
    Stay reason;
    std::string_view name, text;
};
constexpr StayValue kStays[] = {
    {Stay::kLocked, "locked", "it is locked in memory (mlock), unevictable or of hugetlbfs"},
    {Stay::kForbidden, "mempolicy", "the memory policy of its mapping forbids the node"},
    {Stay::kCpuset, "cpuset", "the cpuset of its process lacks the node"},
    {Stay::kBackOff, "back_off", "it was demoted or could not be moved a short time before"},
    {Stay::kNoRoom, "no_room", "the fast node or a limit had no place left"},
    {Stay::kNotChosen, "not_chosen",
     "the policy did not choose it: not hot enough, or not for long enough"},
};

struct FateValue {
    tier::Fate fate;
    std::string_view name, text;
};
constexpr FateValue kFates[] = {
    {&tier::Moved::moved, "moved", "it moved"},
    {&tier::Moved::gone, "gone", "it did not move: it no longer existed"},
    {&tier::Moved::shared, "shared", "it did not move: another process maps it, too"},
    {&tier::Moved::busy, "busy", "it did not move: it was pinned or in use"},
    {&tier::Moved::no_room, "full", "it did not move: the node had no free memory"},
};
constexpr Value kPlanned = {"planned", "it would have moved without --dry-run"};
constexpr Value kStayed = {"stayed", "it stayed"};

template <typename Values>
std::string_view text_in(const Values &values, std::string_view name)
{
    for (const auto &value : values)
        if (value.name == name)
            return value.text;
    return {};
}

std::string_view text_of(std::string_view name)
{
    constexpr Value kOthers[] = {kHot, kCold, kPlanned, kStayed};
    for (const std::string_view text :
         {text_in(kOthers, name), text_in(kStays, name), text_in(kFates, name)})
        if (!text.empty())
            return text;
    return "unknown to this version of pmukit";
}

bool is_audit_log(std::string_view front)
{
    return front.empty() || front.starts_with("{\"schema_version\":");
}

// "2026-01-31 12:00:00 UTC"
std::string date_of(uint64_t time_ns)
{
    const auto seconds = static_cast<time_t>(time_ns / 1000000000);
    tm date{};
    char text[32] = "";
    if (::gmtime_r(&seconds, &date))
        (void)std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &date);
    return text;
}

struct Decision {
    uint64_t time_ns, pid, page, bytes, from, to, heat;
    std::string reason, result;

    bool has(uint64_t address) const { return address >= page && address - page < bytes; }
};

// nullopt: not a line of an audit log.
std::optional<Decision> parse(const std::string &line)
{
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    const auto number = [&](const char *name) {
        const auto at = json.find(name);
        return at != json.end() && at->is_number_unsigned() ? at->get<uint64_t>() : UINT64_MAX;
    };
    const auto text = [&](const char *name) {
        const auto at = json.find(name);
        return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
    };
    if (!json.is_object())
        return std::nullopt;
    Decision decision{number("time_ns"), number("pid"),  number("page"),
                      number("bytes"),   number("from"), number("to"),
                      number("heat"),    text("reason"), text("result")};
    const bool is_whole = decision.page != UINT64_MAX && !decision.result.empty();
    return is_whole ? std::optional(std::move(decision)) : std::nullopt;
}

void print_decision(const Decision &decision, Output &out)
{
    const bool is_promotion = decision.reason != kCold.name;
    out.print("{}: page {:#x} of process {}, {} bytes, {} accesses in the interval\n",
              date_of(decision.time_ns), decision.page, decision.pid, decision.bytes,
              decision.heat);
    out.print("  {} from node {} to node {}: {}\n",
              decision.result == kStayed.name ? "not promoted"
              : is_promotion                  ? "promotion"
                                              : "demotion",
              decision.from, decision.to, text_of(decision.reason));
    if (decision.result != kStayed.name)
        out.print("  result: {}\n", text_of(decision.result));
}

}  // namespace

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::string &path, bool dry_run,
                                                 uint64_t page_bytes)
{
    // O_NONBLOCK: open() of a FIFO does not wait.
    Fd file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                   0600));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0)
        return system_error(path, errno);
    char front[32] = {}, last = '\n';
    const ssize_t got = S_ISREG(status.st_mode) ? ::pread(file.get(), front, sizeof front, 0) : -1;
    if (got < 0 || !is_audit_log({front, static_cast<size_t>(got)}))
        return Error{Errc::kUsage,
                     path + ": exists and is not an audit log of pmukit tierd; name another file"};
    std::unique_ptr<AuditLog> log(new AuditLog(std::move(file), path, dry_run, page_bytes));
    // A line that was interrupted ends here.
    if (got > 0 && ::pread(log->file_.get(), &last, 1, status.st_size - 1) == 1 && last != '\n')
        log->out_.text("\n");
    return log;
}

void AuditLog::add(uint64_t time_ns, const tierd::PageMove &move)
{
    const auto fate = std::ranges::find(kFates, move.fate, &FateValue::fate);
    const bool is_planned = dry_run_ && move.fate == &tier::Moved::moved;
    print_json({{"time_ns", time_ns},
                {"pid", move.process},
                {"page", move.address},
                {"bytes", move.pages * page_bytes_},
                {"from", move.from},
                {"to", move.to},
                {"heat", move.heat},
                {"reason", (move.is_promotion ? kHot : kCold).name},
                {"result", is_planned ? kPlanned.name : fate->name}},
               out_);
}

void AuditLog::add(uint64_t time_ns, const tierd::PageStay &stay, uint32_t fast)
{
    const auto reason = std::ranges::find(kStays, stay.reason, &StayValue::reason);
    print_json({{"time_ns", time_ns},
                {"pid", stay.process},
                {"page", stay.address},
                {"bytes", stay.pages * page_bytes_},
                {"from", stay.node},
                {"to", fast},
                {"heat", stay.heat},
                {"reason", reason->name},
                {"result", kStayed.name}},
               out_);
}

Result<int> explain_page(const std::string &path, uint64_t address, std::optional<uint32_t> process,
                         Output &out)
{
    if (const Result<Fd> found = open_for_reading(path); !found)
        return found.error();
    std::ifstream log(path);
    std::string line;
    uint64_t found = 0, invalid = 0;
    while (std::getline(log, line)) {
        const std::optional<Decision> decision = parse(line);
        invalid += !decision;
        if (!decision || !decision->has(address) ||
            decision->pid != process.value_or(decision->pid))
            continue;
        found++;
        print_decision(*decision, out);
    }
    if (invalid)
        warn(path + ": " + counted(invalid, "lines are not decisions of pmukit tierd"));
    if (found)
        return invalid ? kExitFailed : kExitGood;
    return Error{Errc::kNotFound,
                 fmt::format("{}: no decision about page {:#x}: it was not hot on a slow node, and "
                             "no hot page needed its place on the fast node",
                             path, address)};
}

}  // namespace pmukit::cli
