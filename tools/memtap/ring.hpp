// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A file that passes memory accesses from emulated CPUs to a device model; both processes map it.
// Only this header defines its layout. The header uses no C++ library function that must be linked,
// because the writer runs inside QEMU.
//
//   0       Header    the range, and whether the reader has left
//   4096    Ring 0    head, tail, kRingEntries words     one ring per CPU: one writer, one reader
//   ...     Ring 7
//
//   word    63 store | 62:56 log2 of the width | 55:0 offset in the range
//
// No access is lost: a writer waits while its ring is full. The reader validates every word.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pmukit::memtap {

inline constexpr uint64_t kMagic = 0x31'70'61'74'75'6d'70;  // "pmutap1"
inline constexpr unsigned kRings = 8;
inline constexpr uint64_t kRingEntries = 1 << 16;
inline constexpr uint64_t kOffsetBits = 56;

struct Access {
    uint64_t offset = 0;
    unsigned log2_width = 0;
    bool store = false;
};

constexpr uint64_t word_of(const Access &access)
{
    return uint64_t{access.store} << 63 | uint64_t{access.log2_width & 0x7f} << kOffsetBits |
           (access.offset & ((uint64_t{1} << kOffsetBits) - 1));
}

constexpr Access access_of(uint64_t word)
{
    return {word & ((uint64_t{1} << kOffsetBits) - 1),
            static_cast<unsigned>(word >> kOffsetBits & 0x7f), (word >> 63) != 0};
}

struct Header {
    uint64_t magic;
    uint64_t base, bytes;  // guest-physical range of the device's memory
    std::atomic<uint32_t> reader_left;
};

// head and tail never decrease. Each has its own cache line, because the reader polls head and the
// writer polls tail.
struct Ring {
    alignas(64) std::atomic<uint64_t> head;  // number of words written so far
    alignas(64) std::atomic<uint64_t> tail;  // number of words read so far
    alignas(64) std::atomic<uint64_t> words[kRingEntries];
};

struct Layout {
    Header header;
    alignas(4096) Ring rings[kRings];
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);

// Writes a word to the ring. Returns false if the ring is full.
inline bool offer(Ring &ring, uint64_t word)
{
    const uint64_t head = ring.head.load(std::memory_order_relaxed);
    if (head - ring.tail.load(std::memory_order_acquire) >= kRingEntries)
        return false;
    ring.words[head % kRingEntries].store(word, std::memory_order_relaxed);
    ring.head.store(head + 1, std::memory_order_release);
    return true;
}

}  // namespace pmukit::memtap
