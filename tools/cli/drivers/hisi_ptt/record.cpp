// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Filters are documented in Documentation/ABI/testing/sysfs-bus-event_source-devices-hisi_ptt.
#include "cli/drivers/hisi_ptt/record.hpp"

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char *kPortFolder = "root_port_filters", *kRequesterFolder = "requester_filters";
// Each other file in these folders is the filter of a PCI function.
constexpr std::string_view kNoFunction = "multiselect";

// Returns a name such as "0000:00:10.0"; nullopt if the text is not a PCI address, which must not
// become part of a path.
std::optional<std::string> function_name(std::string_view text)
{
    const auto is_part_of_name = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
    };
    const auto colons = std::ranges::count(text, ':');
    const bool dot = text.size() > 2 && text[text.size() - 2] == '.';
    if (!std::ranges::all_of(text, is_part_of_name) || !dot || std::ranges::count(text, '.') != 1 ||
        colons < 1 || colons > 2)
        return std::nullopt;
    return (colons == 1 ? "0000:" : "") + std::string(text);
}

std::string names_in(const std::string &folder)
{
    std::vector<std::string> names;
    std::error_code failure;
    for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
         at.increment(failure))
        if (at->path().filename() != kNoFunction)
            names.push_back(at->path().filename());
    std::ranges::sort(names);
    return names.empty() ? "none" : joined(names, ", ");
}

Error bad_filter(const record::EventString &event, const std::string &why)
{
    return Error{Errc::kUsage, fmt::format("event '{}': filter: {}", event.text, why)};
}

// Returns the value of the filter for a PCI function; nullopt if the folder has no such filter.
std::optional<uint64_t> filter_in(const std::string &folder, const std::string &function)
{
    const Result<std::string> text = read_small_file(folder + "/" + function);
    const Result<uint64_t> value = text ? parse_u64(trim(*text)) : Result<uint64_t>(text.error());
    return value ? std::optional(*value) : std::nullopt;
}

struct Selection {
    uint64_t value = 0;
    size_t ports = 0, requesters = 0;
};

Result<void> add_function(const record::EventString &event, const std::string &pmu,
                          std::string_view text, Selection &selection)
{
    const std::optional<std::string> function = function_name(text);
    if (!function)
        return bad_filter(event, fmt::format("'{}' is not a function such as 0000:00:10.0", text));
    const std::string ports = pmu + "/" + kPortFolder, requesters = pmu + "/" + kRequesterFolder;
    if (const std::optional<uint64_t> port = filter_in(ports, *function)) {
        selection.value |= *port;
        selection.ports++;
        return {};
    }
    if (const std::optional<uint64_t> requester = filter_in(requesters, *function)) {
        selection.value |= *requester;
        selection.requesters++;
        return {};
    }
    return bad_filter(event, fmt::format("{} has no {}; root ports: {}; requesters: {}", event.pmu,
                                         *function, names_in(ports), names_in(requesters)));
}

}  // namespace

Result<void> resolve_filter(record::EventString &event, const std::string &root)
{
    std::error_code failure;
    // A missing PMU is reported when the event is opened.
    if (!fs::exists(root + "/" + event.pmu, failure))
        return {};
    // A term such as config=0x80001 has the filter, too.
    const auto has_filter = [](const record::Term &term) {
        return term.name == "filter" || term.name == "config";
    };
    if (std::ranges::none_of(event.terms, has_filter)) {
        const std::string pmu = root + "/" + event.pmu + "/";
        return bad_filter(
            event, fmt::format("it must be given; root ports: {}; requesters: {}",
                               names_in(pmu + kPortFolder), names_in(pmu + kRequesterFolder)));
    }
    for (record::Term &term : event.terms) {
        if (term.name != "filter" || !term.value || term.value->find(':') == std::string::npos)
            continue;
        Selection selection;
        for (std::string_view part : split(*term.value, '+'))
            if (Result<void> added = add_function(event, root + "/" + event.pmu, part, selection);
                !added)
                return added;
        if (selection.requesters && selection.ports)
            return bad_filter(event, "root ports or a requester, not both");
        if (selection.requesters > 1)
            return bad_filter(event, "one requester at a time; several root ports may be given");
        term.value = fmt::format("{:#x}", selection.value);
    }
    return {};
}

}  // namespace pmukit::cli
