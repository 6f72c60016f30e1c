// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A PCIe endpoint that generates traffic on request: memory in a BAR, a DMA engine and one MSI
// vector.
// It needs no driver: a program that maps its resource files can use all of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "vfu/config_space.hpp"
#include "vfu/device.hpp"

namespace pmukit::models::pcie_ep {

struct Options {
    uint64_t memory_bytes = uint64_t{1} << 20;
};

// An error is one line with the option and its limits.
Result<void> check(const Options &options);

class PcieEpModel final : public vfu::Device {
public:
    // options must have passed check().
    PcieEpModel(const Options &options, vfu::Host &host);

    vfu::ConfigSpace &config() override { return config_; }
    uint64_t bar_read(unsigned bar, uint64_t offset, unsigned width) override;
    void bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value) override;
    void reset() override;
    std::optional<uint64_t> next_deadline_ns() const override { return std::nullopt; }
    void advance(uint64_t) override {}

    uint64_t accesses() const { return accesses_; }
    uint64_t transfers() const { return all_transfers_; }
    uint64_t messages() const { return messages_; }

private:
    struct Transfer {
        uint32_t address_low = 0;
        uint32_t address_high = 0;
        uint32_t offset = 0;
        uint32_t length = 0;
    };

    uint32_t *find(uint64_t offset);  // returns a word of the next transfer
    uint32_t read_register(uint64_t offset);
    void write_register(uint64_t offset, uint32_t value);
    void run(uint32_t command);
    uint32_t transfer(uint32_t command);
    void send();

    vfu::Host &host_;
    vfu::ConfigSpace config_;
    std::vector<std::byte> memory_;
    Transfer next_;
    uint32_t status_ = 0;
    uint32_t transfers_ = 0;

    uint64_t accesses_ = 0;
    uint64_t all_transfers_ = 0;
    uint64_t messages_ = 0;
};

}  // namespace pmukit::models::pcie_ep
