// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The machine as a unit test plays it: time stands still until the test moves it, interrupts and
// log lines are kept. No memory is mapped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vfu/device.hpp"

namespace pmukit::models::cxl_hmu {

class FakeHost : public vfu::Host {
public:
    bool dma_read(uint64_t, std::span<std::byte>) override { return false; }
    bool dma_write(uint64_t, Bytes) override { return false; }
    void raise(unsigned vector) override { raised.push_back(vector); }
    uint64_t now_ns() const override { return now; }
    void log(std::string_view line) override { lines.emplace_back(line); }

    bool logged(std::string_view part) const
    {
        for (const std::string &line : lines) {
            if (line.find(part) != std::string::npos)
                return true;
        }
        return false;
    }

    uint64_t now = 1'000'000'000;
    std::vector<unsigned> raised;
    std::vector<std::string> lines;
};

}  // namespace pmukit::models::cxl_hmu
