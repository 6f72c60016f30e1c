// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/sparse_memory.hpp"

namespace pmukit::models {

const std::byte *SparseMemory::find(uint64_t address) const
{
    const auto page = pages_.find(address >> kPageLog2);
    if (page == pages_.end())
        return nullptr;
    return page->second->data() + address % sizeof(Page);
}

std::byte *SparseMemory::make(uint64_t address)
{
    std::unique_ptr<Page> &page = pages_[address >> kPageLog2];
    if (!page)
        page = std::make_unique<Page>();
    return page->data() + address % sizeof(Page);
}

// Byte by byte: an access may straddle two pages.
uint64_t SparseMemory::load(uint64_t address, unsigned width) const
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        if (const std::byte *at = find(address + i))
            value |= static_cast<uint64_t>(*at) << (8 * i);
    }
    return value;
}

void SparseMemory::store(uint64_t address, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++)
        *make(address + i) = static_cast<std::byte>(value >> (8 * i) & 0xff);
}

}  // namespace pmukit::models
