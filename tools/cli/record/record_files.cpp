// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record/record_files.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/number.hpp"
#include "cli/record/record_output.hpp"
#include "console/output.hpp"
#include "perfdata/output/destination.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;

std::string numbered(const std::string &output, uint64_t number)
{
    return fmt::format("{}.{:06}", output, number);
}

constexpr uint64_t kMostFiles = 999'999'999'999;  // no recording has this many files

// Returns the number in the name of a file of this series; nullopt if the file is not part of the
// series.
std::optional<uint64_t> number_of(std::string_view name, const std::string &output)
{
    const size_t digits = output.size() + 1;
    if (name.size() <= digits)
        return std::nullopt;
    const Result<uint64_t> number = parse_u64(name.substr(digits));
    if (!number || *number > kMostFiles || name != numbered(output, *number))
        return std::nullopt;
    return *number;
}

// Returns the name without ".part-PID" if it is an unfinished file whose writer has exited: such a
// file uses disk space, so it counts as one of the series.
std::string_view finished_name(std::string_view name)
{
    constexpr std::string_view kPart = ".part-";
    const size_t at = name.rfind(kPart);
    const Result<uint64_t> pid =
        parse_u64(at == name.npos ? std::string_view() : name.substr(at + kPart.size()));
    const bool is_left = pid && *pid <= INT32_MAX && *pid != 0 &&
                         ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH;
    return is_left ? name.substr(0, at) : name;
}

// Returns true if the entry is a regular file that no other user can have created in a shared
// folder. Other entries are not part of the series: they would count as its files, and so make this
// recording delete older ones.
bool is_own_file(const fs::path &folder, const fs::path &entry)
{
    struct stat of_folder = {}, of_entry = {};
    return ::stat(folder.c_str(), &of_folder) == 0 && ::lstat(entry.c_str(), &of_entry) == 0 &&
           S_ISREG(of_entry.st_mode) &&
           !perfdata::could_be_planted(of_folder, of_entry, ::geteuid());
}

// Says that files of earlier recordings belong to the series, because they will be deleted.
std::string earlier_line(size_t files, const std::string &first, const std::string &last,
                         size_t keep)
{
    const std::string are = files == 1 ? fmt::format("{} is", first)
                                       : fmt::format("{} to {} ({} files) are", first, last, files);
    if (keep == 0)
        return are + " of earlier recordings; the numbers continue";
    return fmt::format(
        "{} of earlier recordings and count{} among the {} to keep; the oldest are "
        "deleted",
        are, files == 1 ? "s" : "", keep);
}

}  // namespace

Result<Interval> parse_interval(const std::string &text)
{
    constexpr uint64_t kMostSeconds = 366 * 86400, kMostKept = 1000000;
    const std::vector<std::string_view> parts = split(text, ',');
    const Result<uint64_t> seconds = parse_u64(parts.empty() ? std::string_view() : parts[0]);
    const Result<uint64_t> keep =
        parts.size() > 1 ? parse_u64(parts[1]) : Result<uint64_t>(uint64_t{0});
    const bool good = parts.size() <= 2 && seconds && keep && *seconds >= 1 &&
                      *seconds <= kMostSeconds && *keep <= kMostKept &&
                      (parts.size() < 2 || *keep >= 1);
    if (!good)
        return Error{Errc::kUsage, "--interval " + text +
                                       ": expected SECONDS[,KEEP], both at least 1, such as 60,10"};
    return Interval{std::chrono::seconds(*seconds), static_cast<size_t>(*keep)};
}

// Finds the files of earlier recordings, whose numbers this recording continues. The oldest files
// are deleted first. A folder that cannot be listed is an error, because new files could replace
// files in it.
Result<void> RecordFiles::find_earlier()
{
    const fs::path output(output_);
    const fs::path folder = output.has_parent_path() ? output.parent_path() : fs::path(".");
    std::multimap<uint64_t, std::string> earlier;
    std::error_code failure;
    for (fs::directory_iterator entry(folder, failure), none; !failure && entry != none;
         entry.increment(failure)) {
        const std::string name = entry->path().filename().string();
        if (!is_own_file(folder, entry->path()))
            continue;
        if (const auto number = number_of(finished_name(name), output.filename()))
            earlier.emplace(*number, (output.parent_path() / name).string());
    }
    if (failure && failure != std::errc::no_such_file_or_directory)
        return Error{Errc::kDenied, fmt::format("{}: {}; --interval continues the numbers of "
                                                "existing files: name a folder that can be listed",
                                                folder.string(), failure.message())};
    if (!earlier.empty() && earlier.rbegin()->first == kMostFiles)
        return Error{Errc::kUsage, fmt::format("{}: has the highest number; use another name",
                                               earlier.rbegin()->second)};
    if (!earlier.empty())
        warn(earlier_line(earlier.size(), earlier.begin()->second, earlier.rbegin()->second,
                          interval_->keep));
    for (auto &[number, path] : earlier) {
        number_ = number;
        finished_.push_back(std::move(path));
    }
    return {};
}

