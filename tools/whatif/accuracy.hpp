// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How well a unit finds hot memory, if nothing moves: in each epoch, compares its hot list with the
// exact counts of the log. Hot are the N most accessed units of the epoch; a unit with as many
// accesses as the last of them is as right as that one.
//
//     recall     hot units that the list has / hot units, N in each epoch
//     precision  units of the list that are hot / units of the list
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/cxl_hmu/request.hpp"
#include "whatif/chmu.hpp"
#include "whatif/unit_index.hpp"

namespace pmukit::whatif {

struct AccuracyTotals {
    uint64_t epochs = 0;        // complete ones; the unit does not report the last, incomplete one
    uint64_t hot = 0;           // hot units, by the log
    uint64_t listed = 0;        // units on the list; each once in an epoch
    uint64_t found = 0;         // hot units that the list has
    uint64_t listed_right = 0;  // units on the list that are hot
    uint64_t dropped = 0;       // entries that did not fit into the list
};

class Accuracy {
public:
    static constexpr size_t kUnitBytes = 2 * 2 * sizeof(uint32_t);

    // index must outlive the object; hot_units is N.
    Accuracy(const ChmuSetup &setup, const UnitIndex &index, uint64_t hot_units)
        : epoch_(setup.epoch), hot_units_(hot_units), index_(index), chmu_(setup)
    {
    }

    // Called for each unit that was accessed in an epoch, at the end of the epoch: the number of
    // the epoch from 0, the address of the unit, its accesses.
    using Watch = std::function<void(uint64_t epoch, uint64_t dpa, uint64_t accesses)>;
    void watch(Watch watch) { watch_ = std::move(watch); }

    // numbers: of the units of the accesses.
    void feed(std::span<const models::cxl_hmu::Request> accesses,
              std::span<const uint32_t> numbers);
    // Ends the log.
    void finish();
    const AccuracyTotals &totals() const { return totals_; }

private:
    void end_epoch();
    void compare(const std::vector<Chmu::Entry> &entries);
    void forget_counts();

    uint64_t epoch_, hot_units_;
    const UnitIndex &index_;
    Chmu chmu_;
    uint64_t in_epoch_ = 0;           // accesses of the epoch so far
    std::vector<uint32_t> counts_;    // accesses of each unit in the epoch
    std::vector<uint32_t> accessed_;  // units with such accesses
    std::vector<uint32_t> of_hottest_, listed_;
    uint64_t number_ = 0;
    Watch watch_;
    AccuracyTotals totals_;
};

}  // namespace pmukit::whatif
