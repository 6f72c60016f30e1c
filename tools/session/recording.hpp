// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Walks a recording and hands each driver's bytes on, whichever way they came: AUX data or raw
// samples. Here the reader, which knows no decoder, meets the decoders, which know no files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "perfdata/aux.hpp"
#include "perfdata/reader.hpp"
#include "session/aux_grid.hpp"
#include "session/driver.hpp"

namespace pmukit::cli {

// A stream of one driver's bytes.
struct Stream {
    size_t event;  // index into Reader::events(), or perfdata::kUnknownEvent
    uint32_t cpu;  // UINT32_MAX: unknown, or of a thread
    const Driver *driver = nullptr;
    uint32_t tid = UINT32_MAX;     // of AUX data of a thread; UINT32_MAX: of a CPU, or unknown
    uint64_t config = 0;           // attr.config of the event
    uint64_t decoder_version = 1;  // by AUXTRACE_INFO, see Driver
};
inline bool operator<(const Stream &a, const Stream &b)
{
    return std::tie(a.event, a.cpu, a.tid) < std::tie(b.event, b.cpu, b.tid);
}

class DriverSink {
public:
    virtual ~DriverSink() = default;
    // A buffer of AUX data is announced, then given in one or more pieces. offset: in the stream.
    virtual void aux_begin(const Stream &stream, uint64_t offset, uint64_t file_offset,
                           uint64_t size) = 0;
    virtual void aux(const Stream &stream, Bytes data) = 0;
    // Of a driver with entries, before the data: they begin at this offset of the stream, which may
    // lie before it, and follow each other; nullopt: nobody can tell where.
    virtual void aux_entries(const Stream &, std::optional<uint64_t> /* base */) {}
    virtual void aux_loss(const Stream &stream, uint64_t offset, uint64_t bytes) = 0;
    // Instead, of PERF_AUX_FLAG_COLLISION: it was lost in the device, which does not tell how much.
    virtual void aux_overrun(const Stream &stream, uint64_t offset) { aux_loss(stream, offset, 0); }
    // Of a driver with entries, behind all data of an event: so many of those that the device wrote
    // were lost. at_least: and more, as aux_overrun() said.
    virtual void entries_lost(const Stream &, uint64_t /* entries */, bool /* at_least */) {}
    // The words of one sample: whole records.
    virtual void sample(const Stream &stream, uint64_t file_offset, Bytes words) = 0;
    // Instead, of a driver with bare_samples: each, with or without a payload.
    virtual void bare_sample(const Stream &, const perfdata::Record &, const perfdata::Sample &) {}
    // What the kernel announces of AUX data, and whose it is.
    virtual void aux_said(const Stream &, const perfdata::AuxRecord &, const perfdata::SampleId &)
    {
    }
    // What else the kernel says: of threads, maps and the like.
    virtual void record(const perfdata::Record &) {}
};

struct RecordingTotals {
    uint64_t records = 0;
    uint64_t unknown_records = 0;     // of a type newer than this program
    uint64_t unreadable_records = 0;  // too short for what their event promises
    uint64_t lost_samples = 0;        // LostCount
    uint64_t lost_not_repeated = 0;   // LostCount
    uint64_t lost_aux_bytes = 0;
    uint64_t aux_truncations = 0;     // the kernel says that AUX data was cut, not by how much
    uint64_t aux_overruns = 0;        // data was lost in a device, which does not tell how much
    uint64_t pieces = 0;              // of AUX data, or samples, that went to a driver
    std::vector<uint64_t> aux_bytes;  // per event
    std::vector<uint64_t> samples;    // per event
    // Whose AUX data lacks something; nullptr: not known whose.
    std::set<const Driver *> aux_lost_of;
};

// Samples and records that the kernel could not write. Since Linux 6.1 the same loss is said twice:
// by the kernel's LOST as soon as there is room again, and by the recorder's LOST_SAMPLES at the
// end (PERF_FORMAT_LOST), which has no time. LOST_SAMPLES of the kernel's own is of samples that
// never came to the ring.
//
// Of an event whose driver puts entries into its AUX area the recorder's count has the entries that
// the driver lost as well: they are what it has more than the LOST of this event.
class LostCount {
public:
    enum class Kind { kNone, kRecords, kSamples, kRepeated };  // what a record says; the recorder's

    // Of any type.
    Kind note(const perfdata::Record &record, const perfdata::Reader &reader);
    // Behind all records: those of this event were entries, which are no samples. How many.
    uint64_t take_entries(size_t event);
    uint64_t samples() const { return by_hardware_ + std::max(by_ring_, by_event_); }
    // Of those the ones that kRepeated alone speaks of.
    uint64_t not_repeated() const { return by_event_ - std::min(by_ring_, by_event_); }

private:
    struct OfEvent {
        uint64_t by_ring = 0, by_recorder = 0;
    };

    uint64_t by_hardware_ = 0, by_ring_ = 0, by_event_ = 0;
    std::map<size_t, OfEvent> events_;  // that lost something
};

class Recording;

// Of streams of drivers with entries.
using AuxGrids = std::map<perfdata::AuxStream, AuxGrid>;

// Whether anything is missing of what one driver recorded, from all that says so: the recording and
// the driver's own records. AUX data of another driver is that one's; what the ring of samples lost
// may be anybody's.
class Verdict {
public:
    Verdict(const Recording &recording, const RecordingTotals &totals, const Driver *driver);

