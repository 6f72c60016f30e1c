// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One CHMU instance: its registers, counters and hot list, and how it handles requests and time.
// CXL r3.2 section 8.2.8. Where the specification leaves a choice:
//
//  - A register has one access width (see kRegisters); bitmap and hot list are accessed by 8 bytes.
//    Any other read returns all ones, any other write is dropped, and both are violations.
//  - A strict device drops a write of configuration 1 with a value that is reserved or not
//    supported, and bits of the bitmap beyond the capacity. A lenient device accepts both.
//  - The registers accept a configuration that the device cannot run (unsupported unit, threshold
//    beyond the counter width). An enable with this configuration is refused: it ends with the
//    enabled bit clear.
//  - Control bits written while an operation is in progress are dropped.
//  - In epoch mode an enable frees the counters, because an epoch starts with none in use; in
//    always-on mode they remain until a reset. A new unit size frees them, too. Disable abandons
//    the current epoch.
//  - Level crossing is checked only while tracking is enabled. A notification threshold of 0 is
//    never crossed.
//  - Downsampling selects among the requests that pass type and range; randomized downsampling
//    repeats the same sequence after every enable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/cxl_hmu/cxl_hmu_regs.hpp"
#include "models/cxl_hmu/hot_list.hpp"
#include "models/cxl_hmu/request.hpp"
#include "models/cxl_hmu/run_logs.hpp"
#include "models/cxl_hmu/source.hpp"
#include "models/cxl_hmu/tracker.hpp"
#include "models/violations.hpp"
#include "vfu/config_space.hpp"
#include "vfu/device.hpp"

namespace pmukit::models::cxl_hmu {

struct EpochLength {
    uint64_t scale = 0;  // 1..5
    uint64_t value = 0;  // 1..4095

    constexpr uint64_t ns() const { return epoch_scale_ns(scale) * value; }
};

// Deviations of other implementations from the specification.
struct Quirks {
    bool list_halves = false;      // an entry can be read in halves of 4 bytes
    bool joint_head_tail = false;  // head and tail are one register of 4 bytes
    // Overflow is set when the list becomes full, even if nothing was lost.
    bool overflow_when_full = false;
    bool level_above = false;   // level crossing requires more entries than the threshold
    bool garbage_tail = false;  // the tail is invalid after an epoch without requests
    // If not 0, the status shows no operation in progress during an enable or disable. The enable
    // or disable takes effect, and changes the enabled bit of the status, only after this time.
    uint64_t late_status_ns = 0;
    // The bits overflow and level are never cleared. A write that would clear them raises the
    // interrupt again.
    bool sticky_status = false;
    bool reset_empties_list = false;  // a reset of the counters sets head and tail to 0
};

struct InstanceParams {
    unsigned hot_list_entries = 1024;
    unsigned bitmap_qwords = 16;     // each covers 64 x 256 MiB; in total 256 GiB
    uint32_t unit_sizes = 0x3fff;    // supported units: 256 B .. 2 MiB
    uint16_t downsampling = 0xffff;  // supported factors: 1 .. 32768
    uint32_t requests = 0x3f;        // supported request types: all six
    EpochLength epoch_min{1, 1};     // 100 us
    EpochLength epoch_max{5, 100};   // 100 s
    bool per_counter_epochs = false;
    bool level_interrupt = true;
    bool overflow_interrupt = true;
    bool epoch_mode = true;
    bool always_on_mode = true;
    bool randomized = true;
    bool overlap = true;
    bool postponed = false;
    CounterScheme counters{};
    // Bits of a counter for units of 4 KiB. Each doubling of the unit size adds one bit.
    unsigned counter_width_4k = 16;
    uint64_t operation_ns = 20'000;  // duration of enable, disable and reset
    uint32_t seed = 1;               // seed of the randomized downsampling
    const Source *source = nullptr;  // not owned; nullptr: requests come from the guest only
    RunLogs *logs = nullptr;         // not owned; nullptr: no log
    // The configuration space of the function, if it has MSI. The number of MSI vectors that the
    // guest has enabled limits the message number. nullptr: no limit. Not owned.
    const vfu::ConfigSpace *msi = nullptr;

    bool lenient = false;
    Quirks quirks{};
    uint64_t capacity_bytes = 0;    // capacity of the device; 0: what the bitmap covers
    uint64_t left_enabling_ns = 0;  // duration of an enable in progress at power-on; 0: none
    // Offset of the bitmap and then the hot list from the first byte of the instance.
    uint64_t tables_at = kRegistersEnd;
    unsigned padding_qwords = 0;  // padding between bitmap and hot list

    uint64_t bitmap_offset() const { return tables_at; }
    uint64_t hot_list_offset() const
    {
        return bitmap_offset() + (uint64_t{bitmap_qwords} + padding_qwords) * 8;
    }
    uint64_t tables_bytes() const
    {
        return (uint64_t{bitmap_qwords} + padding_qwords + hot_list_entries) * 8;
    }
    uint64_t tables_end() const { return tables_at + tables_bytes(); }
    bool has_epochs() const { return epoch_max.ns() != 0; }
    bool supports_unit(uint64_t unit_log2) const;
    unsigned counter_width(uint64_t unit_log2) const;  // returns 0 if the unit size is unsupported
};

class Instance {
public:
    // name: name of the instance in log lines. message: vector of the interrupts of the instance.
    Instance(const InstanceParams &params, std::string name, unsigned message, vfu::Host &host);
    Instance(const Instance &) = delete;
    Instance &operator=(const Instance &) = delete;

