// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The reader of the rings. With it, a device model reads the guest's accesses to the device's
// memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.hpp"
#include "memtap/ring.hpp"

namespace pmukit::memtap {

class Tap {
public:
    // Creates the file and replaces an old one. `base` is a guest-physical address.
    static Result<Tap> create(const std::string &path, uint64_t base, uint64_t bytes);

    Tap(Tap &&other) noexcept;
    Tap &operator=(Tap &&) = delete;
    Tap(const Tap &) = delete;
    // Marks the reader as gone and removes the file.
    ~Tap();

    // Reads accesses from one ring after the other, and returns their number, which is less than
    // into.size() if no more accesses are available. Each offset is within the range.
    size_t take(std::span<Access> into);
    // Marks the reader as gone. After that, take() returns only accesses written before the call,
    // so that it reaches the end even if the writers continue.
    void close();

    // Returns the number of invalid words (offset outside the range, width too large) and of
    // invalid heads.
    uint64_t refused() const { return refused_; }

private:
    Tap(std::string path, Layout *layout, uint64_t bytes)
        : path_(std::move(path)), layout_(layout), bytes_(bytes)
    {
    }
    uint64_t head_of(unsigned ring) const;
    size_t take_from(unsigned index, std::span<Access> into);

    std::string path_;
    Layout *layout_;
    // The size is not read from the file, because a writer may change the file.
    uint64_t bytes_;
    uint64_t tails_[kRings] = {};
    std::optional<std::array<uint64_t, kRings>> last_heads_;  // heads at the time of close()
    uint64_t refused_ = 0;
};

}  // namespace pmukit::memtap
