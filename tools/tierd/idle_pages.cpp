// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tierd/idle_pages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>

#include "base/file.hpp"

namespace pmukit::tierd {
namespace {

constexpr uint64_t kWordBits = 64;

}  // namespace

Result<IdlePages> IdlePages::open(const std::string &path)
{
    Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file)
        return system_error(path, errno);
    return IdlePages(std::move(file), path);
}

// Reads a word of the bitmap and marks the frames of `mask` as idle. Bits that are written as 0 do
// not change. Memory that does not exist has no word.
Result<uint64_t> IdlePages::exchange(uint64_t word, uint64_t mask)
{
    const auto offset = static_cast<off_t>(word * sizeof mask);
    uint64_t idle = 0;
    if (::pread(file_.get(), &idle, sizeof idle, offset) != sizeof idle)
        return errno == ENXIO || errno == 0 ? Result<uint64_t>(0) : system_error(path_, errno);
    if (::pwrite(file_.get(), &mask, sizeof mask, offset) != sizeof mask && errno != ENXIO)
        return system_error(path_, errno);
    return idle;
}

Result<std::vector<bool>> IdlePages::check(std::span<const uint64_t> frames)
{
    std::vector<size_t> order(frames.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {}, [&](size_t i) { return frames[i]; });

    std::vector<bool> idle(frames.size());
    for (size_t first = 0, end = 0; first < order.size(); first = end) {
        const uint64_t word = frames[order[first]] / kWordBits;
        uint64_t mask = 0;
        for (; end < order.size() && frames[order[end]] / kWordBits == word; end++)
            mask |= uint64_t{1} << frames[order[end]] % kWordBits;
        errno = 0;
        const Result<uint64_t> bits = exchange(word, mask);
        if (!bits)
            return bits.error();
        for (size_t i = first; i < end; i++)
            idle[order[i]] = *bits >> frames[order[i]] % kWordBits & 1;
    }
    return idle;
}

}  // namespace pmukit::tierd