    // Adds an instance of the same block. If overlap is not supported, enabled instances must not
    // track a common range.
    void add_sibling(const Instance &sibling) { siblings_.push_back(&sibling); }

    uint64_t read(uint64_t offset, unsigned width);
    void write(uint64_t offset, unsigned width, uint64_t value);
    void request(const Request &request);
    void reset();
    bool in_hot_list(uint64_t offset) const;

    std::optional<uint64_t> next_deadline_ns() const;
    void advance(uint64_t now_ns);

    // Counts the entries that wait for a free slot of the list as dropped.
    void drop_outstanding();

    // Returns the number of requests since the last reset, including those that were not tracked.
    uint64_t requests() const { return requests_; }
    uint64_t entries_stored() const { return stored_; }
    uint64_t entries_dropped() const { return dropped_; }
    uint64_t violations() const { return violations_.count(); }

private:
    const Register *find(uint64_t offset, unsigned width) const;
    bool hits_register(uint64_t offset, unsigned width) const;
    unsigned message() const;
    uint64_t register_value(uint64_t offset) const;
    std::optional<uint64_t> read_tables(uint64_t offset, unsigned width) const;
    std::optional<uint64_t> read_quirk(uint64_t offset, unsigned width) const;
    bool write_quirk(uint64_t offset, unsigned width, uint64_t value);
    void write_bitmap(uint64_t offset, uint64_t value);
    uint64_t valid_ranges(size_t qword) const;
    const char *wrong_config1(uint64_t value) const;
    void check_config0(uint64_t value);
    uint64_t shown_tail() const;
    uint64_t status() const;
    void write_register(const Register &reg, uint64_t value);
    void write_config0(uint64_t value);
    void write_config1(uint64_t value);
    void write_status(uint64_t value);
    void announce_again(uint64_t value);
    void write_head(uint64_t value);
    void write_tail(uint64_t value);

    bool locked() const;
    bool hides_operation() const;
    uint64_t shown_operation() const { return hides_operation() ? kOperationNone : operation_; }
    void next_operation(uint64_t now_ns);
    void begin(uint64_t operation, uint64_t now_ns);
    void finish_operation();
    void finish_hidden();
    void finish_reset();
    void enable();
    void disable();
    const char *why_not_enable() const;
    bool unit_fits_ranges() const;
    bool overlaps_sibling() const;

    uint64_t mode() const { return kConfig1Mode.get(config1_); }
    uint64_t unit_log2() const { return kConfig1UnitSize.get(config1_); }
    uint64_t threshold() const { return kConfig0Threshold.get(config0_); }
    EpochLength epoch() const;

    TrackerSettings tracker_settings() const;
    bool wants(const Request &request) const;
    uint32_t ticks_per_epoch() const;
    bool source_goes_on() const;
    std::optional<uint64_t> epoch_deadline_ns() const;
    void offer_source();
    void end_epochs(uint64_t now_ns);
    void pass_ticks(uint64_t ticks);
    void report(uint64_t unit, uint32_t count);
    void check_level();
    void set_overflow();
    void insert_outstanding();
    void log_entry(uint64_t entry, bool dropped = false);
    void log_accesses(std::string_view event, unsigned entries);
    void refuse(std::string_view what, uint64_t offset, unsigned width);
    void log(std::string_view line);
    void violate(std::string_view rule, std::string_view detail);
    void leave_enabling();
    void touched();

    InstanceParams params_;
    std::string name_;
    unsigned message_;
    vfu::Host &host_;
    std::vector<const Instance *> siblings_;
    Violations violations_;

    Tracker tracker_;
    HotList list_;
    std::vector<uint64_t> bitmap_;

    uint64_t config0_ = 0;
    uint64_t config1_ = 0;
    uint64_t config2_ = 0;
    bool enabled_ = false;
    bool overflow_ = false;
    bool level_ = false;
    uint64_t operation_ = kOperationNone;
    uint64_t operation_done_ns_ = 0;
    // True if an enable is in progress whose duration begins with the guest's first access (see
    // left_enabling_ns).
    bool left_enabling_ = false;
    uint64_t epoch_requests_ = 0;
    bool tail_is_garbage_ = false;

    // Length of a tick, which is an epoch or a part of it. enable() sets it.
    uint64_t tick_ns_ = 1;
    // Start time of the current tick.
    uint64_t tick_start_ns_ = 0;
    // Number of the epoch for the entries log. With a source, it is the source's epoch; otherwise
    // it counts the epochs since the enable.
    uint64_t epoch_ = 0;
    // Number of the source's next epoch.
    uint64_t source_epoch_ = 0;

    uint64_t requests_ = 0;
    uint64_t stored_ = 0;
    uint64_t dropped_ = 0;
    // Number of register reads since the last line of the stats log.
    uint64_t guest_reads_ = 0;
    uint64_t guest_writes_ = 0;
};

}  // namespace pmukit::models::cxl_hmu
