// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Faults of the device that a test can inject by name. They are implemented outside the device:
// FaultyChmu changes accesses between the BAR and a CHMU, FaultyHost changes interrupts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "models/cxl_hmu/chmu.hpp"
#include "models/cxl_hmu/cxl_hmu_regs.hpp"
#include "models/cxl_hmu/register_block.hpp"
#include "models/cxl_hmu/run_logs.hpp"
#include "vfu/device.hpp"

namespace pmukit::models::cxl_hmu {

// A register field. Reads or writes of it have `value` instead of the real value.
struct FieldOverride {
    // True if the register is in the common capability. Otherwise it is in every instance.
    bool common = false;
    uint64_t offset = 0;
    Field field{0, 0};
    uint64_t value = 0;
};

enum class Messages { kAsTheyAre, kLost, kStorm, kSpurious };

struct Fault {
    std::string_view name;
    std::string_view effect;
    std::optional<FieldOverride> read{};
    std::optional<FieldOverride> read_too{};
    std::optional<FieldOverride> write{};
    // Offset of a register in an instance. Writes to it are dropped in every instance.
    std::optional<uint64_t> drop_writes{};
    bool all_ones = false;  // every register of a CHMU reads as ones
    bool all_ones_once_enabled = false;
    bool capabilities_change = false;  // two reads of a capability give different values
    // If not 0, the n-th entry that is read in each drain reads as all ones.
    unsigned ones_at_entry = 0;
    // If not 0, every register reads as all ones from the n-th entry on that is read in a drain.
    unsigned dies_at_entry = 0;
    Messages messages = Messages::kAsTheyAre;
    uint64_t reset_after_requests = 0;  // 0: no reset
    uint64_t operation_ns = 0;          // 0: the configured duration
};

std::span<const Fault> faults();
// Returns nullptr if there is no fault of this name.
const Fault *find_fault(std::string_view name);

// Applies the fault to interrupts.
class FaultyHost final : public vfu::Host {
public:
    // fault: the fault to apply; nullptr: none.
    FaultyHost(vfu::Host &host, const Fault *fault) : host_(host), fault_(fault) {}

    bool dma_read(uint64_t address, std::span<std::byte> into) override;
    bool dma_write(uint64_t address, Bytes from) override;
    void raise(unsigned vector) override;
    uint64_t now_ns() const override { return host_.now_ns(); }
    void log(std::string_view line) override { host_.log(line); }

    // Call this for each guest access. Sends an interrupt if the fault is an interrupt storm or
    // spurious interrupts and an interrupt is due.
    void access();
    void spurious_vector(unsigned vector) { spurious_ = vector; }
    void reset() { storming_.reset(); }

private:
    vfu::Host &host_;
    const Fault *fault_;
    unsigned spurious_ = 0;
    std::optional<unsigned> storming_;
    uint64_t accesses_ = 0;
};

// A CHMU with a fault applied.
class FaultyChmu final : public RegisterBlock {
public:
    // index: number of the CHMU in the log. logs is not owned; nullptr: no log.
    FaultyChmu(Chmu &chmu, uint64_t instance_bytes, unsigned instances, const Fault *fault,
               unsigned index, RunLogs *logs)
        : chmu_(chmu),
          instance_bytes_(instance_bytes),
          instances_end_(kCommonBytes + instances * instance_bytes),
          fault_(fault),
          index_(index),
          logs_(logs)
    {
    }

    uint64_t bytes() const override { return chmu_.bytes(); }
    uint64_t read(uint64_t offset, unsigned width) override;
    void write(uint64_t offset, unsigned width, uint64_t value) override;
    // Resets the CHMU and the state of the fault. The fault can then occur again.
    void reset() override;

    void request(const Request &request);
    void advance(uint64_t now_ns);

private:
    void reset_if_due();
    bool is_dead() const;
    // Counts a read of a hot list entry. Returns true if the fault hides the entry.
    bool count_entry(uint64_t offset);
    void log_read_of_the_dead();
    bool matches(const FieldOverride &wanted, uint64_t offset) const;
    uint64_t instance_offset(uint64_t offset) const;
    bool is_capability(uint64_t offset) const;

    Chmu &chmu_;
    uint64_t instance_bytes_;
    // Offset after the last instance, where far tables begin.
    uint64_t instances_end_;
    const Fault *fault_;
    unsigned index_;
    RunLogs *logs_;
    // True after the fault has reset the CHMU.
    bool was_reset_ = false;
    bool was_enabled_ = false;
    bool odd_read_ = false;
    // State of the current drain. A drain ends with a write of the head.
    unsigned entries_read_ = 0;
    // Number of register reads in this drain, from the read of its first entry on.
    unsigned reads_ = 0;
    bool died_ = false;
};

}  // namespace pmukit::models::cxl_hmu
