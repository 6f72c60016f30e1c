// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The guest memory a device may access by DMA: windows that the client maps and unmaps, each a
// piece of a shared memory file. A virtual IOMMU maps many windows of 4 KiB, so one access may use
// several windows. No pointer into a window is kept, because an unmap would invalidate it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <system_error>

#include "base/bytes.hpp"

namespace pmukit::vfu {

class DmaMap {
public:
    static constexpr size_t kMaxWindows = 32768;  // half of the default of vm.max_map_count
    static constexpr uint64_t kPageBytes = 4096;

    struct Range {
        uint64_t address = 0;
        uint64_t size_bytes = 0;
    };
    struct Access {
        bool read = false;
        bool write = false;
    };

    DmaMap() = default;
    DmaMap(const DmaMap &) = delete;
    DmaMap &operator=(const DmaMap &) = delete;
    ~DmaMap() { clear(); }

    // memory_fd -1: the client does not share this memory, so the window exists but is
    // inaccessible. The descriptor may be closed afterwards. std::errc{} is success.
    [[nodiscard]] std::errc map(const Range &range, const Access &access, int memory_fd,
                                uint64_t file_offset);

    struct Unmapped {
        std::errc error{};
        uint64_t size_bytes = 0;
    };
    // Removes all windows inside the range. A range that contains only a part of a window is
    // refused; a range without any window is accepted.
    [[nodiscard]] Unmapped unmap(const Range &range);
    void clear();

    // Return false, and copy nothing, if some byte is not mapped, inaccessible or not permitted.
    [[nodiscard]] bool read(uint64_t address, std::span<std::byte> into) const;
    [[nodiscard]] bool write(uint64_t address, Bytes from);

    size_t windows() const { return windows_.size(); }

private:
    struct Window {
        uint64_t size_bytes;
        std::byte *memory;  // nullptr: inaccessible
        Access access;
    };
    using Windows = std::map<uint64_t, Window>;

    template <typename Copy>
    bool for_each_piece(uint64_t address, size_t size_bytes, bool Access::*right, Copy copy) const;
    static void release(const Window &window);

    Windows windows_;  // key: first address; windows do not overlap
};

}  // namespace pmukit::vfu
