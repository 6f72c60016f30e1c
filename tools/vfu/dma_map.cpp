// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/dma_map.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace pmukit::vfu {
namespace {

// Last address of the range; the range does not wrap and is not empty.
uint64_t last_of(const DmaMap::Range &range)
{
    return range.address + (range.size_bytes - 1);
}

bool wraps(const DmaMap::Range &range)
{
    return range.size_bytes - 1 > std::numeric_limits<uint64_t>::max() - range.address;
}

bool is_page_multiple(uint64_t value)
{
    return value % DmaMap::kPageBytes == 0;
}

// Checks a range against the size of the file, because an access past the end of a mapped file
// raises SIGBUS. First seals the file, if possible, so that it cannot shrink later. Files on tmpfs
// or hugetlbfs, which QEMU can use for guest memory, cannot be sealed.
std::errc check_file(int fd, uint64_t offset, uint64_t size_bytes)
{
    struct stat status {};

    [[maybe_unused]] const int sealed = ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
    if (fstat(fd, &status) != 0)
        return std::errc{errno};
    if (!S_ISREG(status.st_mode))
        return std::errc::invalid_argument;
    const auto file_bytes = static_cast<uint64_t>(status.st_size);
    if (offset > file_bytes || size_bytes > file_bytes - offset)
        return std::errc::invalid_argument;
    return {};
}

}  // namespace

std::errc DmaMap::map(const Range &range, const Access &access, int memory_fd, uint64_t file_offset)
{
    if (range.size_bytes == 0 || wraps(range))
        return std::errc::invalid_argument;
    if (!is_page_multiple(range.address) || !is_page_multiple(range.size_bytes) ||
        !is_page_multiple(file_offset))
        return std::errc::invalid_argument;
    if (windows_.size() >= kMaxWindows)
        return std::errc::no_space_on_device;

    const auto after = windows_.upper_bound(range.address);
    if (after != windows_.end() && after->first <= last_of(range))
        return std::errc::file_exists;
    if (after != windows_.begin()) {
        const auto before = std::prev(after);
        if (last_of({before->first, before->second.size_bytes}) >= range.address)
            return std::errc::file_exists;
    }

    std::byte *memory = nullptr;
    if (memory_fd >= 0) {
        if (const std::errc bad = check_file(memory_fd, file_offset, range.size_bytes);
            bad != std::errc{})
            return bad;
        const int protection = PROT_READ | (access.write ? PROT_WRITE : 0);
        void *at = mmap(nullptr, range.size_bytes, protection, MAP_SHARED, memory_fd,
                        static_cast<off_t>(file_offset));
        if (at == MAP_FAILED)
            return std::errc{errno};
        memory = static_cast<std::byte *>(at);
    }
    windows_.emplace(range.address, Window{range.size_bytes, memory, access});
    return {};
}

DmaMap::Unmapped DmaMap::unmap(const Range &range)
{
    if (range.size_bytes == 0 || wraps(range))
        return {std::errc::invalid_argument};

    const uint64_t last = last_of(range);
    const auto first_inside = windows_.lower_bound(range.address);
    const auto end = windows_.upper_bound(last);

    if (first_inside != windows_.begin()) {
        const auto before = std::prev(first_inside);
        if (last_of({before->first, before->second.size_bytes}) >= range.address)
            return {std::errc::invalid_argument};
    }
    if (first_inside != end) {
        const auto last_inside = std::prev(end);
        if (last_of({last_inside->first, last_inside->second.size_bytes}) > last)
            return {std::errc::invalid_argument};
    }

    Unmapped done;
    for (auto at = first_inside; at != end; at = windows_.erase(at)) {
        release(at->second);
        done.size_bytes += at->second.size_bytes;
    }
    return done;
}

void DmaMap::release(const Window &window)
{
    if (window.memory)
        munmap(window.memory, window.size_bytes);
}

void DmaMap::clear()
{
    for (const auto &[address, window] : windows_)
        release(window);
    windows_.clear();
}

// Calls copy(memory, done, size) for the piece in each window in turn. Returns false at the first
// gap or at the end of the address space.
template <typename Copy>
bool DmaMap::for_each_piece(uint64_t address, size_t size_bytes, bool Access::*right,
                            Copy copy) const
{
    if (size_bytes == 0)
        return true;
    auto at = windows_.upper_bound(address);
    if (at == windows_.begin())
        return false;
    --at;
    for (size_t done = 0; done < size_bytes; ++at) {
        const uint64_t wanted = address + done;
        if (at == windows_.end() || wanted < at->first)
            return false;
        const uint64_t skip = wanted - at->first;
        const Window &window = at->second;
        if (skip >= window.size_bytes || !window.memory || !(window.access.*right))
            return false;
        const size_t piece = std::min<uint64_t>(size_bytes - done, window.size_bytes - skip);
        copy(window.memory + skip, done, piece);
        done += piece;
    }
    return true;
}

bool DmaMap::read(uint64_t address, std::span<std::byte> into) const
{
    const auto check = [](const std::byte *, size_t, size_t) {};
    const auto copy = [into](const std::byte *memory, size_t done, size_t size) {
        std::copy_n(memory, size, into.begin() + static_cast<ptrdiff_t>(done));
    };
    return for_each_piece(address, into.size(), &Access::read, check) &&
           for_each_piece(address, into.size(), &Access::read, copy);
}

bool DmaMap::write(uint64_t address, Bytes from)
{
    const auto check = [](const std::byte *, size_t, size_t) {};
    const auto copy = [from](std::byte *memory, size_t done, size_t size) {
        std::copy_n(from.begin() + static_cast<ptrdiff_t>(done), size, memory);
    };
    return for_each_piece(address, from.size(), &Access::write, check) &&
           for_each_piece(address, from.size(), &Access::write, copy);
}

}  // namespace pmukit::vfu
