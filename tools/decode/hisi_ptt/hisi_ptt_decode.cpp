// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What is decided depends on the bytes alone, never on the pieces they come in: a search waits
// until it sees a whole window, or the end.
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

#include <algorithm>

namespace pmukit::decode::hisi_ptt {
namespace {

constexpr size_t kDword = 4;
constexpr size_t kRunBytes = 8192;
constexpr unsigned kMaxDoubt = 8;      // 4DW entries of no known type in a row
constexpr size_t kEnoughPackets = 6;   // in a row that agree: not by chance
constexpr size_t kReservedDword = 24;  // of an 8DW entry: always 0

uint32_t dword(const std::byte *at, size_t index)
{
    return load_le<uint32_t>(at + index * kDword);
}

// 4DW: the first dword, from its top: Fmt 2, Type 5, T9, T8, TH, SO, Length 10, Time 11.
uint8_t fmt_type_of_4dw(uint32_t dw0)
{
    return static_cast<uint8_t>(dw0 >> 25);
}

uint32_t header_dword0_of_4dw(uint32_t dw0)
{
    return uint32_t{fmt_type_of_4dw(dw0)} << 24 | (dw0 >> 24 & 1) << 23 | (dw0 >> 23 & 1) << 19 |
           (dw0 >> 22 & 1) << 16 | (dw0 >> 11 & 0x3ff);
}

bool is_plausible_4dw(const std::byte *at)
{
    return is_plausible(
        {header_dword0_of_4dw(dword(at, 0)), dword(at, 1), dword(at, 2), dword(at, 3)});
}

// By Fmt and Type of a 4DW entry: is the type known?
std::array<bool, 128> make_known()
{
    std::array<bool, 128> known{};
    for (size_t i = 0; i < known.size(); i++)
        known[i] = kind_of(static_cast<uint8_t>(i)).type != TlpType::kUnknown;
    return known;
}

const std::array<bool, 128> kKnown = make_known();

// Bytes of the 4DW entries of known types that these begin with, which no 8DW entry is: its mark is
// of no known type. Four at a time, because nearly all are.
size_t known_4dw(Bytes entries)
{
    const auto known = [&](size_t at) -> unsigned {
        return kKnown[fmt_type_of_4dw(dword(&entries[at], 0))];
    };
    constexpr size_t k1 = k4dwBytes, kStride = 4 * k1;
    size_t at = 0;
    while (entries.size() - at >= kStride &&
           (known(at) & known(at + k1) & known(at + 2 * k1) & known(at + 3 * k1)))
        at += kStride;
    while (entries.size() - at >= k1 && known(at))
        at += k1;
    return at;
}

// Searching

struct Found {
    size_t at = 0;                 // bytes to pass over
    std::optional<Format> format;  // of the entry there; absent: none was found
};

// In search of entries all of the first dword must be as the format has it: its 21 bits alone would
// also fit one byte before it.
bool begins_8dw(Bytes window, size_t at)
{
    const size_t left = window.size() - at;
    if (left < kDword || load_le<uint32_t>(window.data() + at) != UINT32_MAX)
        return false;
    return left < kReservedDword + kDword ||
           load_le<uint32_t>(window.data() + at + kReservedDword) == 0;
}

// Entries that follow each other from here on.
size_t chain_8dw(Bytes window, size_t at)
{
    size_t entries = 0;
    for (; at < window.size() && begins_8dw(window, at); at += k8dwBytes)
        entries++;
    return entries;
}

// What follows an 8DW entry must be an entry too, if it is there to be seen.
bool is_followed(Bytes window, size_t at)
{
    const size_t behind = at + k8dwBytes;
    if (behind + kDword > window.size() || is_8dw(window.data() + behind))
        return true;
    return behind + k4dwBytes <= window.size() && is_plausible_4dw(window.data() + behind);
}

// Up to three neighbours of an entry look alike when it is full of ones: the longest chain is
// right, then the place where entries are likely, then the last.
size_t best_neighbour(Bytes window, size_t first, size_t likely)
{
    size_t best = first, longest = chain_8dw(window, first);
    for (size_t at = first + 1; at < std::min(first + kDword, window.size()); at++) {
        const size_t chain = chain_8dw(window, at);
        const bool better = chain == longest && best % k4dwBytes != likely;
        if (chain > longest || (chain && better)) {
            best = at;
            longest = chain;
        }
    }
    return best;
}

// last: nothing follows the window. Otherwise an entry whose successor is not seen is not judged.
std::optional<size_t> find_8dw(Bytes window, size_t likely, bool last)
{
    const size_t judged = last ? window.size() : window.size() - k8dwBytes - kDword;
    for (size_t at = 0; at < judged; at++) {
        if (!begins_8dw(window, at))
            continue;
        const size_t best = best_neighbour(window, at, likely);
        if (is_followed(window, best))
            return best;
    }
    return std::nullopt;
}

// The longest run of entries that agree with themselves, of those that begin at one of 16 places.
struct Agreement {
    size_t entries = 0;  // looked at
    size_t longest = 0;
    bool enough() const { return longest >= kEnoughPackets; }
    bool all() const { return entries != 0 && longest == entries; }
};

Agreement agreement_4dw(Bytes bytes)
{
    Agreement agreement;
    size_t run = 0;
    for (size_t at = 0; bytes.size() - at >= k4dwBytes; at += k4dwBytes) {
        agreement.entries++;
        run = is_plausible_4dw(bytes.data() + at) ? run + 1 : 0;
        agreement.longest = std::max(agreement.longest, run);
    }
    return agreement;
}

// The first of two entries in a row that agree.
size_t first_plausible(Bytes bytes, size_t at)
{
    while (!is_plausible_4dw(bytes.data() + at) || !is_plausible_4dw(bytes.data() + at + k4dwBytes))
        at += k4dwBytes;
    return at;
}

// Up to an 8DW entry there is only one place where 4DW entries may begin.
Found judge_before_8dw(Bytes before, bool expected)
{
    const size_t at = before.size() % k4dwBytes;
    const Agreement agreement = agreement_4dw(before.subspan(at));
    if (agreement.enough())
        return {first_plausible(before, at), Format::k4dw};
    if (expected && at == 0 && agreement.all())
        return {0, Format::k4dw};
    return {before.size(), Format::k8dw};
}

// likely: the place in the window where entries may most likely begin.
Found judge_4dw(Bytes window, size_t likely)
{
    if (window.size() < likely)
        return {};
    size_t best = likely;
    Agreement agreement = agreement_4dw(window.subspan(likely));
    for (size_t at = 0; at < std::min(k4dwBytes, window.size()); at++) {
        const Agreement other = agreement_4dw(window.subspan(at));
        if (other.longest > agreement.longest) {
            best = at;
            agreement = other;
        }
    }
    if (agreement.enough())
        return {first_plausible(window, best), Format::k4dw};
    // Too few to be judged by number: where they should be, all of them, or not at all.
    if (best == likely && agreement.all())
        return {likely, Format::k4dw};
    return {};
}

}  // namespace

// Framing

size_t RunSink::run_known_4dw(uint64_t offset, Bytes entries)
{
    const size_t known = known_4dw(entries);
    if (known)
        run(Format::k4dw, offset, entries.first(known));
    return known;
}

void Framer::start(uint64_t offset)
{
    position_ = Position(offset);
    in_step_ = false;
    expected_ = offset == 0;
    format_ = Format::k4dw;
    doubt_ = 0;
    carry_.clear();
}

void Framer::skip(uint64_t bytes)
{
    if (bytes == 0)
        return;
    expected_ = false;
    position_.skip(bytes);
}

void Framer::took(Format format, size_t bytes)
{
    format_ = format;
    position_.move(bytes);
}

size_t Framer::search(Bytes bytes, bool last)
{
    if (bytes.size() < kWindowBytes && !last)
        return 0;
    const Bytes window = bytes.first(std::min(kWindowBytes, bytes.size()));
    last = last && window.size() == bytes.size();
    const size_t likely = expected_ ? 0 : (k4dwBytes - position_.offset() % k4dwBytes) % k4dwBytes;
    const std::optional<size_t> mark = find_8dw(window, likely, last);
    Found found =
        mark ? judge_before_8dw(window.first(*mark), expected_) : judge_4dw(window, likely);
    // The second half is looked at again, together with what follows it.
    if (!found.format)
        found.at = last ? window.size() : window.size() / 2;
    skip(found.at);
    if (!found.format)
        return found.at;
    position_.tell_skipped(sink_);
    format_ = *found.format;
    in_step_ = true;
    doubt_ = 0;
    return found.at;
}

// In step: entries of the format of the first one, up to the next of another.
size_t Framer::take_run(Bytes bytes)
{
    if (bytes.size() < k4dwBytes)
        return 0;
    if (!is_8dw(bytes.data()) && format_ == Format::k8dw) {
        in_step_ = false;  // data of the other format, or damage
        expected_ = true;
        return 0;
    }
    if (!is_8dw(bytes.data()))
        return take_4dw(bytes);
    const size_t limit = std::min(kRunBytes, bytes.size() / k8dwBytes * k8dwBytes);
    size_t run = 0;
    while (run < limit && is_8dw(bytes.data() + run))
        run += k8dwBytes;
    if (run) {
        sink_.run(Format::k8dw, position_.offset(), bytes.first(run));
        took(Format::k8dw, run);
    }
    doubt_ = 0;
    return run;
}

size_t Framer::take_4dw(Bytes bytes)
{
    Bytes entries = bytes.first(std::min(kRunBytes, bytes.size() / k4dwBytes * k4dwBytes));
    const uint64_t begin = position_.offset();
    while (!entries.empty() && doubt_ < kMaxDoubt) {
        size_t run = sink_.run_known_4dw(position_.offset(), entries);
        if (run) {
            doubt_ = 0;
        } else if (is_8dw(entries.data())) {
            break;
        } else {
            doubt_++;
            run = k4dwBytes;
            sink_.run(Format::k4dw, position_.offset(), entries.first(run));
        }
        took(Format::k4dw, run);
        entries = entries.subspan(run);
    }
    in_step_ = doubt_ < kMaxDoubt;
    return position_.offset() - begin;
}

// Returns how many bytes were used.
size_t Framer::consume(Bytes bytes, bool last)
{
    size_t used = 0;
    for (;;) {
        const Bytes rest = bytes.subspan(used);
        const bool was_in_step = in_step_;
        const size_t took = in_step_ ? take_run(rest) : search(rest, last);
        used += took;
        if (took == 0 && in_step_ == was_in_step)
            return used;
    }
}

void Framer::data(Bytes bytes)
{
    carry_.data(bytes, [this](Bytes there) { return consume(there, false); });
}

void Framer::settle()
{
    carry_.settle([this](Bytes there) { return consume(there, true); });
}

// Nothing follows what is carried: whole entries of it are given, the rest is not one.
void Framer::finish_part()
{
    settle();
    skip(carry_.size());
    carry_.clear();
    position_.tell_skipped(sink_);
    in_step_ = false;
    expected_ = false;
    format_ = Format::k4dw;
}

void Framer::loss(uint64_t bytes)
{
    settle();
    const bool in_step = in_step_;
    const Format format = format_;
    finish_part();
    sink_.lost(position_.offset(), bytes);
    position_.move(bytes);
    // A loss of unknown size lies between whole entries.
    if (bytes == 0) {
        in_step_ = in_step;
        format_ = format;
    }
}

void Framer::end()
{
    finish_part();
}

// Taking apart

Packet unpack(Format format, uint64_t offset, const std::byte *at, Clock &clock)
{
    Packet packet;
    packet.offset = offset;
    packet.format = format;
    if (format == Format::k8dw) {
        packet.prefix = dword(at, 1);
        packet.header = {dword(at, 2), dword(at, 3), dword(at, 4), dword(at, 5)};
        packet.stamp = dword(at, 7);
    } else {
        const uint32_t dw0 = dword(at, 0);
        packet.header = {header_dword0_of_4dw(dw0), dword(at, 1), dword(at, 2), dword(at, 3)};
        packet.strongly_ordered = dw0 >> 21 & 1;
        packet.stamp = dw0 & 0x7ff;
    }
    packet.time = clock.unwrap(format, packet.stamp);
    return packet;
}

void StreamDecoder::start(uint64_t offset)
{
    clock_ = {};
    entries_offset_ = offset;
    framer_.start(offset);
}

void StreamDecoder::entries(Format format, Bytes entries)
{
    run(format, entries_offset_, entries);
    entries_offset_ += entries.size();
}

void StreamDecoder::run(Format format, uint64_t offset, Bytes packets)
{
    const size_t size = packet_bytes(format);
    for (size_t at = 0; at < packets.size(); at += size)
        sink_.packet(unpack(format, offset + at, packets.data() + at, clock_));
}

bool looks_like_entries(Bytes bytes)
{
    return bytes.size() >= 2 * k8dwBytes && begins_8dw(bytes, 0) &&
           is_8dw(bytes.data() + k8dwBytes);
}

}  // namespace pmukit::decode::hisi_ptt
