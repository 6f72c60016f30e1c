// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/qualify/event.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "cli/qualify/tables.hpp"
#include "record/perf_event.hpp"

namespace pmukit::cli::qualify {
namespace {

Result<Fd> open_disabled(const std::string &text, int pid, int cpu, bool counts)
{
    const Result<std::vector<record::EventString>> events = record::parse_event_strings(text);
    if (!events)
        return events.error();
    const record::EventString &event = events->front();
    const Result<record::Pmu> pmu = record::read_pmu(record::kSysfsPmus, event.pmu);
    if (!pmu)
        return pmu.error();
    const Result<record::EventSettings> settings = record::encode_event(event, *pmu);
    if (!settings)
        return settings.error();
    std::vector<std::byte> attr =
        record::make_attr(*pmu, *settings, record::Start::kWhenEnabled, false);
    if (counts)  // without a period, the event only counts
        store<uint64_t>(attr.data() + offsetof(perf_event_attr, sample_period), 0,
                        std::endian::native);
    return record::open_event(attr, {pid, cpu}, -1, *pmu, text);
}

}  // namespace

Result<CountingEvent> CountingEvent::open(const std::string &event, int pid, int cpu)
{
    Result<Fd> fd = open_disabled(event, pid, cpu, true);
    if (!fd)
        return fd.error();
    if (::ioctl(fd->get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
        return system_error(event, errno);
    CountingEvent opened;
    opened.fd_ = std::move(*fd);
    return opened;
}

Result<uint64_t> CountingEvent::read() const
{
    uint64_t value = 0;
    if (::read(fd_.get(), &value, sizeof value) != sizeof value)
        return Error{Errc::kIo, "the event ended in error"};
    return value;
}

Result<AuxData> record_aux(const std::string &event, int pid, int cpu, size_t aux_pages,
                           int64_t run_us, void (*meanwhile)())
{
    const Result<Fd> fd = open_disabled(event, pid, cpu, false);
    if (!fd)
        return fd.error();
    Result<record::EventRings> rings = record::EventRings::map(fd->get(), 64, aux_pages);
    if (!rings)
        return rings.error();
    if (!rings->has_aux())
        return Error{Errc::kUnsupported, event + ": the PMU has no AUX area"};
    if (::ioctl(fd->get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
        return system_error(event, errno);
    const int64_t until = now_us() + run_us;
    do {
        meanwhile();
    } while (now_us() < until);
    if (::ioctl(fd->get(), PERF_EVENT_IOC_DISABLE, 0) != 0)
        return system_error(event, errno);

    AuxData data;
    const auto [records_from, records_to] = rings->record_window();
    record::note_records(rings->records(), records_from, records_to, data.notes);
    const auto [from, to] = rings->aux_window();
    const auto pieces = record::ring_pieces(rings->aux(), from, to);
    if (!pieces)
        return Error{Errc::kDamaged, event + ": the AUX area's positions are wrong"};
    append(data.bytes, pieces->first);
    append(data.bytes, pieces->second);
    return data;
}

void spin_us(int64_t us)
{
    const int64_t until = now_us() + us;
    volatile uint64_t work = 0;
    while (now_us() < until)
        for (int i = 0; i < 10000; i++)
            work = work + 1;
}

}  // namespace pmukit::cli::qualify
