// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/uncore_pmon/faults.hpp"

#include <algorithm>
#include <iterator>

namespace pmukit::models::uncore_pmon {

namespace {

constexpr uint64_t kAllOnes = ~uint64_t{0};
constexpr Field kWholeWord{0, 63};
constexpr uint64_t kMemory = 0x100000;  // guest memory, possibly the kernel
constexpr uint64_t kBackwardsStep = 1000;
constexpr uint64_t kBeforeEnd = 16;
constexpr uint16_t kUnknownEntry = 3;     // DVSEC ID of no known table
constexpr uint32_t kPrefetchableBar = 4;  // the DDR range

constexpr Fault kFaults[] = {
    {.name = "no-table",
     .effect = "no capability leads to a table",
     .place = TablePlace{kUnknownEntry, 0}},
    {.name = "table-inside-bar",
     .effect = "the table begins within its BAR",
     .place = TablePlace{kEntryPmon, 0x100}},
    {.name = "bar-7",
     .effect = "the table is in BAR 7, which no function has",
     .place = TablePlace{kEntryPmon, 7}},
    {.name = "bar-prefetchable",
     .effect = "the table is said to be in the memory of the controllers, which is prefetchable",
     .place = TablePlace{kEntryPmon, kPrefetchableBar}},
    {.name = "stride-0",
     .effect = "entries lie 0 words apart",
     .table = TableEdit{Entry::kGlobal, 0, kGlobalStride, 0}},
    {.name = "stride-1",
     .effect = "entries lie 1 word apart",
     .table = TableEdit{Entry::kGlobal, 0, kGlobalStride, 1}},
    {.name = "stride-2",
     .effect = "entries lie 2 words apart",
     .table = TableEdit{Entry::kGlobal, 0, kGlobalStride, 2}},
    {.name = "stride-255",
     .effect = "entries are 255 words apart: most of them past the end of the BAR",
     .table = TableEdit{Entry::kGlobal, 0, kGlobalStride, 255},
     .small_bar = true},
    {.name = "max-units-0",
     .effect = "there are no units",
     .table = TableEdit{Entry::kGlobal, 0, kGlobalMaxUnits, 0}},
    {.name = "max-units-beyond-bar",
     .effect = "there are 1023 units, more than the BAR holds",
     .table = TableEdit{Entry::kGlobal, 0, kGlobalMaxUnits, 1023},
     .small_bar = true},
    {.name = "global-word-zero",
     .effect = "the first word of the table is zero",
     .table = TableEdit{Entry::kGlobal, 0, kWholeWord, 0}},
    {.name = "global-word-ones",
     .effect = "the first word of the table is all ones",
     .table = TableEdit{Entry::kGlobal, 0, kWholeWord, kAllOnes}},
    {.name = "global-control-zero",
     .effect = "the address of the global control is zero",
     .table = TableEdit{Entry::kGlobal, 1, kWholeWord, 0}},
    {.name = "global-control-ones",
     .effect = "the address of the global control is all ones",
     .table = TableEdit{Entry::kGlobal, 1, kWholeWord, kAllOnes}},
    {.name = "global-status-ones",
     .effect = "the third word of the table is all ones",
     .table = TableEdit{Entry::kGlobal, 2, kWholeWord, kAllOnes}},
    {.name = "table-all-ones",
     .effect = "every word of the table is all ones",
     .table_of_ones = true},
    {.name = "unit-word-0-ones",
     .effect = "the first word of the first unit is all ones",
     .table = TableEdit{Entry::kFirst, 0, kWholeWord, kAllOnes}},
    {.name = "unit-word-1-ones",
     .effect = "the address of the first unit is all ones",
     .table = TableEdit{Entry::kFirst, 1, kWholeWord, kAllOnes}},
    {.name = "unit-word-2-ones",
     .effect = "the third word of the first unit is all ones",
     .table = TableEdit{Entry::kFirst, 2, kWholeWord, kAllOnes}},
    {.name = "control-outside-bars",
     .effect = "the first unit lies in the machine's memory",
     .table = TableEdit{Entry::kFirst, 1, kWholeWord, kMemory}},
    {.name = "control-behind-bar",
     .effect = "the first unit is past the end of the BAR of the units",
     .control = Control::kBehindBar},
    {.name = "window-beyond-bar",
     .effect = "the registers of the first unit extend past the end of the BAR",
     .control = Control::kEndOfBar},
    {.name = "control-unaligned",
     .effect = "the address of the first unit is odd",
     .table = TableEdit{Entry::kFirst, 1, Field{0, 0}, 1}},
    {.name = "duplicate-ids",
     .effect = "the first two units have one id",
     .table = TableEdit{Entry::kSecond, 2, kUnitId}},
    {.name = "no-counters",
     .effect = "the units of the first type have no counters",
     .table = TableEdit{Entry::kFirstType, 0, kUnitCounters, 0}},
    {.name = "num-counters-255",
     .effect = "the units of the first type have 255 counters",
     .table = TableEdit{Entry::kFirstType, 0, kUnitCounters, 255}},
    {.name = "width-0",
     .effect = "the counters of the first type are 0 bits wide",
     .table = TableEdit{Entry::kFirstType, 0, kUnitWidth, 0}},
    {.name = "width-65",
     .effect = "the counters of the first type are 65 bits wide",
     .table = TableEdit{Entry::kFirstType, 0, kUnitWidth, 65}},
    {.name = "width-255",
     .effect = "the counters of the first type are 255 bits wide",
     .table = TableEdit{Entry::kFirstType, 0, kUnitWidth, 255}},
    {.name = "control-offset-0",
     .effect = "the event controls of the first type begin at its box control",
     .table = TableEdit{Entry::kFirstType, 0, kUnitControl0, 0}},
    {.name = "counter-offset-0",
     .effect = "the counters of the first type begin at its box control",
     .table = TableEdit{Entry::kFirstType, 0, kUnitCounter0, 0}},
    {.name = "offsets-overlap",
     .effect = "controls and counters of the first type begin at the same place",
     .table = TableEdit{Entry::kFirstType, 0, kUnitControl0, 8}},
    {.name = "access-type-3",
     .effect = "the access type of the units of the first type is invalid",
     .table = TableEdit{Entry::kFirstType, 0, kAccess, 3}},
    {.name = "units-of-a-type-differ",
     .effect = "the second unit has 2 counters, unlike the first of its type",
     .table = TableEdit{Entry::kSecond, 0, kUnitCounters, 2}},
    {.name = "table-changes-between-reads",
     .effect = "the number of counters of the first type is another at every second access",
     .table = TableEdit{Entry::kFirstType, 0, kUnitCounters, 255},
     .every_other_time = true},
    {.name = "counters-go-backwards",
     .effect = "a counter reads 1000 less with each read",
     .registers = Registers::kBackwards},
    {.name = "registers-all-ones",
     .effect = "every register of every unit reads as ones",
     .registers = Registers::kAllOnes},
};

}  // namespace

std::span<const Fault> faults()
{
    return kFaults;
}

const Fault *find_fault(std::string_view name)
{
    const auto found = std::ranges::find(kFaults, name, &Fault::name);
    return found == std::end(kFaults) ? nullptr : found;
}

// The table

TablePlace shown_place(const Fault *fault, const TablePlace &place)
{
    return fault && fault->place ? *fault->place : place;
}

void FaultyTable::show(std::span<uint64_t> words, unsigned stride, uint64_t units_end)
{
    const bool now = !fault_->every_other_time || ++shown_ % 2 == 0;
    if (fault_->table_of_ones)
        std::ranges::fill(words, kAllOnes);
    if (fault_->table && now)
        edit(words, stride);
    if (fault_->control != Control::kAsItIs)
        words[stride + 1] = units_end - (fault_->control == Control::kEndOfBar ? kBeforeEnd : 0);
}

void FaultyTable::edit(std::span<uint64_t> words, unsigned stride) const
{
    const TableEdit &wanted = *fault_->table;
    const auto change = [&](size_t entry) {
        uint64_t &word = words[entry * stride + wanted.word];
        const uint64_t first = wanted.field.get(words[stride + wanted.word]);
        word = wanted.field.set(word, wanted.value.value_or(first));
    };
    const auto type_of = [&](size_t entry) { return kUnitType.get(words[entry * stride + 2]); };
    const size_t entries = words.size() / stride;
    switch (wanted.entry) {
        case Entry::kGlobal:
            return change(0);
        case Entry::kFirst:
            return change(1);
        case Entry::kSecond:
            return change(2);
        case Entry::kFirstType:
            for (size_t entry = 1; entry < entries && words[entry * stride] != 0; entry++)
                if (type_of(entry) == type_of(1))
                    change(entry);
            return;
    }
}

// Registers

uint64_t FaultyRegisters::read(bool counter, uint64_t value, unsigned counter_width)
{
    if (!fault_)
        return value;
    if (fault_->registers == Registers::kAllOnes)
        return kAllOnes;
    if (fault_->registers != Registers::kBackwards || !counter)
        return value;
    behind_ += kBackwardsStep;
    return (value - behind_) & Field{0, counter_width - 1}.mask();
}

}  // namespace pmukit::models::uncore_pmon
