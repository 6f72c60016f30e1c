// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Memory of a BAR that the guest maps, so that its accesses are not trapped and the server does not
// see them. The memory is a sealed memory file: the client can neither shrink nor grow it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::vfu {

class BarMemory {
public:
    // size_bytes: size of the BAR, a multiple of 4096.
    static Result<BarMemory> create(uint64_t size_bytes);

    BarMemory(BarMemory &&other) noexcept;
    BarMemory &operator=(BarMemory &&) = delete;
    BarMemory(const BarMemory &) = delete;
    BarMemory &operator=(const BarMemory &) = delete;
    ~BarMemory();

    int fd() const { return fd_.get(); }
    // The guest may write these bytes at any time.
    std::span<std::byte> bytes() const { return bytes_; }

private:
    BarMemory(Fd fd, std::span<std::byte> bytes) : fd_(std::move(fd)), bytes_(bytes) {}

    Fd fd_;
    std::span<std::byte> bytes_;
};

}  // namespace pmukit::vfu
