// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

#include <algorithm>

#include "decode/stream.hpp"

namespace pmukit::decode::hisi_ptt {
namespace {

constexpr size_t kDword = 4;
constexpr size_t kRunBytes = 8192;

uint32_t dword(const std::byte *at, size_t index)
{
    return load_le<uint32_t>(at + index * kDword);
}

// Converts the first dword of a 4DW entry to that of a TLP header. Fields of the entry and their
// widths in bits, from bit 31 down: Fmt 2, Type 5, T9, T8, TH, SO, Length 10, Time 11.
uint32_t header_dword0_of_4dw(uint32_t dw0)
{
    return (dw0 >> 25) << 24 | (dw0 >> 24 & 1) << 23 | (dw0 >> 23 & 1) << 19 |
           (dw0 >> 22 & 1) << 16 | (dw0 >> 11 & 0x3ff);
}

// Returns the size of the entries before the first one without its mark. `entries` consists of
// whole 8DW entries.
size_t bytes_with_mark(Bytes entries)
{
    size_t at = 0;
    while (at < entries.size() && is_8dw(entries.data() + at))
        at += k8dwBytes;
    return at;
}

// Returns the size of the entries before the first one in which any dword is a mark. `entries`
// consists of whole 8DW entries.
size_t bytes_without_marks(Bytes entries)
{
    for (size_t at = 0; at < entries.size(); at += k8dwBytes) {
        bool any = false;
        for (size_t in = 0; in < k8dwBytes; in += kDword)
            any |= is_8dw(entries.data() + at + in);
        if (any)
            return at;
    }
    return entries.size();
}

enum class Mark { kMissing, kThere, kUnknown };

// Returns kUnknown if the bytes end before the mark.
Mark mark_at(Bytes bytes, size_t at)
{
    if (at + kDword > bytes.size())
        return Mark::kUnknown;
    return is_8dw(bytes.data() + at) ? Mark::kThere : Mark::kMissing;
}

}  // namespace

// Framing

struct __attribute__((visibility("hidden"))) Framer::State {
    // Result of look_at(): the bytes are an entry, some bytes must be skipped, or more data is
    // needed for a decision.
    struct Look {
        bool is_entry = false, needs_more = false;
        // Number of bytes to skip.
        size_t bytes = 0;
    };
    // With this many bytes, look_at() never needs more.
    static constexpr size_t kLookBytes = 3 * k8dwBytes;

    State(RunSink &sink, Format format) : sink_(sink), format_(format) {}

