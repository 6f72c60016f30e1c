// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads and writes numbers in bytes of a named byte order. Use these functions instead of a pointer
// cast. A failed read consumes nothing.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace pmukit {

using Bytes = std::span<const std::byte>;

template <std::unsigned_integral T>
constexpr T byteswap(T value)
{
    if constexpr (sizeof(T) == 1)
        return value;
    else if constexpr (sizeof(T) == 2)
        return __builtin_bswap16(value);
    else if constexpr (sizeof(T) == 4)
        return __builtin_bswap32(value);
    else
        return __builtin_bswap64(value);
}

// The caller has checked that sizeof(T) bytes are available.
template <std::unsigned_integral T>
inline T load(const std::byte *from, std::endian order)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    return order == std::endian::native ? value : byteswap(value);
}

template <std::unsigned_integral T>
inline void store(std::byte *to, T value, std::endian order)
{
    if (order != std::endian::native)
        value = byteswap(value);
    std::memcpy(to, &value, sizeof value);
}

template <std::unsigned_integral T>
inline T load_le(const std::byte *from)
{
    return load<T>(from, std::endian::little);
}

template <std::unsigned_integral T>
inline void store_le(std::byte *to, T value)
{
    store<T>(to, value, std::endian::little);
}

// Does not use vector::insert(): g++ 14 warns there of overflows that cannot happen.
inline void append(std::vector<std::byte> &to, Bytes bytes)
{
    size_t before = to.size();
    to.resize(before + bytes.size());
    if (!bytes.empty())
        std::memcpy(to.data() + before, bytes.data(), bytes.size());
}

// Reads forward through bytes of one byte order.
class ByteReader {
public:
    explicit ByteReader(Bytes bytes, std::endian order = std::endian::little)
        : bytes_(bytes), order_(order)
    {
    }

    size_t left() const { return bytes_.size() - pos_; }
    size_t position() const { return pos_; }

    template <std::unsigned_integral T>
    std::optional<T> read()
    {
        if (sizeof(T) > left())
            return std::nullopt;
        T value = load<T>(bytes_.data() + pos_, order_);
        pos_ += sizeof(T);
        return value;
    }
    std::optional<uint8_t> u8() { return read<uint8_t>(); }
    std::optional<uint16_t> u16() { return read<uint16_t>(); }
    std::optional<uint32_t> u32() { return read<uint32_t>(); }
    std::optional<uint64_t> u64() { return read<uint64_t>(); }

    // Returns the next `size` bytes, borrowed from the input; nullopt if fewer are left.
    std::optional<Bytes> take(size_t size)
    {
        if (size > left())
            return std::nullopt;
        Bytes taken = bytes_.subspan(pos_, size);
        pos_ += size;
        return taken;
    }
    bool skip(size_t size) { return take(size).has_value(); }

private:
    Bytes bytes_;
    std::endian order_;
    size_t pos_ = 0;
};

}  // namespace pmukit
