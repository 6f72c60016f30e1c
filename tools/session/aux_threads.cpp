// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/aux_threads.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace pmukit::cli {
namespace {

class Listener final : public DriverSink {
public:
    Listener(AuxThreads &threads, const Recording &recording, const Driver *only, Threads *names)
        : threads_(threads), recording_(recording), only_(only), names_(names)
    {
    }

    void aux_begin(const Stream &, uint64_t, uint64_t, uint64_t) override {}
    void aux(const Stream &, Bytes) override {}
    void aux_loss(const Stream &, uint64_t, uint64_t) override {}
    void sample(const Stream &, uint64_t, Bytes) override {}
    void aux_said(const Stream &stream, const perfdata::AuxRecord &aux,
                  const perfdata::SampleId &sample_id) override
    {
        if (!only_ || !stream.driver || stream.driver == only_)
            threads_.note(stream, aux, sample_id);
    }
    void record(const perfdata::Record &record) override
    {
        if (!names_)
            return;
        names_->note(record, recording_.reader());
        if (names_->dropped() != 0 && !needs_names_) {
            needs_names_ = has_tasks();
            names_ = needs_names_ ? names_ : nullptr;
        }
    }

private:
    // True if an event of a driver has tasks.
    bool has_tasks() const
    {
        for (size_t event = 0; event < recording_.reader().events().size(); event++)
            if (const Driver *driver = recording_.driver(event); driver && driver->bare_samples)
                return true;
        return false;
    }

    AuxThreads &threads_;
    const Recording &recording_;
    const Driver *only_;
    Threads *names_;
    bool needs_names_ = false;  // even if they are not complete
};

}  // namespace

AuxThreads AuxThreads::of_file(const std::string &path, Drivers drivers, const Driver *only,
                               Threads *names)
{
    AuxThreads threads;
    if (can_be_read_once_only(path))
        return threads;
    Result<Recording> recording = Recording::open(path, drivers);
    // Errors of the file are not reported here, but by the later walk that reads the data.
    if (!recording || !recording->read_front())
        return threads;
    Listener listener(threads, *recording, only, names);
    (void)recording->listen(listener);
    return threads;
}

void AuxThreads::note(const Stream &stream, const perfdata::AuxRecord &aux,
                      const perfdata::SampleId &sample_id)
{
    const uint64_t end = aux.offset + aux.size;
    if (aux.size == 0 || end < aux.offset)
        return;
    auto *known = ranges_.find(stream);
    if (known && !known->second.empty() && aux.offset < known->second.back().end)
        return;
    if (!known && left_.take(sizeof *known + kNodeBytes)) {
        known = &ranges_.try_emplace(stream).first;
        events_.insert(stream.event);
    }
    if (!known || !has_room(known->second, left_)) {
        left_out_++;
        return;
    }
    std::vector<Range> &ranges = known->second;
    const uint64_t before_ns = ranges.empty() ? 0 : ranges.back().sample_id.time_ns.value_or(0);
    ranges.push_back({aux.offset, end, before_ns, sample_id});
}

const AuxThreads::Range *AuxThreads::find(const Stream &stream, uint64_t offset) const
{
    const auto *const known = ranges_.find(stream);
    if (!known)
        return nullptr;
    const std::vector<Range> &ranges = known->second;
    const auto behind = std::ranges::upper_bound(ranges, offset, {}, &Range::begin);
    if (behind == ranges.begin() || offset >= std::prev(behind)->end)
        return nullptr;
    return &*std::prev(behind);
}

bool AuxThreads::knows(size_t event) const
{
    return events_.contains(event);
}

std::string AuxThreads::left_out(const std::string &path) const
{
    return left_out_ ? fmt::format(
                           "{}: {} ranges of AUX data dropped (memory limit), their threads are "
                           "unknown; cut the recording by time: pmukit cut --time",
                           path, left_out_)
                     : std::string();
}

}  // namespace pmukit::cli
