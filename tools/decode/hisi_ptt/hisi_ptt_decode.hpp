// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Decodes hisi_ptt trace entries. Documentation/devices/hisi_ptt.rst describes the format. Entries
// are always little-endian, whatever machine records or reads them.
//
//     8DW  | 0xffffffff | prefix | TLP header dword 0 1 2 3 | 0 | time |
//     4DW  | Fmt Type T9 T8 TH SO Length Time | TLP header dword 1 2 3 |
//
// There are two layers: the Framer finds adjacent entries and delivers them without a copy, for
// callers that need speed. The StreamDecoder decodes each entry.
//
// The decoder never guesses where entries begin. The event's config selects the format. Entries
// begin at multiples of their size from offset 0 of the stream, or from the offset that align()
// sets. An 8DW entry begins with a dword of ones, 21 bits of which are its mark; 32 bytes without
// it are damaged and skipped. A 4DW entry has no mark, so every 16 bytes are delivered as an entry,
// if need be with an unknown type.
//
// The device may stop inside an entry. The entries after its next start then begin after that part.
// A caller that knows this offset calls align(). The marks of 8DW entries show the offset, too: the
// expected marks are missing, and marks at another offset follow each other.
//
//     marks    |       |       |   |       |       |
//     entries  |-------|-------|---|-------|-------|
//                       part of an entry
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/bytes.hpp"
#include "decode/decode.hpp"
#include "decode/hisi_ptt/hisi_ptt_tlp.hpp"

namespace pmukit::decode::hisi_ptt {

enum class Format : uint8_t { k4dw, k8dw };

// Returns the format that the event's config selects.
constexpr Format format_of(uint64_t config)
{
    return (config >> 32 & 0xf) == 1 ? Format::k8dw : Format::k4dw;
}

// Version of the header layout in a file, from the second word of AUXTRACE_INFO. The perf patches
// of June 2026 store their decoder version there. Later patches and the perf of openEuler store the
// pattern that the event selects.
//
//                 June 2026    pattern
//     version 1   no word      no word, 0   headers of PCI Express 5.0
//     version 2   2            1            tags of 14 bits and segments in unused bits
//
// Newer versions are read as 2.
constexpr uint64_t kDecoderVersion = 2;
constexpr uint64_t decoder_version(uint64_t word)
{
    return word < 2 ? word + 1 : word;
}
// The second word of AUXTRACE_INFO for an event. A driver without the term "pattern" leaves bit 8
// of TRACE_CTRL 0, which selects pattern 1. An older device has only the other layout, in which no
// valid bit is set.
constexpr uint64_t auxtrace_word(uint64_t config, bool has_pattern)
{
    return has_pattern ? config >> 36 & 0xf : 1;
}
// Returns the pattern that the second word of AUXTRACE_INFO has for a version.
constexpr uint64_t word_of_version(uint64_t version)
{
    return version - 1;
}
constexpr bool has_wide_tags(uint64_t version)
{
    return version != 1;
}

// Parameters to decode a stream.
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

// Returns true if an 8DW entry begins at `at`, which has at least four bytes.
inline bool is_8dw(const std::byte *at)
{
    constexpr uint32_t kMark = 0xfffff800;
    return (load_le<uint32_t>(at) & kMark) == kMark;
}

// Receives the gaps between the entries of a stream.
class LossSink {
public:
    virtual ~LossSink() = default;
    // Called for bytes of the stream that belong to no entry.
    virtual void skipped(uint64_t offset, uint64_t bytes) = 0;
    // Called for bytes of the stream that are missing. bytes: their number, or 0 if it is unknown.
    virtual void lost(uint64_t offset, uint64_t bytes) = 0;
};

class RunSink : public LossSink {
public:
    // Called for one or more adjacent whole entries of one format. The entries are valid only
    // during the call. Their size is at most a few KiB, so that they stay in the L1 cache.
    virtual void run(Format format, uint64_t offset, Bytes packets) = 0;
};

class Framer final : public Decoder {
public:
    Framer(RunSink &sink, Format format);
    Framer(Framer &&) noexcept;
    Framer &operator=(Framer &&) noexcept;
    ~Framer() override;

    void start(uint64_t offset) override;
    void data(Bytes bytes) override;
    void loss(uint64_t bytes) override;
    void end() override;
    // Call when the device was started again: entries now begin at this offset of the stream, and
    // at multiples of their size from it. nullopt: the offset is unknown, and all data is skipped
    // until the next call. Calls settle() first.
    void align(std::optional<uint64_t> base);
    // Delivers or skips the whole entries that are carried over from earlier data(), without
    // waiting for more data.
    void settle();

private:
    friend class StreamDecoder;
    struct State;
    std::unique_ptr<State> state_;
};

// A decoded entry. Of the first dword of a TLP header, a 4DW entry has only some fields.
struct Packet {
    // Offset of the entry in the stream, in bytes.
    uint64_t offset = 0;
    // Time in ticks, after unwrapping.
    uint64_t time = 0;
    Format format = Format::k4dw;
    // Copied from the Layout: tags may have 14 bits.
    bool wide_tags = false;
    // The field SO, which only 4DW entries have.
    bool strongly_ordered = false;
    // The timestamp as in the entry.
    uint32_t stamp = 0;
    // TLP prefix; 0: none. A 4DW entry never has a prefix.
    uint32_t prefix = 0;
    TlpHeader header{};
};
inline Tlp parse_tlp(const Packet &packet)
{
    return parse_tlp(packet.header, packet.prefix, packet.wide_tags);
}

// Unwraps timestamps of 11 bits (4DW) or 32 bits (8DW). The length of a tick is unknown. In 4DW,
// the unwrapped time never decreases, and intervals are known only modulo 2048 ticks. In 8DW, the
// time may decrease: a stamp that precedes the last one by at most half the range is taken as
// older.
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

// Decodes the entry at `at`, which is a whole entry of this format.
Packet unpack(const Layout &layout, uint64_t offset, const std::byte *at, Clock &clock);

class Sink : public LossSink {
public:
    virtual void packet(const Packet &packet) = 0;
};

class StreamDecoder final : public Decoder {
public:
    StreamDecoder(Sink &sink, const Layout &layout);
    StreamDecoder(StreamDecoder &&) noexcept;
    StreamDecoder &operator=(StreamDecoder &&) noexcept;
    ~StreamDecoder() override;

    void start(uint64_t offset) override;
    void data(Bytes bytes) override;
    void loss(uint64_t bytes) override;
    void end() override;
    // As in Framer.
    void align(std::optional<uint64_t> base);
    // Decodes whole entries of any format from samples. Call it between start() and end(), and do
    // not call data() for the same stream.
    void entries(Format format, Bytes entries);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Returns true if `bytes` looks like 8DW entries; 4DW entries cannot be recognized. Used for
// streams whose PMU name is unknown.
bool looks_like_entries(Bytes bytes);

}  // namespace pmukit::decode::hisi_ptt
