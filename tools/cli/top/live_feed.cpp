// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Feeds that read a recording: from standard input, or from a `pmukit record -o -` that top starts.
#include "cli/top/live_feed.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/file.hpp"
#include "base/number.hpp"
#include "base/sentences.hpp"
#include "cli/drivers.hpp"
#include "cli/workload.hpp"

namespace pmukit::cli {
namespace {

class RecordingFeed : public LiveFeed {
public:
    RecordingFeed(FeedSink &sink, Fd in, PushedRecording recording)
        : in_(std::move(in)), recording_(std::move(recording))
    {
        sink.name_by(&recording_.recording());
    }

    std::string_view name() const override { return "recording"; }
    int fd() const override { return in_.get(); }
    Result<bool> take() override
    {
        std::array<std::byte, 65536> chunk;
        const ssize_t got = ::read(in_.get(), chunk.data(), chunk.size());
        if (got < 0)
            return errno == EINTR ? Result<bool>(true) : system_error("reading records", errno);
        if (got == 0)
            return false;
        const Result<void> fed = recording_.feed(Bytes(chunk.data(), static_cast<size_t>(got)));
        if (!fed && fed.error().message.find(perfdata::kFileLayoutInPipe) != std::string::npos)
            return Error{fed.error().code,
                         "standard input: top reads only the pipe layout of pmukit record -o -; "
                         "for a file use pmukit report -i FILE"};
        return fed ? Result<bool>(true) : fed.error();
    }
    Result<void> finish() override
    {
        const Result<RecordingTotals> totals = recording_.finish();
        if (!totals)
            return totals.error();
        totals_ = *totals;
        const std::string damage = recording_.recording().damage();
        return damage.empty() ? Result<void>() : Error{Errc::kDamaged, damage};
    }
    std::vector<LiveLoss> losses() const override
    {
        return {{totals_.lost_samples, sentences::kLostSamples},
                {totals_.lost_aux_bytes, sentences::kLostAux},
                {totals_.aux_truncations, sentences::kTruncatedAux},
                {totals_.aux_unknown_losses, sentences::kUnknownAux},
                {totals_.throttled(), sentences::kThrottled}};
    }
    std::optional<std::string> source() const override { return recording_.recording().source(); }
    bool marks_losses() const override { return recording_.recording().marks_losses(); }

protected:
    // Closes the pipe: a recorder that still writes then fails with EPIPE instead of blocking.
    void stop_reading() { in_.reset(); }

private:
    Fd in_;
    PushedRecording recording_;
    RecordingTotals totals_;
};

Result<PushedRecording> begin(FeedSink &sink, const std::string &name)
{
    return PushedRecording::begin(name, recorded_drivers(), sink.sink());
}

// Path of the running pmukit.
constexpr const char *kSelf = "/proc/self/exe";

// Returns the command line of the recorder. The recorded command writes its output to the
// descriptor `printed`.
std::vector<std::string> recorder_words(const FeedOptions &options, int printed)
{
    std::vector<std::string> words = {kSelf, "record", "-o", "-"};
    const bool of_some = std::ranges::any_of(options.recorder_words, [](const std::string &word) {
        return word.starts_with("--pid=") || word.starts_with("--tid=") ||
               word.starts_with("--cpu=");
    });
    if (!of_some)
        words.emplace_back("-a");
    words.insert(words.end(), options.recorder_words.begin(), options.recorder_words.end());
    for (const std::string &event : options.events)
        words.insert(words.end(), {"-e", event});
    if (!options.source.empty())
        words.insert(words.end(), {"--source", options.source});
    if (!options.command.empty()) {
        words.insert(words.end(), {"--command-output", std::to_string(printed), "--"});
        words.insert(words.end(), options.command.begin(), options.command.end());
    }
    return words;
}

class RecorderFeed final : public RecordingFeed {
public:
    RecorderFeed(FeedSink &sink, Fd in, PushedRecording recording, Workload recorder, Fd said)
        : RecordingFeed(sink, std::move(in), std::move(recording)),
          recorder_(std::move(recorder)),
          said_(std::move(said))
    {
    }
    // After an error the recorder still writes. The pipe is closed first, so that the recorder does
    // not block while the destructor waits for it.
    ~RecorderFeed() override { stop_reading(); }

