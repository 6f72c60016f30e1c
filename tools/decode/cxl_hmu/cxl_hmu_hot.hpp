// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Sums up the accesses and epochs of each unit of device memory, and all losses, from cxl_hmu
// records. Memory use grows with the number of units, up to a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/limits.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"

namespace pmukit::decode::cxl_hmu {

struct HotUnit {
    uint64_t dpa = 0;       // device physical address of the unit
    uint64_t accesses = 0;  // counts times the downsampling factor; 0 in always-on mode
    uint64_t epochs = 0;    // how often the unit was on the hot list
};

// Sums of the heat that the table has dropped. They are 0 as long as all units fit.
struct LeftOut {
    uint64_t units = 0;  // a unit that is dropped twice counts twice
    uint64_t accesses = 0, epochs = 0;
    // The most heat that any single unit can have lost by being dropped.
    uint64_t most_short_accesses = 0, most_short_epochs = 0;
};

struct HotTotals {
    uint64_t records = 0, entries = 0;
    uint64_t accesses = 0;
    uint64_t lost = 0;           // entries that the driver counted as lost
    uint64_t truncated = 0;      // records that follow a loss in the driver
    uint64_t overflows = 0;      // records that report a full hot list
    uint64_t resets = 0;         // records that report that the device lost its configuration
    uint64_t sequence_gaps = 0;  // records that the sequence numbers show as missing
    uint64_t duplicates = 0;     // repeated records, which were counted once
    uint64_t saturated = 0;      // entries whose count is the largest the counter can hold
    uint64_t invalid = 0;        // entries whose address does not fit in 64 bits
    uint64_t without_time = 0;   // records without a time
    uint64_t without_unit = 0;   // records without a unit size, which were not counted
    uint64_t skipped_bytes = 0;  // bytes in which no record was found
    bool always_on = false;
    std::optional<unsigned> unit_log2, downsampling_log2;
};

class HotList final : public Sink {
public:
    static constexpr size_t kMostUnits = limits::kUnits / 32;  // 32 bytes per unit

    // unit_log2: log2 of the unit size that is assumed for records without a unit size. most_units:
    // limit of the table, for a caller that only watches.
    explicit HotList(std::optional<unsigned> unit_log2 = std::nullopt,
                     size_t most_units = kMostUnits);
    HotList(HotList &&) noexcept;
    HotList &operator=(HotList &&) noexcept;
    ~HotList() override;

    // Call if the first records are in an earlier recording, so that a first sequence number above
    // 0 is no gap.
    void begins_later();

    void record(const Record &record) override;
    void skipped(uint64_t offset, uint64_t bytes) override;

    // Called for each counted entry: its address, the time of its record, and the heat that it
    // adds (accesses; 1 in always-on mode).
    using Watch = std::function<void(uint64_t dpa, uint64_t time_ns, uint64_t heat)>;
    void watch(Watch watch);

    const HotTotals &totals() const;
    // If there are more units than the limit, the coldest ones are dropped; left_out() counts them.
    size_t units() const;
    const std::vector<HotUnit> &all() const;
    const LeftOut &left_out() const;
    // Returns at most `limit` units (0: all), sorted by descending accesses, then epochs, then
    // address.
    std::vector<HotUnit> hottest(size_t limit) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pmukit::decode::cxl_hmu