    // Below what one event gives, whose driver lost something or not: a line, or an empty one.
    std::string_view line(bool driver_lost) const;

private:
    bool whole_;
};

// Every command opens recordings so: a file, a perf.data directory, or "-", standard input.
Result<perfdata::Reader> open_recording(const std::string &path);
// Standard input, a FIFO or the like: what is read of it is gone.
bool can_be_read_once_only(const std::string &path);
// What its error means to people.
Error explain_open(const std::string &path, const Error &error);
// How messages call a recording.
std::string recording_name(const std::string &path);

// What is wrong with a recording that was read. Empty: nothing.
std::string damage_of(const perfdata::Reader &reader, const std::string &path);
// That it has more names, forks and maps than Threads keeps, by so many. Empty: it has not.
std::string names_not_kept(const std::string &path, uint64_t dropped);
// Says what is not empty of these, each in a line, and gives the exit status that they make.
int say_troubles(const std::vector<std::string> &troubles);

// The capability of a PMU in PMU_CAPS that says where its device is from.
constexpr const char *kSourceCap = "source";
constexpr const char *kSourceModel = "model";
// And that says which of several files this is (pmukit record --interval), from the second on: its
// records are numbered on from the one before.
constexpr const char *kPartCap = "part";

// One open recording.
class Recording {
public:
    // drivers: whose data is looked for.
    static Result<Recording> open(const std::string &path, Drivers drivers);

    // In pipe layout: until the events are known. Before walk(), or not at all.
    Result<void> read_front();
    // each: gets every record before the sink gets what it brings.
    using EachRecord = std::function<Result<void>(const perfdata::Record &)>;
    Result<RecordingTotals> walk(DriverSink &sink, const EachRecord &each = {});

    const std::string &path() const { return path_; }
    const perfdata::Reader &reader() const { return reader_; }
    // Somebody says where all devices were from; nothing: the file does.
    void claim_source(std::optional<std::string> source) { claimed_source_ = std::move(source); }
    // "model" when the device of this event was emulated. After read_front().
    std::optional<std::string> source(size_t event) const;
    // When that of some event was: of what several of them made together.
    std::optional<std::string> source() const;
    // When those of all of the suite were: of the recording as a whole.
    std::optional<std::string> common_source() const;
    // Its numbers begin in an earlier file. After read_front().
    bool continues() const;
    // The PMU of an event; when the file does not say, what is known instead.
    std::string pmu_name(size_t event) const;
    // nullptr: none of ours. An event whose PMU has no name may still be known by AUXTRACE_INFO.
    const Driver *driver(size_t event) const;
    Drivers drivers() const { return drivers_; }
    // The driver and attr.type that AUXTRACE_INFO names.
    void note_auxtrace_info(const perfdata::Record &record);
    const Driver *auxtrace_driver() const { return auxtrace_driver_; }
    // Of the AUX data of an event; 0: it has none.
    uint64_t entry_bytes(size_t event) const;
    // What to read AUX data by, of an event or of the one that AUXTRACE_INFO means.
    uint64_t config(size_t event) const;
    uint64_t decoder_version() const { return claimed_version_.value_or(decoder_version_); }
    // Somebody says what AUX data is to be read by; nothing: the file does.
    void claim_decoder_version(std::optional<uint64_t> version) { claimed_version_ = version; }
    std::optional<uint64_t> claimed_decoder_version() const { return claimed_version_; }
    uint64_t decoder_version_of_file() const { return decoder_version_; }
    // Why there is nothing to show: a PMU of ours recorded without its payload, or none at all.
    // Empty: there is something.
    std::string missing(const RecordingTotals &totals) const;
    // What is wrong with the file itself. Empty: nothing.
    std::string damage() const { return damage_of(reader_, path_); }

private:
    // What `pmukit record` puts among the capabilities of PMUs.
    struct OwnCaps {
        const std::byte *of = nullptr;                 // the content that this is read from
        std::set<std::string, std::less<>> of_models;  // PMUs
        bool continues = false;
    };
    const OwnCaps &own_caps() const;
    friend class PushedRecording;
    Recording(std::string path, perfdata::Reader reader, Drivers drivers)
        : path_(std::move(path)), reader_(std::move(reader)), drivers_(drivers)
    {
    }
    // Of a file that can be read twice, what it says of AUX data.
    std::optional<AuxGrids> read_grids() const;

    std::string path_;
    bool read_once_ = true;
    perfdata::Reader reader_;
    Drivers drivers_;
    std::optional<std::string> claimed_source_;
    mutable OwnCaps own_caps_;
    const Driver *auxtrace_driver_ = nullptr;
    uint64_t auxtrace_pmu_type_ = 0;
    uint64_t decoder_version_ = 1;
    std::optional<uint64_t> claimed_version_;
};

// A recording in pipe layout whose bytes come when they come.
class PushedRecording {
public:
    static Result<PushedRecording> begin(std::string name, Drivers drivers, DriverSink &sink);
    PushedRecording(PushedRecording &&) noexcept;
    PushedRecording &operator=(PushedRecording &&) = delete;
    ~PushedRecording();

    // Gives the sink all that these bytes complete.
    Result<void> feed(Bytes bytes);
    // No more bytes.
    Result<RecordingTotals> finish();
    const Recording &recording() const;

private:
    struct State;
    explicit PushedRecording(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

// "file: why (at offset)", as errors of a file are said.
Error in_file(const std::string &path, const Error &error);

}  // namespace pmukit::cli