    std::string_view name() const override { return "aux"; }
    Result<void> finish() override
    {
        recorder_.ask_to_end();
        for (Result<bool> more = true;;) {
            more = take();
            if (!more)
                return more.error();
            if (!*more)
                break;
        }
        // The recorder exits with the status of the recorded command. A status other than 0
        // therefore does not mean that the recording failed. If the recording succeeded, the
        // recorder has printed a message about the amount of written data.
        const bool recorded = recorder_.wait() == 0 || line_it_said("standard output").has_value();
        if (!recorded)
            return Error{Errc::kIo, line_it_said("").value_or("the recorder ended")};
        return RecordingFeed::finish();
    }

private:
    // Returns the recorder's last message that begins with this text; nullopt if no message does.
    std::optional<std::string> line_it_said(std::string_view beginning) const
    {
        std::array<char, 4096> text{};
        const ssize_t got = ::pread(said_.get(), text.data(), text.size(), 0);
        constexpr std::string_view kName = "pmukit: ";
        std::optional<std::string> said;
        for (std::string_view line :
             split({text.data(), got > 0 ? static_cast<size_t>(got) : 0}, '\n')) {
            if (line.starts_with(kName))
                line.remove_prefix(kName.size());
            if (!trim(line).empty() && line.starts_with(beginning))
                said = trim(line);
        }
        return said;
    }

    Workload recorder_;
    Fd said_;
};

}  // namespace

LiveDrivers::LiveDrivers()
{
    const PmuNames names = [this](const Stream &stream) {
        return recording_ ? recording_->pmu_name(stream.event) : std::string("unknown");
    };
    std::vector<std::pair<const Driver *, std::unique_ptr<LiveDriver>>> views;
    for (const DriverDescription *driver : drivers())
        if (driver->live)
            views.emplace_back(driver->recorded, driver->live(names));
    std::ranges::sort(views, {}, [](const auto &view) { return view.second->view().place; });
    for (auto &[driver, live] : views)
        router_.add(*driver, std::move(live));
}

Result<std::unique_ptr<LiveFeed>> make_input_feed(FeedSink &sink)
{
    Fd in(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!in)
        return system_error("standard input", errno);
    Result<PushedRecording> recording = begin(sink, "standard input");
    if (!recording)
        return recording.error();
    std::unique_ptr<LiveFeed> feed =
        std::make_unique<RecordingFeed>(sink, std::move(in), std::move(*recording));
    return feed;
}

Result<std::unique_ptr<LiveFeed>> make_recorder_feed(FeedSink &sink, const FeedOptions &options)
{
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return system_error("pipe", errno);
    Fd in(ends[0]), out(ends[1]);
    // Receives the messages of the recorder, separately from the output of its command.
    Fd said(::memfd_create("pmukit record", MFD_CLOEXEC));
    if (!said)
        return system_error("memfd_create", errno);
    const Fd printed(::fcntl(options.command_output, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!printed)
        return system_error("output of the command", errno);
    Result<PushedRecording> recording = begin(sink, "the recorder");
    if (!recording)
        return recording.error();
    Result<Workload> recorder = Workload::prepare(recorder_words(options, printed.get()),
                                                  {out.get(), said.get(), printed.get()});
    if (!recorder)
        return recorder.error();
    if (Result<void> released = recorder->release(); !released)
        return released.error();
    std::unique_ptr<LiveFeed> feed = std::make_unique<RecorderFeed>(
        sink, std::move(in), std::move(*recording), std::move(*recorder), std::move(said));
    return feed;
}

}  // namespace pmukit::cli
