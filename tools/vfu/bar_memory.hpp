// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The memory of a BAR that the guest maps instead of trapping: a sealed memory file, so that the
// client can neither shrink nor grow it. The server does not see the guest's accesses.
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
    // The guest may write here at any time.
    std::span<std::byte> bytes() const { return bytes_; }

private:
    BarMemory(Fd fd, std::span<std::byte> bytes) : fd_(std::move(fd)), bytes_(bytes) {}

    Fd fd_;
    std::span<std::byte> bytes_;
};

}  // namespace pmukit::vfu
