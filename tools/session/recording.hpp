// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Walks a recording and delivers each driver's bytes to a sink, from AUX data and from raw samples.
// Connects the reader, which knows no decoder, to the decoders, which know no files.
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
#include "perfdata/aux_stream_hash.hpp"
#include "perfdata/lost_entries.hpp"
#include "perfdata/reader.hpp"
#include "session/aux_grid.hpp"
#include "session/driver.hpp"

namespace pmukit::cli {

// A stream of one driver's bytes.
struct Stream {
    size_t event;  // index into Reader::events(), or perfdata::kUnknownEvent
    uint32_t cpu;  // UINT32_MAX: unknown, or a per-thread stream
    const Driver *driver = nullptr;
    uint32_t tid = UINT32_MAX;     // thread of AUX data per thread; UINT32_MAX: per CPU, or unknown
    uint64_t config = 0;           // attr.config of the event
    uint64_t decoder_version = 1;  // from AUXTRACE_INFO, see Driver
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
    // Announces a buffer of AUX data, which aux() then delivers in one or more pieces. offset:
    // position of the buffer in the stream.
    virtual void aux_begin(const Stream &stream, uint64_t offset, uint64_t file_offset,
                           uint64_t size) = 0;
    virtual void aux(const Stream &stream, Bytes data) = 0;
    // For a driver with entries of fixed size, called before the data. base: offset in the stream,
    // at or before the data, at which an entry begins; nullopt: unknown. Further entries begin at
    // multiples of the entry size from base.
    virtual void aux_entries(const Stream &, std::optional<uint64_t> /* base */) {}
    virtual void aux_loss(const Stream &stream, uint64_t offset, uint64_t bytes) = 0;
    // Called instead of aux_loss() on PERF_AUX_FLAG_COLLISION: not even the driver knows the size
    // of the loss.
    virtual void aux_unknown_loss(const Stream &stream, uint64_t offset)
    {
        aux_loss(stream, offset, 0);
    }
    // For a driver with entries of fixed size, called after all data if the recording lacks entries
    // of an event.
    virtual void entries_lost(const Stream &, const perfdata::LostEntries &) {}
    // The words in the raw payload of one sample: whole records of the driver.
    virtual void sample(const Stream &stream, uint64_t file_offset, Bytes words) = 0;
    // Called instead of sample() for a driver with bare_samples: each sample, with or without a
    // payload.
    virtual void bare_sample(const Stream &, const perfdata::Record &, const perfdata::Sample &) {}
    // A PERF_RECORD_AUX, and the sample id of the task in whose context it was written.
    virtual void aux_said(const Stream &, const perfdata::AuxRecord &, const perfdata::SampleId &)
    {
    }
    // Each record except samples and AUX data: threads, maps and the like.
    virtual void record(const perfdata::Record &) {}
};

struct RecordingTotals {
    uint64_t records = 0;
    uint64_t unknown_records = 0;                  // of a type that this program does not know
    uint64_t unreadable_records = 0;               // too short for their event's attr
    uint64_t lost_samples = 0;                     // LostCount::samples()
    std::map<size_t, uint64_t> lost_not_repeated;  // LostCount::not_repeated()
    uint64_t lost_aux_bytes = 0;
    uint64_t aux_truncations = 0;     // AUX records that report missing data without its size
    uint64_t aux_unknown_losses = 0;  // PERF_AUX_FLAG_COLLISION: the driver did not count the loss
    std::map<size_t, uint64_t> throttles;  // LostCount::throttles()
    uint64_t pieces = 0;                   // AUX buffers and samples delivered to a driver
    std::vector<uint64_t> aux_bytes;       // per event
    uint64_t unknown_aux_bytes = 0;        // of drivers that this program does not know
    std::vector<uint64_t> samples;         // per event
    // Drivers whose AUX data is incomplete; nullptr: unknown driver.
    std::set<const Driver *> aux_lost_of;
    std::set<size_t> aux_gaps_of;  // events (or kUnknownEvent) with a loss of unknown size

    // How often any event was throttled.
    uint64_t throttled() const;
};

// Counts samples and records that the kernel could not write. Since Linux 6.1 the same loss is
// reported twice: by the kernel's LOST as soon as the ring has space, and by the recorder's
// LOST_SAMPLES at the end (PERF_FORMAT_LOST), which has no time. LOST_SAMPLES written by the kernel
// counts samples that never reached the ring.
//
// If a driver counts entries, the recorder's count for its event includes the entries that the
// driver lost (perfdata::LostEntries). LOST counts per ring. In files of pmukit record, each event
// with an AUX area has its own ring; in files of perf, ID_INDEX names the rings; otherwise all
// events are assumed to share one ring.
class LostCount {
public:
    // kRepeated: counted by the recorder; kThrottled: samples of unknown number
    enum class Kind { kNone, kRecords, kSamples, kRepeated, kThrottled };

