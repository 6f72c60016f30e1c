// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// hisi_ptt trace entries from bytes. Format: Documentation/devices/hisi_ptt.rst. All of it is
// little-endian, whatever recorded it and whatever reads it.
//
//     8DW  | 0xffffffff | prefix | TLP header dword 0 1 2 3 | 0 | time |
//     4DW  | Fmt Type T9 T8 TH SO Length Time | TLP header dword 1 2 3 |
//
// Two layers. The Framer finds where entries begin and gives them in runs, in place: whoever needs
// speed reads those. The StreamDecoder takes each entry of a run apart.
//
// Where entries begin. An 8DW entry begins with a dword of ones (of which 21 bits are its mark) and
// its seventh dword is 0: it is found at any byte offset. A 4DW entry has no mark: it is where the
// fields of a TLP header agree with each other (is_plausible). Of the 16 places in a window where
// entries may begin, the one with the longest run of entries that agree is taken, if the run is at
// least six long; of two alike, the one at a multiple of 16 bytes of the stream. Where fewer
// entries are to be seen, all must agree, and lie where an entry is expected: at offset 0 of a
// stream, because the device begins there, or behind an 8DW entry. Entries in step are believed
// until eight in a row are of no known type.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "decode/decode.hpp"
#include "decode/hisi_ptt/hisi_ptt_tlp.hpp"
#include "decode/stream.hpp"

namespace pmukit::decode::hisi_ptt {

enum class Format : uint8_t { k4dw, k8dw };

constexpr size_t k4dwBytes = 16, k8dwBytes = 32;
constexpr size_t packet_bytes(Format format)
{
    return format == Format::k8dw ? k8dwBytes : k4dwBytes;
}

// Does an 8DW entry begin here? At least four bytes.
inline bool is_8dw(const std::byte *at)
{
    constexpr uint32_t kMark = 0xfffff800;
    return (load_le<uint32_t>(at) & kMark) == kMark;
}

// What every reader of a stream is told besides its entries.
class LossSink {
public:
    virtual ~LossSink() = default;
    // Bytes that are there and part of no entry.
    virtual void skipped(uint64_t offset, uint64_t bytes) = 0;
    // Bytes that never arrived; 0: some, nobody knows how many.
    virtual void lost(uint64_t offset, uint64_t bytes) = 0;
};

class RunSink : public LossSink {
public:
    // One or more whole entries of one format, borrowed for the call; a few KiB at most, so that
    // they are still in the nearest cache.
    virtual void run(Format format, uint64_t offset, Bytes packets) = 0;
    // run() for the 4DW entries of known types that these begin with; returns their bytes. A sink
    // that looks at the types anyway spares the search for their end.
    virtual size_t run_known_4dw(uint64_t offset, Bytes entries);
};

class Framer final : public Decoder {
public:
    explicit Framer(RunSink &sink) : sink_(sink) {}

    void start(uint64_t offset) override;
    void data(Bytes bytes) override;
    void loss(uint64_t bytes) override;
    void end() override;
    // Nothing more for now: gives what can be given without waiting for more to judge by.
    void settle();

private:
    static constexpr size_t kWindowBytes = 1024;  // what is looked at in search of entries

    size_t consume(Bytes bytes, bool last);
    size_t take_run(Bytes bytes);
    size_t take_4dw(Bytes bytes);
    size_t search(Bytes bytes, bool last);
    void took(Format format, size_t bytes);
    void skip(uint64_t bytes);
    void finish_part();

    RunSink &sink_;
    Position position_;
    bool in_step_ = false;
    bool expected_ = false;         // an entry ought to begin here, of whatever format
    Format format_ = Format::k4dw;  // of the last entry
    unsigned doubt_ = 0;            // 4DW entries of no known type in a row
    Carry<kWindowBytes> carry_;
};

// An entry. The four dwords are those of the TLP; a 4DW entry has only some fields of the first.
struct Packet {
    uint64_t offset = 0;  // in the stream, bytes
    uint64_t time = 0;    // ticks, unwrapped
    Format format = Format::k4dw;
    bool strongly_ordered = false;  // SO; 4DW only
    uint32_t stamp = 0;             // the time as it stands there
    uint32_t prefix = 0;            // TLP prefix; 0: none, as always in 4DW
    TlpHeader header{};
};

// Stamps of 11 (4DW) or 32 bits (8DW) to a time that does not wrap. The unit is the device's own
// and unknown. 4DW: time only goes on, and an interval of 2048 ticks or more cannot be told from
// its remainder. 8DW: a stamp up to half the range behind the last one is taken for older.
class Clock {
public:
    uint64_t unwrap(Format format, uint32_t stamp)
    {
        if (!started_ || format != format_) {
            now_ = started_ ? now_ : stamp;
        } else if (format == Format::k8dw) {
            const int64_t step = static_cast<int32_t>(stamp - last_);
            now_ = step < 0 && now_ < static_cast<uint64_t>(-step) ? 0 : now_ + step;
        } else {
            now_ += (stamp - last_) & k4dwStampMask;
        }
        started_ = true;
        format_ = format;
        last_ = stamp;
        return now_;
    }

private:
    static constexpr uint32_t k4dwStampMask = 0x7ff;

    bool started_ = false;
    Format format_ = Format::k4dw;
    uint32_t last_ = 0;
    uint64_t now_ = 0;
};

// One entry taken apart. at: whole, of this format.
Packet unpack(Format format, uint64_t offset, const std::byte *at, Clock &clock);

class Sink : public LossSink {
public:
    virtual void packet(const Packet &packet) = 0;
};

class StreamDecoder final : public Decoder, private RunSink {
public:
    explicit StreamDecoder(Sink &sink) : sink_(sink), framer_(*this) {}
    StreamDecoder(const StreamDecoder &) = delete;
    StreamDecoder &operator=(const StreamDecoder &) = delete;

    void start(uint64_t offset) override;
    void data(Bytes bytes) override { framer_.data(bytes); }
    void loss(uint64_t bytes) override { framer_.loss(bytes); }
    void end() override { framer_.end(); }
    // Whole entries whose format is known: as they come in samples, between start() and end(), and
    // not together with data().
    void entries(Format format, Bytes entries);

private:
    void run(Format format, uint64_t offset, Bytes packets) override;
    void skipped(uint64_t offset, uint64_t bytes) override { sink_.skipped(offset, bytes); }
    void lost(uint64_t offset, uint64_t bytes) override { sink_.lost(offset, bytes); }

    Sink &sink_;
    Clock clock_;
    Framer framer_;
    uint64_t entries_offset_ = 0;
};

// Do these bytes look like entries? Only 8DW ones can be told. For streams whose PMU nobody knows
// by name.
bool looks_like_entries(Bytes bytes);

}  // namespace pmukit::decode::hisi_ptt
