// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Named faults to inject into the trace block. The block itself does not know of them:
// FaultyRegisters changes the values read, and FaultyHost changes the messages.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "models/hisi_ptt/hisi_ptt_regs.hpp"
#include "vfu/device.hpp"

namespace pmukit::models::hisi_ptt {

// A field that reads as `value`.
struct FieldOverride {
    uint32_t offset = 0;
    Field field{0, 31};
    uint32_t value = 0;
};

// When a register fault applies.
enum class Since {
    kPowerOn,
    kStart,       // after the start of the first trace
    kResetBegan,  // while TRACE_CTRL.RST is set
    kStop,        // after a trace was stopped, until the next start or reset
    kTuneBegan,   // after the first tune operation
};

enum class Messages { kAsTheyAre, kLost, kStorm, kSpurious };

struct Fault {
    std::string_view name;
    std::string_view effect;
    std::optional<FieldOverride> read{};
    Since since = Since::kPowerOn;
    bool all_ones = false;  // every register reads as ones
    Messages messages = Messages::kAsTheyAre;
    unsigned buffers_a_message = 1;  // full buffers per message
};

std::span<const Fault> faults();
const Fault *find_fault(std::string_view name);  // nullptr: no such fault

// Applies the fault to messages.
class FaultyHost final : public vfu::Host {
public:
    // fault: nullptr for none.
    FaultyHost(vfu::Host &host, const Fault *fault) : host_(host), fault_(fault) {}

    bool dma_read(uint64_t address, std::span<std::byte> into) override;
    bool dma_write(uint64_t address, Bytes from) override;
    void raise(unsigned vector) override;
    uint64_t now_ns() const override { return host_.now_ns(); }
    void log(std::string_view line) override { host_.log(line); }

    // Call on each register access and packet. Sends another message if the fault is a storm (which
    // begins with the first message of the device), and at intervals if it is spurious messages.
    void something_happened();
    // Discards messages held back from the previous trace.
    void trace_begins() { held_back_ = 0; }
    void power_on();

private:
    vfu::Host &host_;
    const Fault *fault_;
    bool storming_ = false;
    unsigned held_back_ = 0;
    uint64_t happenings_ = 0;
};

// Applies the fault to register values.
class FaultyRegisters {
public:
    explicit FaultyRegisters(const Fault *fault) : fault_(fault) {}

    uint32_t read(uint32_t offset, uint32_t value) const;
    // Tracks guest writes, to know when the fault applies.
    void wrote(uint32_t offset, uint32_t value);
    void power_on();

private:
    bool broken() const;

    const Fault *fault_;
    bool running_ = false;
    bool started_ = false;
    bool stopped_ = false;
    bool resetting_ = false;
    bool tuned_ = false;
};

}  // namespace pmukit::models::hisi_ptt
