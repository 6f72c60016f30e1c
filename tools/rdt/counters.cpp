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
    return counted(tally, before, types_[event == Event::kLocal]);
}

uint64_t Counters::counted(const Tally &tally, const Tally &before, uint64_t types) const
{
    uint64_t lines = 0;
    if (types & kLocalReads)
        lines += tally.local - before.local;
    if (types & kRemoteReads)
        lines += tally.remote - before.remote;
    const uint64_t units = lines * kLineBytes / unit_of_node(shape_) + shape_.start;
    return units & ((1ULL << shape_.width) - 1);
}

void Counters::set_ext_cfg(uint64_t value)
{
    if (value == ext_cfg())
        return;
    by_hand_ = value & kAbmcOn;
    for (Service &service : services_)
        service = {};
    for (Bound &bound : bound_)
        bound = {};
}

bool Counters::is_wrong(uint64_t config) const
{
    const Binding binding = binding_of(config);
    return !by_hand_ || binding.counter >= shape_.abmc || binding.rmid >= shape_.rmids ||
           binding.of_class;
}

void Counters::bind(const Cache &cache, uint64_t config)
{
    if (!is_wrong(config))
        bound_[binding_of(config).counter] = {config & ~kAbmcApply,
                                              cache.of(binding_of(config).rmid)};
}

uint64_t Counters::bound(uint64_t config) const
{
    const uint32_t counter = binding_of(config).counter;
    if (is_wrong(config))
        return config | kAbmcWrong;
    return bound_[counter].config;
}

uint64_t Counters::value_of(const Cache &cache, const Bound &bound) const
{
    const Binding binding = binding_of(bound.config);
    return counted(cache.of(binding.rmid), bound.before, binding.types);
}

uint64_t Counters::read_bound(const Cache &cache, const Selection &selection)
{
    // Event 1 is the only extended event.
    if (selection.event != 1 || !by_hand_ || selection.rmid >= shape_.abmc ||
        !binding_of(bound_[selection.rmid].config).enabled)
        return kError;
    if (const uint64_t flags = flags_of_this_read())
        return flags;
    return value_of(cache, bound_[selection.rmid]);
}

uint64_t Counters::read_found(const Cache &cache, uint32_t rmid, Event event) const
{
    for (uint32_t i = 0; i < shape_.abmc; i++) {
        const Binding binding = binding_of(bound_[i].config);
        if (binding.enabled && binding.rmid == rmid &&
            binding.types == types_[event == Event::kLocal])
            return value_of(cache, bound_[i]);
    }
    return kUnavailable;
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
    if (by_hand_)
        return read_found(cache, rmid, event);
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
    if (selection.extended)
        return read_bound(cache, selection);
    const auto event = static_cast<Event>(selection.event);
    const bool exists =
        event == Event::kOccupancy || event == Event::kTotal || event == Event::kLocal;
    if (!exists || selection.rmid >= shape_.rmids)
        return kError;
    if (const uint64_t flags = flags_of_this_read())
        return flags;
    if (event == Event::kOccupancy)
        return cache.of(selection.rmid).lines * kLineBytes / unit_of_node(shape_);
    return read_bandwidth(cache, selection.rmid, event);
}

}  // namespace pmukit::rdt
