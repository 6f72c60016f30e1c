// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/msix.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <string_view>
#include <utility>

namespace pmukit::vfu {
namespace {

// Implemented bits of a table entry: address (dword aligned), data, one bit of vector control.
constexpr std::array<uint8_t, Msix::kEntryBytes> kEntryBits = {
    0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0, 0, 0};
constexpr size_t kVectorControl = 12;
constexpr std::byte kVectorMasked{0x01};

}  // namespace

bool is_eventfd(int fd)
{
    constexpr std::string_view kName = "anon_inode:[eventfd]";
    char path[32];
    char target[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(path, target, sizeof target);
    return size >= 0 && std::string_view(target, static_cast<size_t>(size)) == kName;
}

bool signal_eventfd(int fd)
{
    const uint64_t one = 1;
    pollfd room{fd, POLLOUT, 0};
    if (::poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0)
        return false;
    return ::write(fd, &one, sizeof one) == sizeof one;
}

Msix::Msix(unsigned vectors, std::function<void(uint64_t address)> sent)
    : vectors_(vectors), sent_(std::move(sent))
{
    std::ranges::for_each(vectors_, power_on);
}

void Msix::power_on(Vector &vector)
{
    vector.entry.fill(std::byte{0});
    vector.entry[kVectorControl] = kVectorMasked;
    vector.mask_written = false;
    vector.pending = false;
}

bool Msix::masked(const Vector &vector)
{
    return vector.mask_written && (vector.entry[kVectorControl] & kVectorMasked) != std::byte{0};
}

void Msix::send_if_possible(Vector &vector)
{
    if (!vector.pending || !open_ || masked(vector) || !vector.trigger)
        return;
    // An eventfd that cannot be written is at its limit, so the client has a signal to read anyway.
    signal_eventfd(vector.trigger.get());
    vector.pending = false;
    if (sent_)
        sent_(load_le<uint64_t>(vector.entry.data()));
}

void Msix::raise(unsigned vector)
{
    assert(vector < vectors_.size());
    vectors_[vector].pending = true;
    send_if_possible(vectors_[vector]);
}

void Msix::set_function_open(bool open)
{
    if (open == open_)
        return;
    open_ = open;
    for (Vector &vector : vectors_)
        send_if_possible(vector);
}

void Msix::set_trigger(unsigned vector, Fd eventfd)
{
    assert(vector < vectors_.size());
    vectors_[vector].trigger = std::move(eventfd);
    send_if_possible(vectors_[vector]);
}

void Msix::clear_triggers()
{
    for (Vector &vector : vectors_)
        vector.trigger.reset();
}

void Msix::read_table(uint64_t offset, std::span<std::byte> into) const
{
    for (size_t i = 0; i < into.size(); i++) {
        const uint64_t at = offset + i;
        into[i] = vectors_[at / kEntryBytes].entry[at % kEntryBytes];
    }
}

void Msix::write_table(uint64_t offset, Bytes from)
{
    for (size_t i = 0; i < from.size(); i++) {
        const uint64_t at = offset + i;
        const size_t in_entry = at % kEntryBytes;
        Vector &vector = vectors_[at / kEntryBytes];

        vector.entry[in_entry] = from[i] & std::byte{kEntryBits[in_entry]};
        if (in_entry == kVectorControl) {
            vector.mask_written = true;
            send_if_possible(vector);
        }
    }
}

void Msix::read_pending(uint64_t offset, std::span<std::byte> into) const
{
    std::ranges::fill(into, std::byte{0});
    for (size_t bit = 0; bit < into.size() * 8; bit++) {
        const uint64_t vector = offset * 8 + bit;
        if (vector < vectors_.size() && vectors_[vector].pending)
            into[bit / 8] |= std::byte{1} << (bit % 8);
    }
}

void Msix::reset()
{
    std::ranges::for_each(vectors_, power_on);
    open_ = false;
}

}  // namespace pmukit::vfu
