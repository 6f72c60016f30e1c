// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// hisi_ptt trace entries from bytes. Format: Documentation/devices/hisi_ptt.rst. All of it is
// little-endian, whatever recorded it and whatever reads it.
//
//     8DW  | 0xffffffff | prefix | TLP header dword 0 1 2 3 | 0 | time |
//     4DW  | Fmt Type T9 T8 TH SO Length Time | TLP header dword 1 2 3 |
//
// Two layers. The Framer gives entries in runs, in place, for fast readers. The StreamDecoder
// decodes each entry of a run.
//
// Where entries begin is never guessed: the event's config says which format the device writes, the
// first byte of a stream is that of an entry, unless align() says another, and each begins at a
// multiple of its length from there. An 8DW entry begins with a dword of ones, of which 21 bits are
// its mark: where that is missing the 32 bytes are damaged and passed over. A 4DW entry has no
// mark, so that each is given, if need be with an unknown type.
//
// The device may be stopped inside of an entry, and its next run then begins behind that part. A
// caller that knows where calls align(). The marks of 8DW entries show it, too: where those that
// should be next are missing, and others follow each other inside of the entries.
//
//     marks    |       |       |   |       |       |
//     entries  |-------|-------|---|-------|-------|
//                          part of one
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

// The format that the event's config asks of the device.
constexpr Format format_of(uint64_t config)
{
    return (config >> 32 & 0xf) == 1 ? Format::k8dw : Format::k4dw;
}

// The layout of the headers in a file. The recording program says it in the second word of
// AUXTRACE_INFO: the perf patches of June 2026 their decoder's version, the later ones and the perf
// of openEuler the pattern that the event asks of the device.
//
//                 June 2026    pattern
//     version 1   no word      no word, 0   headers of PCI Express 5.0
//     version 2   2            1            tags of 14 bits and segments in unused bits
//
// What is newer than 2 is read as 2.
constexpr uint64_t kDecoderVersion = 2;
constexpr uint64_t decoder_version(uint64_t word)
{
    return word < 2 ? word + 1 : word;
}
// The word for an event. A driver without the term "pattern" leaves bit 8 of TRACE_CTRL 0, which is
// pattern 1; an older device has only the other layout, in which no valid bit is set.
constexpr uint64_t auxtrace_word(uint64_t config, bool has_pattern)
{
    return has_pattern ? config >> 36 & 0xf : 1;
}
// The word by patterns that says a version.
constexpr uint64_t word_of_version(uint64_t version)
{
    return version - 1;
}
constexpr bool has_wide_tags(uint64_t version)
{
    return version != 1;
}

// What must be known of a stream to read it.
struct Layout {
    Format format = Format::k4dw;
    bool wide_tags = false;
};

constexpr size_t k4dwBytes = 16, k8dwBytes = 32;
constexpr size_t packet_bytes(Format format)
{
    return format == Format::k8dw ? k8dwBytes : k4dwBytes;
}

constexpr uint64_t entry_bytes(uint64_t config)
{
    return packet_bytes(format_of(config));
}

// Does an 8DW entry begin here? At least four bytes.
inline bool is_8dw(const std::byte *at)
{
    constexpr uint32_t kMark = 0xfffff800;
    return (load_le<uint32_t>(at) & kMark) == kMark;
}

// What every reader of a stream gets besides its entries.
class LossSink {
public:
    virtual ~LossSink() = default;
    // Bytes that are there and part of no entry.
    virtual void skipped(uint64_t offset, uint64_t bytes) = 0;
    // Bytes that never arrived; 0: some, their number is unknown.
    virtual void lost(uint64_t offset, uint64_t bytes) = 0;
};

class RunSink : public LossSink {
public:
    // One or more whole entries of one format, borrowed for the call; a few KiB at most, so that
    // they are still in the nearest cache.
    virtual void run(Format format, uint64_t offset, Bytes packets) = 0;
};

