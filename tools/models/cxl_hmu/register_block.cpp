// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/register_block.hpp"

#include <cassert>

namespace pmukit::models::cxl_hmu {

namespace {

std::byte byte_of(uint64_t value, unsigned index)
{
    return static_cast<std::byte>(value >> (8 * index) & 0xff);
}

}  // namespace

MaskedBytes::MaskedBytes(size_t size)
    : value_(size), reset_(size), writable_(size), write_one_clears_(size)
{
}

void MaskedBytes::place(size_t offset, unsigned width, uint64_t reset, uint64_t writable,
                        uint64_t write_one_clears)
{
    assert(width <= size() && offset <= size() - width);
    for (unsigned i = 0; i < width; i++) {
        value_[offset + i] = reset_[offset + i] = byte_of(reset, i);
        writable_[offset + i] = byte_of(writable, i);
        write_one_clears_[offset + i] = byte_of(write_one_clears, i);
    }
}

uint64_t MaskedBytes::read(size_t offset, unsigned width) const
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= static_cast<uint64_t>(value_[offset + i]) << (8 * i);
    return value;
}

void MaskedBytes::write(size_t offset, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++) {
        const std::byte mask = writable_[offset + i];
        const std::byte written = byte_of(value, i);
        std::byte &at = value_[offset + i];
        at = (at & ~mask) | (written & mask);
        at &= ~(written & write_one_clears_[offset + i]);
    }
}

void MaskedBytes::set(size_t offset, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++)
        value_[offset + i] = byte_of(value, i);
}

}  // namespace pmukit::models::cxl_hmu
