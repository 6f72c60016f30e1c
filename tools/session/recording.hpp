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
#include <vector>

#include "base/budget.hpp"
#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "base/result.hpp"
#include "base/stable_map.hpp"
#include "perfdata/aux.hpp"
#include "perfdata/lost_entries.hpp"
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
inline perfdata::AuxStream key_of(const Stream &stream)
{
    return {stream.event, stream.cpu, stream.tid};
}
inline bool operator==(const Stream &a, const Stream &b)
{
    return key_of(a) == key_of(b);
}
inline bool operator<(const Stream &a, const Stream &b)
{
    return key_of(a) < key_of(b);
}
class StreamHash {
public:
    size_t operator()(const Stream &stream) const { return hash_(key_of(stream)); }

private:
    perfdata::AuxStreamHash hash_;
};

class DriverSink {
public:
    virtual ~DriverSink() = default;
    // A buffer of AUX data is announced, then given in one or more pieces. offset: in the stream.
    virtual void aux_begin(const Stream &stream, uint64_t offset, uint64_t file_offset,
                           uint64_t size) = 0;
    virtual void aux(const Stream &stream, Bytes data) = 0;
    // Of a driver with entries, before the data: they begin at this offset of the stream, which may
    // lie before it, and follow each other; nullopt: it is unknown where.
    virtual void aux_entries(const Stream &, std::optional<uint64_t> /* base */) {}
    virtual void aux_loss(const Stream &stream, uint64_t offset, uint64_t bytes) = 0;
    // Instead, of PERF_AUX_FLAG_COLLISION: it was not counted, either.
    virtual void aux_unknown_loss(const Stream &stream, uint64_t offset)
    {
        aux_loss(stream, offset, 0);
    }
    // Of a driver with entries, behind all data of an event: how many of those that the device
    // wrote are not in the recording, if any are.
    virtual void entries_lost(const Stream &, const perfdata::LostEntries &) {}
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
    uint64_t unknown_records = 0;                  // of a type newer than this program
    uint64_t unreadable_records = 0;               // too short for what their event promises
    uint64_t lost_samples = 0;                     // LostCount
    std::map<size_t, uint64_t> lost_not_repeated;  // LostCount
    uint64_t lost_aux_bytes = 0;
    uint64_t aux_truncations = 0;     // AUX data is missing; its record does not say how much
    uint64_t aux_unknown_losses = 0;  // nor was it counted: PERF_AUX_FLAG_COLLISION
    uint64_t pieces = 0;              // of AUX data, or samples, that went to a driver
    std::vector<uint64_t> aux_bytes;  // per event
    std::vector<uint64_t> samples;    // per event
    // Whose AUX data lacks something; nullptr: not known whose.
    std::set<const Driver *> aux_lost_of;
    std::set<size_t> aux_gaps_of;  // events, or perfdata::kUnknownEvent: a loss of no known size
};

// Samples and records that the kernel could not write. Since Linux 6.1 the same loss is said twice:
// by the kernel's LOST as soon as the ring has space, and by the recorder's LOST_SAMPLES at the
// end (PERF_FORMAT_LOST), which has no time. LOST_SAMPLES of the kernel's own is of samples that
// never came to the ring.
//
// Of an event whose driver counts entries the recorder's count has the entries that the driver lost
// as well (perfdata::LostEntries). LOST is of a ring: each event with an AUX area has its own in
// files of pmukit record; ID_INDEX says which in those of perf; else it is one of all events.
class LostCount {
public:
    enum class Kind { kNone, kRecords, kSamples, kRepeated };  // what a record says; the recorder's

    // Of any type.
    Kind note(const perfdata::Record &record, const perfdata::Reader &reader);
    // The AUX data of this event has a gap.
    void gap(size_t event, uint64_t aux_flags) { gaps_[event] |= aux_flags; }
    // Behind all records, once: what these events, whose driver counts entries, lost of those. What
    // is entries is not in samples().
    std::map<size_t, perfdata::LostEntries> take_entries(const std::set<size_t> &events);
    uint64_t samples() const;
    // Of those the ones that kRepeated alone speaks of, by event; perfdata::kUnknownEvent: of
    // several.
    std::map<size_t, uint64_t> not_repeated() const;

private:
    using Id = std::optional<uint64_t>;  // of an event on a CPU; nullopt: not known
    struct Counts {
        uint64_t lost = 0, counted = 0;  // by LOST; by the recorder
    };
    // The rest share one.
    enum class RingBy { kNothing, kIndex, kOwn };
    using RingKey = std::pair<RingBy, uint64_t>;
    struct Place {
        RingKey ring;
        size_t event;
    };
    struct Ring {
        uint64_t lost = 0, counted = 0, entries = 0;
        std::map<size_t, uint64_t> by_event;  // counted, of those that are known to use it
    };
    void note_places(const perfdata::Record &record, const perfdata::Reader &reader);
    std::map<RingKey, Ring> rings() const;  // that lost something

    Budget left_{limits::kStreams};
    std::map<uint64_t, Place> places_;
    std::map<std::pair<Id, size_t>, Counts> counts_;
    std::map<size_t, uint64_t> gaps_;  // flags of all
    std::set<size_t> with_entries_;    // events with a gap of entries
    uint64_t by_hardware_ = 0;
};

class Recording;

// Of streams of drivers with entries.
using AuxGrids = StableMap<perfdata::AuxStream, AuxGrid, perfdata::AuxStreamHash>;

// Whether anything is missing of what one driver recorded, from all that says so: the recording and
// the driver's own records. AUX data of another driver is that one's; what the ring of samples lost
// may be anybody's.
class Verdict {
public:
    Verdict(const Recording &recording, const RecordingTotals &totals, const Driver *driver);

    // Below what one event gives, whose driver lost something or not: a line, or an empty one;
    // nothing where nothing of the event was recorded.
    std::string_view line(size_t event, bool driver_lost) const;
    // The same in a word or two, where nothing is known to be missing.
    const char *badge(size_t event) const;

private:
    bool has_anything(size_t event) const;

    const Recording &recording_;
    const RecordingTotals &totals_;
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
    // Instead: only aux_said() and record().
    Result<void> listen(DriverSink &sink);

    const std::string &path() const { return path_; }
    const perfdata::Reader &reader() const { return reader_; }
    // An option says where all devices were from; nothing: the file does.
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
    // Does its driver mark what it loses? After read_front().
    bool marks_losses(size_t event) const;
    bool marks_losses() const;  // of all
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
    // An option says what AUX data is to be read by; nothing: the file does.
    void claim_decoder_version(std::optional<uint64_t> version) { claimed_version_ = version; }
    std::optional<uint64_t> claimed_decoder_version() const { return claimed_version_; }
    uint64_t decoder_version_of_file() const { return decoder_version_; }
    // Why there is nothing to show: a PMU of ours recorded without its payload, or none at all.
    // Empty: there is something.
    std::string missing(const RecordingTotals &totals) const;
    // What is wrong with the file itself. Empty: nothing.
    std::string damage() const { return damage_of(reader_, path_); }

private:
    // Of the capabilities of PMUs: what `pmukit record` puts there, and Driver::loss_cap.
    struct OwnCaps {
        const std::byte *of = nullptr;  // the content that this is read from
        std::set<std::string, std::less<>> of_models, marking;  // PMUs
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