class Framer final : public Decoder {
public:
    Framer(RunSink &sink, Format format) : sink_(sink), format_(format) {}

    void start(uint64_t offset) override;
    void data(Bytes bytes) override;
    void loss(uint64_t bytes) override;
    void end() override;
    // From here on entries begin at this offset of the stream, or would before and behind it;
    // nullopt: it is unknown where, and all is passed over until the next call. A new run, at the
    // same place in its entries: what was given before is decided without what follows.
    void align(std::optional<uint64_t> base);
    // Whole entries are decided by what is there.
    void settle();

private:
    // What an 8DW entry and what follows it are: how many bytes hold none, or more are needed.
    struct Look {
        bool is_entry = false, needs_more = false;
        size_t bytes = 0;  // to pass over
    };
    static constexpr size_t kLookBytes = 3 * k8dwBytes;  // that decide

    static Look look_at(Bytes bytes, bool last);
    size_t consume(Bytes bytes, bool last);
    size_t take(Bytes bytes, bool last);
    size_t take_8dw(Bytes bytes, bool last);
    size_t skip(size_t bytes);
    size_t give(Bytes entries);

    RunSink &sink_;
    Format format_;
    Position position_;
    std::optional<uint64_t> base_ = 0;
    Carry<kLookBytes> carry_;
};

// An entry. The four dwords are those of the TLP; a 4DW entry has only some fields of the first.
struct Packet {
    uint64_t offset = 0;  // in the stream, bytes
    uint64_t time = 0;    // ticks, unwrapped
    Format format = Format::k4dw;
    bool wide_tags = false;         // as the Layout has it
    bool strongly_ordered = false;  // SO; 4DW only
    uint32_t stamp = 0;             // the time as it stands there
    uint32_t prefix = 0;            // TLP prefix; 0: none, as always in 4DW
    TlpHeader header{};
};
inline Tlp parse_tlp(const Packet &packet)
{
    return parse_tlp(packet.header, packet.prefix, packet.wide_tags);
}

// Stamps of 11 (4DW) or 32 bits (8DW) to a time that does not wrap. The unit is the device's own
// and unknown. 4DW: time only goes on, and an interval of 2048 ticks or more is taken for its
// remainder modulo 2048. 8DW: a stamp up to half the range behind the last one is taken for older.
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
Packet unpack(const Layout &layout, uint64_t offset, const std::byte *at, Clock &clock);

class Sink : public LossSink {
public:
    virtual void packet(const Packet &packet) = 0;
};

class StreamDecoder final : public Decoder, private RunSink {
public:
    StreamDecoder(Sink &sink, const Layout &layout)
        : sink_(sink), layout_(layout), framer_(*this, layout.format)
    {
    }
    StreamDecoder(const StreamDecoder &) = delete;
    StreamDecoder &operator=(const StreamDecoder &) = delete;

    void start(uint64_t offset) override;
    void data(Bytes bytes) override { framer_.data(bytes); }
    void loss(uint64_t bytes) override { framer_.loss(bytes); }
    void end() override { framer_.end(); }
    void align(std::optional<uint64_t> base) { framer_.align(base); }
    // Whole entries of any format: as they come in samples, between start() and end(), and not
    // together with data().
    void entries(Format format, Bytes entries);

private:
    void run(Format format, uint64_t offset, Bytes packets) override;
    void skipped(uint64_t offset, uint64_t bytes) override { sink_.skipped(offset, bytes); }
    void lost(uint64_t offset, uint64_t bytes) override { sink_.lost(offset, bytes); }

    Sink &sink_;
    Layout layout_;
    Clock clock_;
    Framer framer_;
    uint64_t entries_offset_ = 0;
};

// Do these bytes look like entries? Only 8DW ones can be recognized. For streams whose PMU has no
// known name.
bool looks_like_entries(Bytes bytes);

}  // namespace pmukit::decode::hisi_ptt