    // Takes records of any type.
    Kind note(const perfdata::Record &record, const perfdata::Reader &reader);
    // Call for each gap in the AUX data of an event.
    void gap(size_t event, uint64_t aux_flags) { gaps_[event] |= aux_flags; }
    // Returns how many entries each event in `events` lost. `events` must be the events whose
    // driver counts entries. Call once, after all records. From then on, samples() excludes
    // entries.
    std::map<size_t, perfdata::LostEntries> take_entries(const std::set<size_t> &events);
    uint64_t samples() const;
    // How often the kernel throttled each event, or perfdata::kUnknownEvent: it took no samples
    // from then until the next tick or longer.
    const std::map<size_t, uint64_t> &throttles() const { return throttles_; }
    // The part of samples() that only the recorder reported, by event. perfdata::kUnknownEvent has
    // the losses that may belong to several events.
    std::map<size_t, uint64_t> not_repeated() const;

private:
    using Id = std::optional<uint64_t>;  // event id on one CPU; nullopt: unknown
    struct Counts {
        uint64_t lost = 0, counted = 0;  // losses reported by LOST, and by the recorder
    };
    // How the reader knows which ring an event uses. Events of kNothing are assumed to share one
    // ring.
    enum class RingBy { kNothing, kIndex, kOwn };
    using RingKey = std::pair<RingBy, uint64_t>;
    struct Place {
        RingKey ring;
        size_t event;
    };
    struct Ring {
        uint64_t lost = 0, counted = 0, entries = 0;
        // For each event that uses the ring: its share of `counted`.
        std::map<size_t, uint64_t> by_event;
    };
    void note_places(const perfdata::Record &record, const perfdata::Reader &reader);
    std::map<RingKey, Ring> rings() const;  // rings with losses

    Budget left_{limits::kStreams};
    std::map<uint64_t, Place> places_;
    std::map<std::pair<Id, size_t>, Counts> counts_;
    std::map<size_t, uint64_t> gaps_;  // AUX flags of all gaps, by event
    std::map<size_t, uint64_t> throttles_;
    std::set<size_t> with_entries_;  // events with a gap, whose driver counts entries
    uint64_t by_hardware_ = 0;
};

// Event that a record of a loss names. The id of a THROTTLE is in its body, also if the records of
// the file have no id.
std::optional<size_t> event_of_loss(const perfdata::Record &record, const perfdata::Reader &reader);

class Recording;

// Entry grids of the streams whose driver has entries of fixed size.
using AuxGrids = StableMap<perfdata::AuxStream, AuxGrid, perfdata::AuxStreamHash>;

// States whether the data of one driver is complete, from the losses of the recording and the
// losses that the driver's records report. Lost AUX data of other drivers does not count. Lost
// samples do, because they may belong to any driver.
class Verdict {
public:
    Verdict(const Recording &recording, const RecordingTotals &totals, const Driver *driver);

    // Returns the line to print after the output of one event, which states whether the data of the
    // event is complete. Returns an empty line if driver_lost, and no line if no data of the event
    // was recorded.
    std::string_view line(size_t event, bool driver_lost) const;
    // The content of line() as a short badge. Call only if no loss is known.
    const char *badge(size_t event) const;

private:
    bool has_anything(size_t event) const;

    const Recording &recording_;
    const RecordingTotals &totals_;
    bool whole_;
};

// Opens a recording for any command: a file, a perf.data directory, or "-" (standard input).
Result<perfdata::Reader> open_recording(const std::string &path);
// True for standard input, a FIFO or the like, whose bytes can be read once.
bool can_be_read_once_only(const std::string &path);
// Turns an error of opening a recording into a message for users.
Error explain_open(const std::string &path, const Error &error);
// Name of a recording in messages.
std::string recording_name(const std::string &path);

// Message about damage that the reader found. Empty: none.
std::string damage_of(const perfdata::Reader &reader, const std::string &path);
// Message about names, forks and maps that Threads dropped. Empty: none.
std::string names_not_kept(const std::string &path, uint64_t dropped);
// Prints each message that is not empty as a warning. Returns the exit status.
int say_troubles(const std::vector<std::string> &troubles);
// Prints Recording::nothing_recorded() if it is not empty.
void say_nothing_recorded(const Recording &recording, const RecordingTotals &totals);

// PMU capability in PMU_CAPS: origin of the device.
constexpr const char *kSourceCap = "source";
constexpr const char *kSourceModel = "model";
// PMU capability of the second and later files of pmukit record --interval: number of the file.
// Record numbers in such a file continue those of the previous file.
constexpr const char *kPartCap = "part";

// One open recording.
class Recording {
public:
    // drivers: the drivers to recognize.
    static Result<Recording> open(const std::string &path, Drivers drivers);

    // In pipe layout, reads until the events are known. Optional, before walk().
    Result<void> read_front();
    // each: called with every record before the sink receives its content.
    using EachRecord = std::function<Result<void>(const perfdata::Record &)>;
    Result<RecordingTotals> walk(DriverSink &sink, const EachRecord &each = {});
    // Reads the recording like walk(), but calls only aux_said() and record() of the sink.
    Result<void> listen(DriverSink &sink);

