// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/tierd/hot_feed.hpp"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include "base/budget.hpp"
#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/limits.hpp"
#include "base/saturate.hpp"
#include "cli/drivers.hpp"
#include "cli/drivers/cxl_hmu/hot_lists.hpp"
#include "cli/top/live_feed.hpp"

namespace pmukit::cli {
namespace {

using Clock = std::chrono::steady_clock;
using decode::cxl_hmu::HotList;

// Of HotList: the heat of an interval is in HotUnits instead.
constexpr size_t kWatchedUnits = 64;
constexpr size_t kMostUnits = limits::kUnits / (kNodeBytes + 16);  // per event

// Sums up the heat of each unit in an interval.
class HotUnits final : public FeedSink {
public:
    // before: called with the time of a hot-list entry before the entry counts
    explicit HotUnits(std::function<void(uint64_t time_ns)> before = [](uint64_t) {})
        : before_(std::move(before)),
          lists_([this](size_t event, HotList &list) { watch(event, list); }, kWatchedUnits)
    {
    }

    DriverSink &sink() override { return lists_; }
    void name_by(const Recording *recording) override
    {
        recording_ = recording;
        lists_.name_by(recording);
    }
    void finish() { lists_.finish(); }

    bool empty() const { return events_.empty(); }
    // Returns the heat since the last call.
    HotMemory take(const Placer &placer)
    {
        HotMemory memory;
        for (const auto &[event, units] : std::exchange(events_, {})) {
            const auto unit = known_power(lists_.by_event().at(event).totals().unit_log2);
            for (const auto &[dpa, heat] : units.heat)
                memory.add(placer, recording_->pmu_name(event), dpa, unit.value_or(0), heat);
            memory.units_left_out += units.left_out;
            if (!memory.source)
                memory.source = recording_->source(event);
        }
        return memory;
    }
    uint64_t lost() const
    {
        uint64_t sum = 0;
        for (const auto &[event, list] : lists_.by_event())
            add_to(sum, list.totals().lost);
        return sum;
    }

private:
    struct Units {
        AddressMap<double> heat;  // by address of the unit
        uint64_t left_out = 0;
    };

    void watch(size_t event, HotList &list)
    {
        list.watch([this, event](uint64_t dpa, uint64_t time_ns, uint64_t heat) {
            before_(time_ns);
            Units &units = events_[event];
            if (units.heat.size() < kMostUnits || units.heat.contains(dpa))
                units.heat[dpa] += static_cast<double>(heat);
            else
                units.left_out++;
        });
    }

