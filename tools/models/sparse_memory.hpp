// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The device's memory: zero until written; only written pages use host memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace pmukit::models {

class SparseMemory {
public:
    // width is 1..8; the caller checks address + width against the size of the memory.
    uint64_t load(uint64_t address, unsigned width) const;
    void store(uint64_t address, unsigned width, uint64_t value);

private:
    static constexpr unsigned kPageLog2 = 16;
    using Page = std::array<std::byte, size_t{1} << kPageLog2>;

    const std::byte *find(uint64_t address) const;
    std::byte *make(uint64_t address);

    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace pmukit::models
