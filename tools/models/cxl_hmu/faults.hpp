// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Faults of the device to inject, by name. The device itself is unaware of them: FaultyChmu filters
// accesses between the BAR and a CHMU, FaultyHost filters interrupts.
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

// A register field that is read or written as `value` instead.
struct FieldOverride {
    bool common = false;  // in the common capability; else in every instance
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
    std::optional<uint64_t> drop_writes{};  // drops writes to this register of every instance
    bool all_ones = false;                  // every register of a CHMU reads as ones
    bool all_ones_once_enabled = false;
    bool capabilities_change = false;  // capabilities differ between two reads
    unsigned ones_at_entry = 0;        // the n-th entry read in each drain is all ones; 0: none
    unsigned dies_at_entry =
        0;  // every register is all ones from the n-th entry read in a drain; 0: none
    Messages messages = Messages::kAsTheyAre;
    uint64_t reset_after_requests = 0;  // 0: never
    uint64_t operation_ns = 0;          // 0: as configured
};

std::span<const Fault> faults();
const Fault *find_fault(std::string_view name);  // nullptr: no such fault

// Applies the fault to interrupts.
class FaultyHost final : public vfu::Host {
public:
    // fault: nullptr for none.
    FaultyHost(vfu::Host &host, const Fault *fault) : host_(host), fault_(fault) {}

    bool dma_read(uint64_t address, std::span<std::byte> into) override;
    bool dma_write(uint64_t address, Bytes from) override;
    void raise(unsigned vector) override;
    uint64_t now_ns() const override { return host_.now_ns(); }
    void log(std::string_view line) override { host_.log(line); }

    // Call on each guest access: may send an interrupt of a storm, or a spurious one.
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
    // Also resets the state of the fault, which can then occur again.
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
    uint64_t instances_end_;  // far tables begin here
    const Fault *fault_;
    unsigned index_;
    RunLogs *logs_;
    bool was_reset_ = false;  // by the fault
    bool was_enabled_ = false;
    bool odd_read_ = false;
    // State of the current drain, which a write of the head ends:
    unsigned entries_read_ = 0;
    unsigned reads_ = 0;  // register reads since the drain's first entry, inclusive
    bool died_ = false;
};

}  // namespace pmukit::models::cxl_hmu