    std::function<void(uint64_t)> before_;
    HotLists lists_;
    const Recording *recording_ = nullptr;
    std::map<size_t, Units> events_;
};

bool is_readable(int fd)
{
    pollfd one{fd, POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
}

class LiveHotFeed final : public HotFeed {
public:
    LiveHotFeed(Placer placer, const HotFeedOptions &options)
        : placer_(std::move(placer)), interval_(options.interval_ns), stop_fd_(options.stop_fd)
    {
    }
    Result<void> open(const HotFeedOptions &options)
    {
        Result<std::unique_ptr<LiveFeed>> feed =
            make_recorder_feed(units_, {options.events, {}, options.source, STDERR_FILENO});
        if (!feed)
            return feed.error();
        feed_ = std::move(*feed);
        return {};
    }

    // When tierd stops, the data in flight is not needed. A recorder that ended says why.
    Result<void> run(const OnInterval &on_interval) override
    {
        const Result<bool> ended = run_until_stopped(on_interval);
        const Result<void> finished = ended && *ended ? feed_->finish() : Result<void>();
        feed_.reset();
        return ended ? finished : ended.error();
    }
    uint64_t lost() const override { return units_.lost(); }

private:
    // Returns true if the feed ended, false if it shall stop.
    Result<bool> run_until_stopped(const OnInterval &on_interval)
    {
        for (auto end = Clock::now() + interval_;; end = std::max(end + interval_, Clock::now())) {
            const Result<Wait> waited = wait_until(end);
            if (!waited || *waited != Wait::kWhole)
                return waited ? Result<bool>(*waited == Wait::kEnded) : waited.error();
            const Result<bool> more = on_interval(units_.take(placer_));
            if (!more || !*more)
                return more;
        }
    }
    enum class Wait { kWhole, kEnded, kStopped };
    Result<Wait> wait_until(Clock::time_point end)
    {
        using std::chrono::milliseconds;
        while (Clock::now() < end) {
            pollfd fds[] = {{feed_->fd(), POLLIN, 0}, {stop_fd_, POLLIN, 0}};
            const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
            if (::poll(fds, 2, static_cast<int>(std::max<int64_t>(left.count(), 0))) < 0 &&
                errno != EINTR)
                return system_error("poll", errno);
            if (fds[1].revents)
                return Wait::kStopped;
            if (!fds[0].revents)
                continue;
            const Result<bool> more = feed_->take();
            if (!more)
                return more.error();
            if (!*more)
                return Wait::kEnded;
        }
        return Wait::kWhole;
    }

    Placer placer_;
    HotUnits units_;
    std::unique_ptr<LiveFeed> feed_;
    std::chrono::nanoseconds interval_;
    int stop_fd_;
};

class ReplayFeed final : public HotFeed {
public:
    ReplayFeed(Recording recording, Placer placer, const HotFeedOptions &options)
        : recording_(std::move(recording)), placer_(std::move(placer)), options_(options)
    {
    }

    Result<void> run(const OnInterval &on_interval) override
    {
        on_interval_ = on_interval;
        units_.name_by(&recording_);
        // An error of the walk that stops it is replaced by that of the interval, if any.
        const Result<RecordingTotals> walked =
            recording_.walk(units_.sink(), [this](const perfdata::Record &) {
                return more_ && *more_ ? Result<void>() : Error{Errc::kIo, "stopped"};
            });
        if (more_ && *more_ && !walked)
            return walked.error();
        if (more_ && *more_) {
            units_.finish();
            deliver();
        }
        if (!more_)
            return more_.error();
        const std::string damage = *more_ ? recording_.damage() : std::string();
        return damage.empty() ? Result<void>() : Error{Errc::kDamaged, damage};
    }
    uint64_t lost() const override { return units_.lost(); }

private:
    void at_time(uint64_t time_ns)
    {
        if (end_ns_ && time_ns >= *end_ns_)
            deliver();
        if (!end_ns_ || time_ns >= *end_ns_)
            end_ns_ = add_or_max(time_ns, options_.interval_ns);
    }
    void deliver()
    {
        if (!more_ || !*more_ || units_.empty())
            return;
        more_ = is_readable(options_.stop_fd) ? false : on_interval_(units_.take(placer_));
    }

    Recording recording_;
    Placer placer_;
    HotFeedOptions options_;
    HotUnits units_{[this](uint64_t time_ns) { at_time(time_ns); }};
    OnInterval on_interval_;
    Result<bool> more_ = true;
    std::optional<uint64_t> end_ns_;  // of the interval
};

}  // namespace

Result<std::unique_ptr<HotFeed>> make_live_feed(const HotFeedOptions &options)
{
    Result<Placer> placer = Placer::open(options.cxl_topology);
    if (!placer)
        return placer.error();
    auto feed = std::make_unique<LiveHotFeed>(std::move(*placer), options);
    if (Result<void> opened = feed->open(options); !opened)
        return opened.error();
    return Result<std::unique_ptr<HotFeed>>(std::move(feed));
}

Result<std::unique_ptr<HotFeed>> make_replay_feed(const std::string &path,
                                                  const HotFeedOptions &options)
{
    Result<Recording> recording = Recording::open(path, recorded_drivers());
    if (!recording)
        return recording.error();
    if (Result<void> front = recording->read_front(); !front)
        return front.error();
    Result<Placer> placer = Placer::open_for(*recording, options.cxl_topology, options.host);
    if (!placer)
        return placer.error();
    return Result<std::unique_ptr<HotFeed>>(
        std::make_unique<ReplayFeed>(std::move(*recording), std::move(*placer), options));
}

}  // namespace pmukit::cli