    const std::string &path() const { return path_; }
    // True for a pipe, whose bytes can be read only once.
    bool is_read_once() const { return read_once_; }
    const perfdata::Reader &reader() const { return reader_; }
    // Sets the origin of all devices, which an option gives; nullopt: the origin in the file.
    void claim_source(std::optional<std::string> source) { claimed_source_ = std::move(source); }
    // Makes walk() note the time of each record, for duration_ns().
    void measure_duration() { measures_duration_ = true; }
    // Time from the first to the last record, of all records with a time. After walk(). nullopt:
    // fewer than two records have a time, or measure_duration() was not called.
    std::optional<uint64_t> duration_ns() const;
    void note_time_of(const perfdata::Record &record);
    // "model" if the device of this event was emulated. After read_front().
    std::optional<std::string> source(size_t event) const;
    // "model" if the device of at least one event was emulated. For output that combines several
    // events.
    std::optional<std::string> source() const;
    // "model" if the devices of all events of pmukit's PMUs were emulated. For output about the
    // whole recording.
    std::optional<std::string> common_source() const;
    // True if the record numbers of this file continue those of an earlier file (kPartCap). After
    // read_front().
    bool continues() const;
    // PMU name of an event; if the file lacks it, the name or number of the event type.
    std::string pmu_name(size_t event) const;
    // True if the event's driver marks losses. After read_front().
    bool marks_losses(size_t event) const;
    bool marks_losses() const;  // true if this holds for all events
    // Driver of the event's PMU; nullptr: none of drivers(). If the PMU name is missing,
    // AUXTRACE_INFO may identify the driver.
    const Driver *driver(size_t event) const;
    Drivers drivers() const { return drivers_; }
    // Stores the driver and the attr.type that AUXTRACE_INFO names.
    void note_auxtrace_info(const perfdata::Record &record);
    const Driver *auxtrace_driver() const { return auxtrace_driver_; }
    // Size of an entry in the event's AUX data; 0: no entries.
    uint64_t entry_bytes(size_t event) const;
    // attr.config of an event. For an unknown event, the config of the event that AUXTRACE_INFO
    // names.
    uint64_t config(size_t event) const;
    uint64_t decoder_version() const { return claimed_version_.value_or(decoder_version_); }
    // Sets the decoder version of AUX data, which an option gives; nullopt: the version in the
    // file.
    void claim_decoder_version(std::optional<uint64_t> version) { claimed_version_ = version; }
    std::optional<uint64_t> claimed_decoder_version() const { return claimed_version_; }
    uint64_t decoder_version_of_file() const { return decoder_version_; }
    // Message that samples of a PMU of a pmukit driver lack their payload. Empty: none does.
    std::string missing(const RecordingTotals &totals) const;
    // Message that no PMU of a pmukit driver was recorded, only other events. Empty: one was, or
    // nothing was recorded.
    std::string not_decoded(const RecordingTotals &totals) const;
    // Message that a complete recording has neither samples nor AUX data, which is no error. Empty:
    // it has some.
    std::string nothing_recorded(const RecordingTotals &totals) const;
    // Message about damage of the file. Empty: none.
    std::string damage() const { return damage_of(reader_, path_); }

private:
    // PMU capabilities that `pmukit record` adds, and Driver::loss_cap.
    struct OwnCaps {
        const std::byte *of = nullptr;  // start of the content of PMU_CAPS that was parsed
        // PMUs with source=model; PMUs whose driver marks losses
        std::set<std::string, std::less<>> of_models, marking;
        bool continues = false;  // the file continues a recording of --interval
    };
    const OwnCaps &own_caps() const;
    friend class PushedRecording;
    Recording(std::string path, perfdata::Reader reader, Drivers drivers)
        : path_(std::move(path)), reader_(std::move(reader)), drivers_(drivers)
    {
    }
    // Entry grids from all AUX records; nullopt: the file can be read only once.
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
    bool measures_duration_ = false;
    uint64_t first_ns_ = UINT64_MAX, last_ns_ = 0;
    std::optional<uint64_t> claimed_version_;
};

// A recording in pipe layout that is fed with bytes as they arrive.
class PushedRecording {
public:
    static Result<PushedRecording> begin(std::string name, Drivers drivers, DriverSink &sink);
    PushedRecording(PushedRecording &&) noexcept;
    PushedRecording &operator=(PushedRecording &&) = delete;
    ~PushedRecording();

    // Delivers the records that these bytes complete.
    Result<void> feed(Bytes bytes);
    // Ends the input.
    Result<RecordingTotals> finish();
    const Recording &recording() const;

private:
    struct State;
    explicit PushedRecording(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

// An error with the message "file: why (at offset)".
Error in_file(const std::string &path, const Error &error);

}  // namespace pmukit::cli