Result<void> RecordFiles::begin()
{
    if (interval_) {
        if (part_++ == 0)
            if (Result<void> found = find_earlier(); !found)
                return found;
        number_++;
    }
    path_ = interval_ ? numbered(output_, number_) : output_;
    Result<perfdata::Writer> opened = open_(path_, part_);
    if (!opened)
        return opened.error();
    writer_.emplace(std::move(*opened));
    if (interval_)  // a file must be on disk before older ones are deleted
        writer_->make_durable();
    if (interval_)
        until_ = std::chrono::steady_clock::now() + interval_->length;
    return front_(*writer_, *this, part_);
}

Result<void> RecordFiles::aux(const record::AuxChunk &chunk)
{
    perfdata::AuxtraceRecord record;
    record.offset = chunk.offset;
    record.reference = chunk.event_id;  // AUXTRACE has no event id; pmukit reads it here
    record.index = chunk.ring;
    record.tid = UINT32_MAX;
    record.cpu = static_cast<uint32_t>(chunk.cpu);
    return writer_->auxtrace(record, chunk.data.first, chunk.data.second);
}

Result<void> RecordFiles::round()
{
    if (Result<void> done = writer_->finished_round(); !done)
        return done;
    if (closing_ &&
        closing_->bytes.wait_for(std::chrono::seconds(0)) != std::future_status::timeout)
        if (Result<void> done = settle(); !done)
            return done;
    if (!interval_ || std::chrono::steady_clock::now() < until_)
        return {};
    if (Result<void> done = end_file(); !done)
        return done;
    return begin();
}

// Completes the file in another thread: this thread must continue to read the rings while a slow
// disk writes. settle() then deletes older files.
Result<void> RecordFiles::end_file()
{
    if (Result<void> done = settle(); !done)
        return done;
    if (Result<void> done = back_ ? back_(*writer_, *this) : Result<void>(); !done)
        return done;
    const auto finished = [](perfdata::Writer writer) -> Result<uint64_t> {
        const Result<void> done = writer.finish();
        if (done)
            return writer.data_bytes();
        const std::string part = writer.keep();
        return part.empty()
                   ? done.error()
                   : Error{done.error().code, done.error().message + "; it is kept as " + part};
    };
    // If no thread can be created, the file is completed in settle(), by get().
    closing_ = Closing{path_, std::async(std::launch::async | std::launch::deferred, finished,
                                         std::move(*writer_))};
    writer_.reset();
    return {};
}

Result<void> RecordFiles::settle()
{
    if (!closing_)
        return {};
    const Result<uint64_t> bytes = closing_->bytes.get();
    const std::string path = std::move(closing_->path);
    closing_.reset();
    if (!bytes)
        return bytes.error();
    bytes_ += *bytes;
    warn(fmt::format("{}: {} bytes", path, *bytes));
    finished_.push_back(path);
    while (interval_->keep && finished_.size() > interval_->keep) {
        ::unlink(finished_.front().c_str());  // another program may have deleted it
        finished_.pop_front();
    }
    return {};
}

Result<void> RecordFiles::finish()
{
    if (interval_) {
        Result<void> ended = end_file();
        return ended ? settle() : ended;
    }
    Result<void> done = back_ ? back_(*writer_, *this) : Result<void>();
    if (done)
        done = writer_->complete();
    if (done)
        done = keep_earlier(path_);
    if (done)
        done = writer_->finish();
    bytes_ = writer_->data_bytes();
    return done;
}

std::string RecordFiles::keep()
{
    return writer_ ? writer_->keep() : std::string();
}

}  // namespace pmukit::cli
