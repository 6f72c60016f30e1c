// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/counters.hpp"

namespace pmukit::rdt {

namespace {

bool is_nth(uint64_t number, uint32_t n)
{
    return n && number % n == 0;
}

}  // namespace

uint64_t Counters::flags_of_this_read()
{
    reads_++;
    if (is_nth(reads_, shape_.error))
        return kError;
    return is_nth(reads_, shape_.unavailable) ? kUnavailable : 0;
}

uint64_t Counters::bandwidth(const Tally &tally, const Tally &before, Event event) const
{
    const uint64_t local = tally.local - before.local, remote = tally.remote - before.remote;
    const uint64_t lines = event == Event::kLocal ? local : local + remote;
    const uint64_t units = lines * kLineBytes / shape_.unit + shape_.start;
    return units & ((1ULL << shape_.width) - 1);
}

Counters::Service *Counters::service_of(uint32_t rmid)
{
    for (uint32_t i = 0; i < shape_.counters; i++)
        if (services_[i].used && services_[i].rmid == rmid)
            return &services_[i];
    return nullptr;
}

Counters::Service &Counters::oldest()
{
    Service *oldest = &services_[0];
    for (uint32_t i = 1; i < shape_.counters; i++)
        if (services_[i].read_at < oldest->read_at)
            oldest = &services_[i];
    return *oldest;
}

uint64_t Counters::read_bandwidth(const Cache &cache, uint32_t rmid, Event event)
{
    const Tally &tally = cache.of(rmid);
    if (shape_.counters == 0)
        return bandwidth(tally, {}, event);
    if (Service *service = service_of(rmid)) {
        service->read_at = reads_;
        return bandwidth(tally, service->before, event);
    }
    oldest() = {rmid, true, reads_, tally};
    return kUnavailable;
}

uint64_t Counters::read(const Cache &cache, const Selection &selection)
{
    const auto event = static_cast<Event>(selection.event);
    const bool exists =
        event == Event::kOccupancy || event == Event::kTotal || event == Event::kLocal;
    if (!exists || selection.rmid >= shape_.rmids)
        return kError;
    if (const uint64_t flags = flags_of_this_read())
        return flags;
    if (event == Event::kOccupancy)
        return cache.of(selection.rmid).lines * kLineBytes / shape_.unit;
    return read_bandwidth(cache, selection.rmid, event);
}

}  // namespace pmukit::rdt
