// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Ways in which the trace block can be broken on purpose, by name. The block itself knows nothing
// of them: one filter stands between the BAR and its registers, another before its messages.
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

// From when on registers are broken.
enum class Since {
    kPowerOn,
    kStart,       // of the first trace
    kResetBegan,  // TRACE_CTRL.RST is set, and as long as it is
    kStop,        // a trace was stopped, until the next start
    kTuneBegan,   // the first operation
};

enum class Messages { kAsTheyAre, kLost, kStorm, kSpurious };

struct Fault {
    std::string_view name;
    std::string_view effect;
    std::optional<FieldOverride> read{};
    Since since = Since::kPowerOn;
    bool all_ones = false;  // every register
    Messages messages = Messages::kAsTheyAre;
    unsigned buffers_a_message = 1;  // one message when so many have filled
};

std::span<const Fault> faults();
const Fault *find_fault(std::string_view name);  // nullptr: no such fault

// Messages as a fault lets them through.
class FaultyHost final : public vfu::Host {
public:
    // No fault: nullptr.
    FaultyHost(vfu::Host &host, const Fault *fault) : host_(host), fault_(fault) {}

    bool dma_read(uint64_t address, std::span<std::byte> into) override;
    bool dma_write(uint64_t address, Bytes from) override;
    void raise(unsigned vector) override;
    uint64_t now_ns() const override { return host_.now_ns(); }
    void log(std::string_view line) override { host_.log(line); }

    // The guest has touched a register, or a packet went by: what a storm and spurious messages
    // feed on.
    void something_happened();
    // What is held back belongs to the trace before.
    void trace_begins() { held_back_ = 0; }
    void power_on();

private:
    vfu::Host &host_;
    const Fault *fault_;
    bool storming_ = false;
    unsigned held_back_ = 0;
    uint64_t happenings_ = 0;
};

// What a fault makes of a register's value.
class FaultyRegisters {
public:
    explicit FaultyRegisters(const Fault *fault) : fault_(fault) {}

    uint32_t read(uint32_t offset, uint32_t value) const;
    void wrote(uint32_t offset, uint32_t value);  // what the guest does, to know the time
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
