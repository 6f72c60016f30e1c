// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The content of a disk after a power cut, computed from a log of its writes and flushes. QEMU's
// block driver blklogwrites writes this log in the format of drivers/md/dm-log-writes.c: a
// superblock, and for each request a header and its data, all in sectors of 512 bytes. A request is
// logged when it is complete.
//
//   | superblock | header | data ... | header | data ... | header of a flush | ...
//
// The disk has a volatile cache. What was logged before the last flush is on the disk. Of later
// writes, each block of 4 KiB may be on the disk or not. A write that completes while a flush runs
// is logged before that flush, although a disk need not have it: no file system relies on this.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace pmukit::power_cut {

struct Request {
    uint64_t offset = 0;  // in bytes
    Bytes data{};         // in the log; empty for a flush
    bool is_flush = false;
};

// Returns all requests of a log, in their order.
Result<std::vector<Request>> parse_log(Bytes log);

// What a cut does to the writes since the last flush.
enum class Fate { kLost, kKept, kSomeBlocks };

struct Cut {
    size_t requests = 0;  // number of logged requests before the cut
    size_t flushed = 0;   // number of those up to the last flush: they are on the disk
    Fate fate = Fate::kLost;
    uint64_t seed = 0;  // of the blocks that Fate::kSomeBlocks keeps
};

// Returns a cut that the seed determines, after the request with index `first`.
Cut make_cut(std::span<const Request> requests, size_t first, uint64_t seed);

// Applies the requests before the cut to an image of the disk. Returns the number of blocks that
// the cut has lost, or an error if a request exceeds the image.
Result<size_t> apply(std::span<const Request> requests, const Cut &cut, std::span<std::byte> image);

// The guest marks a moment in the log by a write that begins with "power-cut mark NUMBER\n".
std::optional<uint64_t> mark_of(const Request &request);

}  // namespace pmukit::power_cut