    void start(uint64_t offset);
    void data(Bytes bytes);
    void loss(uint64_t bytes);
    void end();
    void align(std::optional<uint64_t> base);
    void settle();
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

void Framer::State::start(uint64_t offset)
{
    position_ = Position(offset);
    base_ = 0;
    carry_.clear();
}

size_t Framer::State::skip(size_t bytes)
{
    position_.skip(bytes);
    return bytes;
}

size_t Framer::State::give(Bytes entries)
{
    position_.tell_skipped(sink_);
    sink_.run(format_, position_.offset(), entries);
    position_.move(entries.size());
    return entries.size();
}

// Decides on the 32 bytes where an 8DW entry is expected; `bytes` begins with them. The next entry
// begins at another offset inside these bytes if that offset has a mark, marks follow one and two
// entries after it, and the next two expected marks are missing. If `last` is true, no data follows
// `bytes`, and marks beyond the end count as present.
Framer::State::Look Framer::State::look_at(Bytes bytes, bool last)
{
    const bool is_marked = is_8dw(bytes.data());
    Look look{.is_entry = is_marked, .bytes = is_marked ? 0 : k8dwBytes};
    const Mark next = mark_at(bytes, k8dwBytes), after = mark_at(bytes, 2 * k8dwBytes);
    if (next == Mark::kThere || after == Mark::kThere || (next == Mark::kUnknown && last))
        return look;
    for (size_t at = kDword; at < k8dwBytes; at += kDword) {
        const Mark here = mark_at(bytes, at), second = mark_at(bytes, at + k8dwBytes),
                   third = mark_at(bytes, at + 2 * k8dwBytes);
        if (here != Mark::kThere || second == Mark::kMissing || third == Mark::kMissing)
            continue;
        if (!last && (third == Mark::kUnknown || after == Mark::kUnknown))
            look.needs_more = true;
        else
            return {.bytes = at};
    }
    return look;
}

// Delivers the entries before the first one without its mark. look_at() decides on the last of
// them. Returns the number of bytes used.
size_t Framer::State::take_8dw(Bytes bytes, bool last)
{
    const Bytes entries = bytes.first(std::min(kRunBytes, bytes.size() / k8dwBytes * k8dwBytes));
    if (const size_t damaged = bytes_without_marks(entries))
        return skip(damaged);
    const size_t marked = bytes_with_mark(entries);
    const size_t sure = marked - std::min(marked, k8dwBytes);
    if (sure)
        return give(bytes.first(sure));
    const Look look = look_at(bytes, last);
    if (look.needs_more)
        return 0;
    if (look.is_entry)
        return give(bytes.first(k8dwBytes));
    if (look.bytes < k8dwBytes)
        base_ = position_.offset() + look.bytes;
    return skip(look.bytes);
}

// Returns the number of bytes used, or 0 if more data is needed.
size_t Framer::State::take(Bytes bytes, bool last)
{
    if (!base_)
        return skip(bytes.size());
    const size_t size = packet_bytes(format_), inside = (position_.offset() - *base_) % size;
    if (inside)
        return skip(std::min(size - inside, bytes.size()));
    if (bytes.size() < size)
        return 0;
    if (format_ == Format::k8dw)
        return take_8dw(bytes, last);
    return give(bytes.first(std::min(kRunBytes, bytes.size() / size * size)));
}

size_t Framer::State::consume(Bytes bytes, bool last)
{
    size_t used = 0;
    while (const size_t took = take(bytes.subspan(used), last))
        used += took;
    return used;
}

void Framer::State::data(Bytes bytes)
{
    carry_.data(bytes, [this](Bytes there) { return consume(there, false); });
}

void Framer::State::settle()
{
    carry_.settle([this](Bytes there) { return consume(there, true); });
}

void Framer::State::align(std::optional<uint64_t> base)
{
    settle();
    if (base == base_)
        return;
    skip(carry_.size());
    carry_.clear();
    base_ = base;
}

// Delivers the whole entries in carry_ and skips the other bytes in it.
void Framer::State::end()
{
    settle();
    skip(carry_.size());
    carry_.clear();
    position_.tell_skipped(sink_);
}

void Framer::State::loss(uint64_t bytes)
{
    end();
    sink_.lost(position_.offset(), bytes);
    position_.move(bytes);
}

Framer::Framer(RunSink &sink, Format format) : state_(std::make_unique<State>(sink, format)) {}
Framer::Framer(Framer &&) noexcept = default;
Framer &Framer::operator=(Framer &&) noexcept = default;
Framer::~Framer() = default;

void Framer::start(uint64_t offset)
{
    state_->start(offset);
}

void Framer::data(Bytes bytes)
{
    state_->data(bytes);
}

void Framer::loss(uint64_t bytes)
{
    state_->loss(bytes);
}

void Framer::end()
{
    state_->end();
}

void Framer::align(std::optional<uint64_t> base)
{
    state_->align(base);
}

void Framer::settle()
{
    state_->settle();
}

// Decoding

Packet unpack(const Layout &layout, uint64_t offset, const std::byte *at, Clock &clock)
{
    Packet packet;
    packet.offset = offset;
    packet.format = layout.format;
    packet.wide_tags = layout.wide_tags;
    if (layout.format == Format::k8dw) {
        packet.prefix = dword(at, 1);
        packet.header = {dword(at, 2), dword(at, 3), dword(at, 4), dword(at, 5)};
        packet.stamp = dword(at, 7);
    } else {
        const uint32_t dw0 = dword(at, 0);
        packet.header = {header_dword0_of_4dw(dw0), dword(at, 1), dword(at, 2), dword(at, 3)};
        packet.strongly_ordered = dw0 >> 21 & 1;
        packet.stamp = dw0 & 0x7ff;
    }
    packet.time = clock.unwrap(layout.format, packet.stamp);
    return packet;
}

struct __attribute__((visibility("hidden"))) StreamDecoder::State final : RunSink {
    State(Sink &sink, const Layout &layout)
        : sink_(sink), layout_(layout), framer_(*this, layout.format)
    {
    }

    void run(Format format, uint64_t offset, Bytes packets) override;
    void skipped(uint64_t offset, uint64_t bytes) override { sink_.skipped(offset, bytes); }
    void lost(uint64_t offset, uint64_t bytes) override { sink_.lost(offset, bytes); }

    Sink &sink_;
    Layout layout_;
    Clock clock_;
    Framer::State framer_;
    uint64_t entries_offset_ = 0;
};

void StreamDecoder::State::run(Format format, uint64_t offset, Bytes packets)
{
    const Layout layout{format, layout_.wide_tags};
    const size_t size = packet_bytes(format);
    for (size_t at = 0; at < packets.size(); at += size)
        sink_.packet(unpack(layout, offset + at, packets.data() + at, clock_));
}

StreamDecoder::StreamDecoder(Sink &sink, const Layout &layout)
    : state_(std::make_unique<State>(sink, layout))
{
}
StreamDecoder::StreamDecoder(StreamDecoder &&) noexcept = default;
StreamDecoder &StreamDecoder::operator=(StreamDecoder &&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

void StreamDecoder::start(uint64_t offset)
{
    state_->clock_ = {};
    state_->entries_offset_ = offset;
    state_->framer_.start(offset);
}

void StreamDecoder::data(Bytes bytes)
{
    state_->framer_.data(bytes);
}

void StreamDecoder::loss(uint64_t bytes)
{
    state_->framer_.loss(bytes);
}

void StreamDecoder::end()
{
    state_->framer_.end();
}

void StreamDecoder::align(std::optional<uint64_t> base)
{
    state_->framer_.align(base);
}

void StreamDecoder::entries(Format format, Bytes entries)
{
    state_->run(format, state_->entries_offset_, entries);
    state_->entries_offset_ += entries.size();
}

bool looks_like_entries(Bytes bytes)
{
    return bytes.size() >= 2 * k8dwBytes && is_8dw(bytes.data()) &&
           is_8dw(bytes.data() + k8dwBytes);
}

}  // namespace pmukit::decode::hisi_ptt
