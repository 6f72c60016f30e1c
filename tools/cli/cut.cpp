// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit cut: writes a part of a recording, selected by time, CPU, event and AUX buffer.
#include "perfdata/cut.hpp"

#include <algorithm>

#include "base/number.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "console/temp_file.hpp"
#include "console/terminal.hpp"
#include "session/event_choice.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {
namespace {

// Parses seconds with up to nine decimals, as perf script prints and its --time accepts them.
std::optional<uint64_t> parse_time_ns(std::string_view text)
{
    constexpr size_t kDecimals = 9;
    constexpr uint64_t kSecond_ns = 1000000000;
    const size_t dot = text.find('.');
    std::string decimals(dot == text.npos ? std::string_view() : text.substr(dot + 1));
    if (dot != text.npos && (decimals.empty() || decimals.size() > kDecimals))
        return std::nullopt;
    decimals.resize(kDecimals, '0');
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!std::ranges::all_of(decimals, is_digit))
        return std::nullopt;
    const std::string whole(text.substr(0, dot));
    if (!std::ranges::all_of(whole, is_digit))
        return std::nullopt;
    const Result<uint64_t> seconds = parse_u64(whole);
    const Result<uint64_t> rest = parse_u64(decimals);
    if (!seconds || !rest || *seconds > UINT64_MAX / kSecond_ns - 1)
        return std::nullopt;
    return *seconds * kSecond_ns + *rest;
}

// Parses --time: "FROM,TO", "FROM," or ",TO", in seconds.
Result<void> parse_times(const std::string &text, perfdata::CutSelection &selection)
{
    if (text.empty())
        return {};
    const size_t comma = text.find(',');
    const std::string first = text.substr(0, comma),
                      last = comma == text.npos ? "" : text.substr(comma + 1);
    const auto begin = first.empty() ? std::optional<uint64_t>(0) : parse_time_ns(first);
    const auto end = last.empty() ? std::optional<uint64_t>(UINT64_MAX) : parse_time_ns(last);
    if (comma == text.npos || !begin || !end || *begin > *end)
        return Error{Errc::kUsage,
                     "--time " + text + ": expected FROM,TO in seconds, such as 12.5,13 or 12.5,"};
    selection.begin_ns = *begin;
    selection.end_ns = *end;
    return {};
}

// Highest AUX buffer number: 2^24 buffers of one 4 KiB page hold 64 GiB of AUX data.
constexpr int kMaxBuffer = (1 << 24) - 1;

Result<std::vector<int>> parse_numbers(const char *option, const std::string &text, int most)
{
    Result<std::vector<int>> numbers = parse_list(text, most);
    if (!numbers)
        return Error{Errc::kUsage,
                     fmt::format("{} {}: expected a list such as 0-3,8, of numbers up to {}",
                                 option, text, most)};
    std::ranges::sort(*numbers);
    return numbers;
}

Result<perfdata::CutSelection> make_selection(const CutOptions &options)
{
    perfdata::CutSelection selection;
    if (Result<void> times = parse_times(options.time, selection); !times)
        return times.error();
    Result<std::vector<int>> cpus = parse_numbers("--cpu", options.cpus, kMaxCpu);
    if (!cpus)
        return cpus.error();
    Result<std::vector<int>> buffers = parse_numbers("--buffer", options.buffers, kMaxBuffer);
    if (!buffers)
        return buffers.error();
    selection.cpus = std::move(*cpus);
    selection.buffers = std::move(*buffers);
    return selection;
}

Result<perfdata::CutRecording> cut(perfdata::Reader &plan, perfdata::Reader &copy,
                                   const perfdata::CutSelection &selection,
                                   const CutOptions &options)
{
    Progress progress("cutting " + options.input, 2 * plan.data_end());
    return perfdata::cut_recording(plan, copy, selection, options.output,
                                   [&](uint64_t bytes) { progress.at(bytes); });
}

}  // namespace

Result<int> run_cut(const CutOptions &options, Output &out)
{
    if (Result<void> begun =
            begin_output(options.output, {options.input}, kRecordings, options.force);
        !begun)
        return begun.error();
    Result<perfdata::CutSelection> selection = make_selection(options);
    if (!selection)
        return selection.error();
    if (can_be_read_once_only(options.input))
        return Error{Errc::kUsage, "cut reads its input twice; name a file with -i"};
    Result<perfdata::Reader> plan = open_recording(options.input);
    if (!plan)
        return plan.error();
    Result<perfdata::Reader> copy = open_recording(options.input);
    if (!copy)
        return copy.error();
    if (Result<void> front = plan->read_front(); !front)
        return in_file(options.input, front.error());
    Result<std::vector<bool>> events = choose_events(*plan, options.events);
    if (!events)
        return events.error();
    selection->events = std::move(*events);

    Result<perfdata::CutRecording> made = cut(*plan, *copy, *selection, options);
    if (!made)
        return in_file(options.input, made.error());
    const perfdata::CutTotals &totals = made->totals;
    out.print("{}: {} of {} samples, {} of {} AUX buffers ({} bytes)\n", options.output,
              totals.samples_kept, totals.samples, totals.buffers_kept, totals.buffers,
              totals.aux_bytes_kept);
    const int status = say_troubles({damage_of(*copy, options.input)});
    return named_last(made->file, status);
}

}  // namespace pmukit::cli
