// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/generator.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "models/hisi_ptt/key_values.hpp"

namespace pmukit::models::hisi_ptt {

namespace {

using vfu::Packet;
using vfu::PacketDirection;
using vfu::PacketKind;

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kNoLimit = ~uint64_t{0};
constexpr uint64_t kMaxRate = 10'000'000;

constexpr unsigned kBurst = 4096;         // packet limit before the server runs again
constexpr uint64_t kPauseNs = 1'000'000;  // faster rates come in bursts, one per millisecond
constexpr size_t kInFlight = 16;          // limit of outstanding completions
// Tags of real requests have 8 bits; generated tags have 10 or 14 bits and differ from them.
constexpr uint16_t kFirstTag = 0x100;
constexpr uint16_t kTags = 0x300;
constexpr uint16_t kFirstWideTag = 0x400;
constexpr uint16_t kWideTags = 0x3c00;
constexpr uint16_t kWideTagStep = 0x101;  // large enough to change all parts of the tag
constexpr uint32_t kPayloadBytes = 128;
constexpr uint32_t kReadRequestBytes = 512;
constexpr uint32_t kPageBytes = 4096;         // PCIe: no request crosses a 4 KiB boundary
constexpr uint64_t kLowMemory = 0xffff'ffff;  // half of the addresses fit 32 bits
constexpr uint64_t kHighMemory = 0xff'ffff'ffff;

constexpr Key<GeneratorParams> kKeys[] = {
    {"rate", &GeneratorParams::rate, 1, kMaxRate},
    {"seed", &GeneratorParams::seed, 0, kNoLimit},
    {"count", &GeneratorParams::count, 0, kNoLimit},
    {"inbound", &GeneratorParams::inbound, 0, 100},
    {"reads", &GeneratorParams::reads, 0, 100},
    {"peer", &GeneratorParams::peer, 0, 100},
    {"unsupported", &GeneratorParams::unsupported, 0, 100},
    {"pasid", &GeneratorParams::pasid, 0, 100},
    {"relaxed", &GeneratorParams::relaxed, 0, 100},
};

}  // namespace

Result<GeneratorParams> parse_generator(std::string_view text)
{
    return parse_keys<GeneratorParams>("--generate", text, kKeys);
}

Generator::Generator(const GeneratorParams &params, std::vector<vfu::LinkPlace> places,
                     bool wide_tags)
    : params_(params), places_(std::move(places)), wide_tags_(wide_tags), random_(params.seed)
{
    assert(!places_.empty());
}

void Generator::start(uint64_t now_ns)
{
    random_.seed(params_.seed);
    in_flight_.clear();
    made_ = delivered_ = 0;
    next_tag_ = 0;
    start_ns_ = now_ns;
    running_ = true;
}

bool Generator::percent(uint64_t of_hundred)
{
    return below(100) < of_hundred;
}

// Restarts the count each second, so that it stays small and times stay exact.
void Generator::count_delivered()
{
    if (++delivered_ < params_.rate)
        return;
    delivered_ = 0;
    start_ns_ += kNsPerSecond;
}

std::optional<uint64_t> Generator::next_ns() const
{
    if (!running_)
        return std::nullopt;
    const uint64_t due_ns = delivered_ * kNsPerSecond / params_.rate;
    return start_ns_ + (due_ns + kPauseNs - 1) / kPauseNs * kPauseNs;
}

void Generator::run_until(uint64_t now_ns, const std::function<void(const Tlp &)> &sink)
{
    for (unsigned burst = 0; running_; burst++) {
        const uint64_t due_ns = start_ns_ + delivered_ * kNsPerSecond / params_.rate;
        if (due_ns > now_ns)
            return;
        if (burst == kBurst) {
            // Delays the rest instead of giving packets times that are already past.
            start_ns_ += now_ns - due_ns;
            return;
        }
        Tlp tlp = next();
        tlp.packet.time_ns = due_ns;
        count_delivered();
        running_ = params_.count == 0 || made_ < params_.count || !in_flight_.empty();
        sink(tlp);
    }
}

// Returns a completion if kInFlight are outstanding or no request is left. Otherwise chooses at
// random between an outstanding completion and a new request.
Tlp Generator::next()
{
    const bool over = params_.count != 0 && made_ == params_.count;
    const bool wants_answer = !in_flight_.empty() && percent(50);
    if (over || wants_answer || in_flight_.size() >= kInFlight) {
        const Tlp tlp = in_flight_.front();
        in_flight_.pop_front();
        return tlp;
    }
    made_++;
    const Tlp tlp = request();
    if (tlp.packet.kind == PacketKind::kMemoryRead)
        answer(tlp);
    return tlp;
}

Tlp Generator::request()
{
    const vfu::LinkPlace &place = places_[below(places_.size())];
    const bool inbound = percent(params_.inbound), read = percent(params_.reads);
    const bool peer = percent(params_.peer);
    const vfu::LinkPlace &other = places_[below(places_.size())];
    Tlp tlp;
    Packet &packet = tlp.packet;
    packet.kind = read ? PacketKind::kMemoryRead : PacketKind::kMemoryWrite;
    packet.direction = inbound ? PacketDirection::kInbound : PacketDirection::kOutbound;
    packet.root_port = place.root_port;
    packet.function = place.function;
    packet.requester = inbound ? place.function : vfu::kRootComplex;
    packet.completer = inbound ? 0 : place.function;
    packet.tag = next_tag();
    packet.address = random_() & (percent(50) ? kLowMemory : kHighMemory);
    const bool from_peer = !inbound && peer && other.function != place.function;
    if (from_peer)
        packet.requester = other.function;
    if (inbound || from_peer) {
        const uint32_t limit = read ? kReadRequestBytes : kPayloadBytes;
        const auto room = static_cast<uint32_t>(kPageBytes - packet.address % kPageBytes);
        packet.bytes = std::min(static_cast<uint32_t>(1 + below(limit)), room);
    } else {
        packet.bytes = 1u << below(4);
        packet.address &= ~uint64_t{packet.bytes - 1};
    }
    if (inbound && percent(params_.pasid))
        tlp.pasid = static_cast<uint32_t>(below(uint64_t{1} << 20));
    tlp.relaxed_ordering = percent(params_.relaxed);
    return tlp;
}

uint16_t Generator::next_tag()
{
    const uint32_t number = next_tag_++;
    return static_cast<uint16_t>(wide_tags_ ? kFirstWideTag + number * kWideTagStep % kWideTags
                                            : kFirstTag + number % kTags);
}

void Generator::answer(const Tlp &request)
{
    const Packet &asked = request.packet;
    const bool inbound = asked.direction == PacketDirection::kInbound;
    Tlp tlp;
    tlp.packet = asked;
    tlp.packet.kind = PacketKind::kCompletion;
    tlp.packet.direction = inbound ? PacketDirection::kOutbound : PacketDirection::kInbound;
    tlp.packet.completer = inbound ? vfu::kRootComplex : asked.function;
    tlp.packet.bytes_left = asked.bytes;
    if (percent(params_.unsupported)) {
        tlp.packet.status = vfu::CompletionStatus::kUnsupportedRequest;
        tlp.packet.bytes = 0;
        in_flight_.push_back(tlp);
        return;
    }
    for (uint32_t left = asked.bytes; left > 0; left -= tlp.packet.bytes) {
        tlp.packet.address = asked.address + (asked.bytes - left);
        tlp.packet.bytes_left = left;
        tlp.packet.bytes = std::min(
            left, static_cast<uint32_t>(kPayloadBytes - tlp.packet.address % kPayloadBytes));
        in_flight_.push_back(tlp);
    }
}

}  // namespace pmukit::models::hisi_ptt
