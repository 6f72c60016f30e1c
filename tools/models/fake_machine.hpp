// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The vfu::Host of a unit test: one block of memory, a clock that only the test advances, and the
// recorded interrupts and log lines.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vfu/device.hpp"

namespace pmukit::models {

class FakeMachine final : public vfu::Host {
public:
    explicit FakeMachine(size_t memory_bytes = 0, uint64_t memory_base = 0)
        : memory(memory_bytes), base(memory_base)
    {
    }

    bool dma_read(uint64_t address, std::span<std::byte> into) override
    {
        if (!reaches(address, into.size()))
            return false;
        std::ranges::copy(std::span(memory).subspan(address - base, into.size()), into.begin());
        return true;
    }
    bool dma_write(uint64_t address, Bytes from) override
    {
        if (!reaches(address, from.size()))
            return false;
        std::ranges::copy(from, memory.begin() + static_cast<ptrdiff_t>(address - base));
        return true;
    }
    void raise(unsigned vector) override { raised.push_back(vector); }
    uint64_t now_ns() const override { return now; }
    void log(std::string_view line) override { lines.emplace_back(line); }

    bool logged(std::string_view part) const
    {
        return std::ranges::any_of(lines, [part](const std::string &line) {
            return line.find(part) != std::string::npos;
        });
    }

    std::vector<std::byte> memory;
    uint64_t base;
    uint64_t now = 1'000'000'000;
    std::vector<unsigned> raised;
    std::vector<std::string> lines;

private:
    bool reaches(uint64_t address, size_t size) const
    {
        return address >= base && address - base <= memory.size() &&
               size <= memory.size() - (address - base);
    }
};

}  // namespace pmukit::models
