// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes fields one after another, in the byte order of a file. This header is not installed.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "perfdata/format.hpp"

namespace pmukit::perfdata {

class __attribute__((visibility("hidden"))) Packer {
public:
    explicit Packer(std::endian order = std::endian::native) : order_(order) {}

    template <std::unsigned_integral T>
    Packer &put(T value)
    {
        std::byte field[sizeof value];
        store(field, value, order_);
        return put(Bytes(field));
    }
    Packer &put(Bytes bytes)
    {
        pmukit::append(bytes_, bytes);
        return *this;
    }
    // Writes a string as in perf's header: its length with padding, then the text, padded with
    // NULs.
    Packer &string(std::string_view text)
    {
        constexpr size_t kAlign = 64;
        std::string padded(text);
        padded.resize((text.size() / kAlign + 1) * kAlign);
        return put(static_cast<uint32_t>(padded.size())).put(as_bytes(padded));
    }
    // bytes: size of the whole record.
    Packer &record_header(uint32_t type, uint16_t misc, size_t bytes)
    {
        return put(type).put(misc).put(static_cast<uint16_t>(bytes));
    }
    Packer &pad_to(size_t size)
    {
        bytes_.resize(std::max(size, bytes_.size()));
        return *this;
    }
    // Reserves memory for this many bytes in all.
    Packer &reserve(size_t bytes)
    {
        bytes_.reserve(bytes);
        return *this;
    }
    const std::vector<std::byte> &bytes() const { return bytes_; }
    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::endian order_;
    std::vector<std::byte> bytes_;
};

}  // namespace pmukit::perfdata
