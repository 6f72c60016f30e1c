// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Handlers of dump, report and inject for one driver's data (drivers.hpp). Each stream goes to the
// handlers of its driver.
#pragma once

#include <fmt/core.h>
#include <linux/perf_event.h>

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/counted.hpp"
#include "base/result.hpp"
#include "base/sentences.hpp"
#include "cli/commands.hpp"
#include "console/json_writer.hpp"
#include "html/page.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {

class DriverDump : public DriverSink {
public:
    // Call at the end of the data. Returns the number of bytes in which no record was found.
    virtual uint64_t finish() = 0;
};

class Join;

class DriverReport : public DriverSink {
public:
    // Call before the data. The report then also passes its data to this join, which stays valid
    // until finish().
    virtual void join(Join &) {}
    // Lists this event even if it recorded nothing: the report must show an event without data,
    // too.
    virtual void expect(size_t event) = 0;
    // Call at the end of the data.
    virtual void finish() = 0;

    virtual void print(const Recording &recording, const Verdict &verdict, Output &out) = 0;
    // write_pmus() writes one object per PMU. write_extras() writes members of the report that only
    // this driver has.
    virtual void write_pmus(const Recording &recording, JsonWriter &pmus) = 0;
    virtual void write_extras(const Recording &, JsonWriter &) {}
    // Adds the figures of the HTML page, which show the numbers that print() shows.
    virtual void add_figures(const Recording &recording, const Verdict &verdict,
                             html::Page &page) = 0;
    // Messages about problems. Each message is printed once; the exit status is then 1.
    virtual std::vector<std::string> troubles(const Recording &recording) const = 0;
    // Messages that do not change the exit status.
    virtual std::vector<std::string> warnings(const Recording &) const { return {}; }
};

// Where the program was when a sample was taken; only some drivers know it.
struct SamplePoint {
    uint64_t ip = 0;
    uint16_t misc = PERF_RECORD_MISC_KERNEL;
    std::optional<uint64_t> aux_offset;  // stream offset of the AUX data of the sample
    std::optional<uint64_t> timebase;
};

// Receives the raw payloads of samples, in the format of <pmukit/raw.h>.
class RawSink {
public:
    virtual ~RawSink() = default;
    virtual void sample(const Stream &stream, const SamplePoint &point, Bytes payload) = 0;
    // Like sample(). `offset` is the stream offset of the AUX data from which the sample is made.
    void raw(const Stream &stream, std::optional<uint64_t> offset, Bytes payload)
    {
        SamplePoint point;
        point.aux_offset = offset;
        sample(stream, point, payload);
    }
    // Drivers that attribute samples to tasks call this for each AUX record.
    virtual void aux_said(const Stream &stream, const perfdata::AuxRecord &aux,
                          const perfdata::SampleId &sample_id) = 0;
    // Call if the samples of this event already report the losses that LOST_SAMPLES counts.
    virtual void entries_accounted(size_t event) = 0;
    // Call with the number of bytes of AUX data that could not become samples.
    virtual void skipped(uint64_t bytes) = 0;
    // Returns the time at which the kernel wrote the AUX data at this offset; 0 if it is unknown.
    virtual uint64_t time_ns(const Stream &stream, std::optional<uint64_t> offset) const = 0;
};

// Converts AUX data of one driver to the samples that its kernel driver writes without an AUX area.
class DriverInject : public DriverSink {
public:
    // Call at the end of the data.
    virtual void finish() = 0;
    // Ignored: samples of the recording are copied unchanged.
    void sample(const Stream &, uint64_t, Bytes) override {}
};

// Terms of an event with the meaning of their values (terms_text()). Empty: there are none, or they
// are unknown.
std::string terms_of(const Recording &recording, size_t event);
// Line of a report that says what was recorded: the name of the event, its terms, and the time that
// the recording covers. Has no line end.
std::string event_line(const Recording &recording, size_t event, std::string_view terms);
// Begins the JSON object of an event with the members that all drivers have.
void begin_pmu(const Recording &recording, size_t event, std::string_view driver, JsonWriter &pmus);
// Writes the last JSON member of a PMU, "source", and closes its object.
void end_pmu(const Recording &recording, size_t event, JsonWriter &pmu);

using ReportResult = Result<std::unique_ptr<DriverReport>>;

