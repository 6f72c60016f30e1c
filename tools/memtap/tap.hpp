// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The reader's end of the rings: a device model reads the guest's accesses to its memory.
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
    // Creates the file, replacing an old one. The range is guest-physical.
    static Result<Tap> create(const std::string &path, uint64_t base, uint64_t bytes);

    Tap(Tap &&other) noexcept;
    Tap &operator=(Tap &&) = delete;
    Tap(const Tap &) = delete;
    ~Tap();  // marks the reader as gone and removes the file

    // Reads the available accesses, one ring after the other, and returns their number: less than
    // into.size() if no more are available. Each offset is within the range.
    size_t take(std::span<Access> into);
    // Marks the reader as gone. take() then returns only words written before, so that it ends
    // however fast the writers are.
    void close();

    // Number of invalid words (offset outside the range, width too large) and invalid heads.
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
    uint64_t bytes_;  // a writer may change the file's copy
    uint64_t tails_[kRings] = {};
    std::optional<std::array<uint64_t, kRings>> last_heads_;  // set by close()
    uint64_t refused_ = 0;
};

}  // namespace pmukit::memtap
