// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The end of the rings at which a device model takes what the CPUs of a guest did to its memory.
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
    // Makes the file, in place of an old one. The range is guest-physical.
    static Result<Tap> create(const std::string &path, uint64_t base, uint64_t bytes);

    Tap(Tap &&other) noexcept;
    Tap &operator=(Tap &&) = delete;
    Tap(const Tap &) = delete;
    ~Tap();  // marks for the writers that the reader has left, and removes the file

    // What is there now, ring after ring; how many. Each offset lies in the range. Fewer than fit:
    // there was no more.
    size_t take(std::span<Access> into);
    // Marks for the writers that the reader has left. What is there now can still be taken, what
    // comes later cannot: so take() comes to an end, however fast they write.
    void close();

    // Words that no honest writer writes: offsets outside the range, or more than a ring holds.
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
    uint64_t bytes_;  // the file's copy may change under us
    uint64_t tails_[kRings] = {};
    std::optional<std::array<uint64_t, kRings>> last_heads_;  // once closed
    uint64_t refused_ = 0;
};

}  // namespace pmukit::memtap
