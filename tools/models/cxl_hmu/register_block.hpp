// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A block of registers in a BAR, and register bytes with masks of their writable bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pmukit::models::cxl_hmu {

// Offsets count from the block's first byte; offset + width is at most bytes().
class RegisterBlock {
public:
    virtual ~RegisterBlock() = default;
    virtual uint64_t bytes() const = 0;
    virtual uint64_t read(uint64_t offset, unsigned width) = 0;
    virtual void write(uint64_t offset, unsigned width, uint64_t value) = 0;
    virtual void reset() = 0;
};

// Little-endian register bytes with reset values and masks. The owner checks offsets and widths. A
// register that was never placed reads as zero and is read-only.
class MaskedBytes {
public:
    explicit MaskedBytes(size_t size);

    void place(size_t offset, unsigned width, uint64_t reset, uint64_t writable = 0,
               uint64_t write_one_clears = 0);

    uint64_t read(size_t offset, unsigned width) const;
    void write(size_t offset, unsigned width, uint64_t value);  // applies the masks
    void set(size_t offset, unsigned width, uint64_t value);    // ignores the masks
    void reset() { value_ = reset_; }

    std::byte *data() { return value_.data(); }
    size_t size() const { return value_.size(); }

private:
    std::vector<std::byte> value_;
    std::vector<std::byte> reset_;
    std::vector<std::byte> writable_;
    std::vector<std::byte> write_one_clears_;
};

}  // namespace pmukit::models::cxl_hmu