// Prints "# pmu cpu n: KIND, file offset 0x..." and perf's line for a piece of data.
void print_piece(const Recording &recording, const Stream &stream, const std::string &kind,
                 uint64_t file_offset, Output &out);
// Prints "# pmu: a loss of unknown size at AUX offset 0x...".
void print_unknown_loss(const Recording &recording, const Stream &stream, uint64_t offset,
                        Output &out);
// Prints "# pmu: lost n bytes at AUX offset 0x...".
void print_loss(const Recording &recording, const Stream &stream, uint64_t offset, uint64_t bytes,
                Output &out);

// A count and advice, shown only if the count is not 0. If at_least is true, the count is a lower
// bound, and is shown even if it is 0.
struct Remark {
    uint64_t count;
    const char *text;
    bool at_least = false;

    bool is_shown() const { return count != 0 || at_least; }
};
// "5 entries were lost", "at least 5 entries were lost". A sum that reached its largest value
// (base/saturate.hpp) is a lower bound, too.
inline std::string counted_text(uint64_t count, bool at_least, std::string_view text)
{
    return (at_least || count == UINT64_MAX ? "at least " : "") + counted(count, text);
}

// "RECORDING: PMU", where a message about the data of an event is.
inline std::string where_of(const Recording &recording, size_t event)
{
    return recording.path() + ": " + recording.pmu_name(event);
}

// Message about bytes that could not be decoded; empty: there are none. `where` names the recording
// and perhaps the PMU.
inline std::string skipped_text(std::string_view where, uint64_t bytes,
                                std::string_view text = sentences::kSkippedBytes)
{
    return bytes ? fmt::format("{}: {}", where, counted(bytes, text)) : std::string();
}

// Text that all commands print after a count of lost entries (perfdata::LostEntries).
constexpr const char *kEntriesLost = "entries lost before the AUX area or the ring";

// Passes each stream to the handler of its driver.
template <typename Handler>
class DriverRouter final : public DriverSink {
public:
    void add(const Driver &driver, std::unique_ptr<Handler> handler)
    {
        handlers_.emplace_back(&driver, std::move(handler));
    }
    Handler *of(const Driver *driver) const
    {
        for (const auto &[known, handler] : handlers_)
            if (known == driver)
                return handler.get();
        return nullptr;
    }
    const auto &all() const { return handlers_; }

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t file_offset,
                   uint64_t size) override
    {
        if (Handler *handler = of(stream.driver))
            handler->aux_begin(stream, offset, file_offset, size);
    }
    void aux(const Stream &stream, Bytes data) override
    {
        if (Handler *handler = of(stream.driver))
            handler->aux(stream, data);
    }
    void aux_entries(const Stream &stream, std::optional<uint64_t> base) override
    {
        if (Handler *handler = of(stream.driver))
            handler->aux_entries(stream, base);
    }
    void aux_loss(const Stream &stream, uint64_t offset, uint64_t bytes) override
    {
        if (Handler *handler = of(stream.driver))
            handler->aux_loss(stream, offset, bytes);
    }
    void aux_unknown_loss(const Stream &stream, uint64_t offset) override
    {
        if (Handler *handler = of(stream.driver))
            handler->aux_unknown_loss(stream, offset);
    }
    void entries_lost(const Stream &stream, const perfdata::LostEntries &lost) override
    {
        if (Handler *handler = of(stream.driver))
            handler->entries_lost(stream, lost);
    }
    void sample(const Stream &stream, uint64_t file_offset, Bytes words) override
    {
        if (Handler *handler = of(stream.driver))
            handler->sample(stream, file_offset, words);
    }
    void bare_sample(const Stream &stream, const perfdata::Record &record,
                     const perfdata::Sample &sample) override
    {
        if (Handler *handler = of(stream.driver))
            handler->bare_sample(stream, record, sample);
    }
    void aux_said(const Stream &stream, const perfdata::AuxRecord &aux,
                  const perfdata::SampleId &sample_id) override
    {
        if (Handler *handler = of(stream.driver))
            handler->aux_said(stream, aux, sample_id);
    }
    void record(const perfdata::Record &record) override
    {
        for (const auto &[driver, handler] : handlers_)
            handler->record(record);
    }

private:
    std::vector<std::pair<const Driver *, std::unique_ptr<Handler>>> handlers_;
};

}  // namespace pmukit::cli
