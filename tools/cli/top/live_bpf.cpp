// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The feed that reads trace events. A driver emits trace events only while a perf event of its PMU
// is open. This may be a counting event that the feed opens, or a perf event of another process.
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "base/file.hpp"
#include "base/number.hpp"
#include "cli/drivers.hpp"
#include "cli/record/record_events.hpp"
#include "cli/top/live_feed.hpp"
#include "record/bpf_tap.hpp"
#include "record/perf_event.hpp"

namespace pmukit::cli {
namespace {

// Opens the event on each CPU of its cpumask, without sampling.
Result<void> open_counters(const record::EventString &event, std::vector<Fd> &counters)
{
    const Result<record::Pmu> pmu = record::read_pmu(record::kSysfsPmus, event.pmu);
    if (!pmu)
        return pmu.error();
    if (!recorder_of_pmu(event.pmu) || !pmu->cpumask || pmu->cpumask->empty())
        return Error{Errc::kUsage, event.text + ": it has no trace event; try --feed aux"};
    Result<record::EventSettings> settings = record::encode_event(event, *pmu);
    if (!settings)
        return settings.error();
    settings->period = 0;
    settings->frequency_hz.reset();
    const std::vector<std::byte> attr =
        record::make_attr(*pmu, *settings, record::Start::kWhenEnabled, false);
    for (const int cpu : *pmu->cpumask) {
        Result<Fd> fd = record::open_event(attr, {-1, cpu}, -1, *pmu, event.text);
        if (!fd)
            return fd.error();
        counters.push_back(std::move(*fd));
    }
    return {};
}

Result<std::vector<Fd>> open_events(const std::vector<std::string> &texts, LiveDrivers &live)
{
    std::vector<Fd> counters;
    for (const std::string &text : texts) {
        Result<std::vector<record::EventString>> events = record::parse_event_strings(text);
        if (!events)
            return events.error();
        for (record::EventString &event : *events) {
            if (Result<void> resolved = resolve_names(event); !resolved)
                return resolved.error();
            if (Result<void> opened = open_counters(event, counters); !opened)
                return opened.error();
            const DriverDescription *driver = recorder_of_pmu(event.pmu);
            if (LiveDriver *taker = live.router().of(driver ? driver->recorded : nullptr))
                taker->opened(event.pmu);
        }
    }
    return counters;
}

class BpfFeed final : public LiveFeed {
public:
    BpfFeed(record::BpfTap tap, std::vector<Fd> counters)
        : tap_(std::move(tap)), counters_(std::move(counters))
    {
    }

    std::string_view name() const override { return "bpf"; }
    int fd() const override { return tap_.fd(); }
    Result<bool> take() override
    {
        const Result<void> taken = tap_.take();
        return taken ? Result<bool>(true) : taken.error();
    }
    Result<void> finish() override
    {
        // When an event is disabled, the driver drains the device.
        for (const Fd &counter : counters_)
            ::ioctl(counter.get(), PERF_EVENT_IOC_DISABLE, 0);
        counters_.clear();
        return tap_.take();
    }
    std::vector<LiveLoss> losses() const override
    {
        return {{tap_.lost(), "records were lost: the reader was too slow"}};
    }

private:
    record::BpfTap tap_;
    std::vector<Fd> counters_;
};

}  // namespace

Result<std::unique_ptr<LiveFeed>> make_bpf_feed(LiveDrivers &live, const FeedOptions &options)
{
    std::vector<record::TraceFormat> formats;
    std::vector<LiveDriver *> takers;
    Error missing{Errc::kNotFound, "no module with trace events is loaded"};
    for (const DriverDescription *driver : drivers()) {
        if (!driver->trace_event)
            continue;
        Result<record::TraceFormat> format =
            record::read_trace_format(record::kTracefs, driver->trace_event);
        if (format) {
            formats.push_back(std::move(*format));
            takers.push_back(live.router().of(driver->recorded));
        } else if (format.error().code != Errc::kNotFound) {
            missing = format.error();
        }
    }
    if (formats.empty())
        return missing;
    Result<record::BpfTap> tap =
        record::BpfTap::attach(formats, [formats, takers](size_t event, Bytes record) {
            if (event < takers.size())
                takers[event]->traced(formats[event], record);
        });
    if (!tap)
        return tap.error();
    Result<std::vector<Fd>> counters = open_events(options.events, live);
    if (!counters)
        return counters.error();
    for (const Fd &counter : *counters)
        if (::ioctl(counter.get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
            return system_error("enabling an event", errno);
    std::unique_ptr<LiveFeed> feed =
        std::make_unique<BpfFeed>(std::move(*tap), std::move(*counters));
    return feed;
}

}  // namespace pmukit::cli
