// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/registers.hpp"

namespace pmukit::rdt {

namespace {

constexpr uint64_t kEventField = 0xff;
constexpr uint32_t kRmidShift = 32;
constexpr uint64_t kIntelRmidField = 0x3ffULL << kRmidShift;
constexpr uint64_t kAmdRmidField = 0xfffULL << kRmidShift;
constexpr uint64_t kExtended = 1ULL << 31;
constexpr uint32_t kCounterShift = 48;
constexpr uint64_t kCounterField = 0x1fULL << kCounterShift;
constexpr uint64_t kTypesField = 0xffffffff;
constexpr uint64_t kAbmcFields =
    kAbmcApply | kAbmcEnable | kCounterField | kAbmcClass | kAmdRmidField | kTypesField;

// MSR numbers that RDT defines, for the largest number of classes.
struct Range {
    uint32_t first, last;
};
constexpr Range kRanges[] = {
    {0xc81, 0xc82},            // CDP of L3 and L2
    {0xc8d, 0xd0f},            // monitoring, L3 masks
    {0xd10, 0xd8f},            // L2 masks, delays
    {0xc0000200, 0xc000020f},  // AMD
    {kAbmcCfg, kEventTypes + kTypedEvents - 1},
};

bool is_contiguous(uint64_t mask)
{
    const uint64_t lowest = mask & -mask;
    return mask && !(mask & (mask + lowest));
}

bool takes_mask(const Shape &shape, uint64_t mask)
{
    if (mask >> shape.ways)
        return false;
    return shape.vendor == Vendor::kAmd || is_contiguous(mask);
}

bool takes_throttle(const Shape &shape, uint64_t value)
{
    return shape.vendor == Vendor::kAmd ? value <= 1ULL << kAmdBandwidthBits : value <= kMostDelay;
}

bool takes_evtsel(const Shape &shape, uint64_t value)
{
    const uint64_t rmid = shape.vendor == Vendor::kAmd ? kAmdRmidField : kIntelRmidField;
    return !(value & ~(kEventField | rmid | (shape.abmc ? kExtended : 0)));
}

bool takes_pqr(const Shape &shape, uint64_t value)
{
    const Association association = association_of(value);
    return association.rmid < shape.rmids && association.clos < shape.classes;
}

}  // namespace

Selection selection_of(uint64_t evtsel)
{
    return {static_cast<uint32_t>(evtsel & kEventField),
            static_cast<uint32_t>((evtsel & kAmdRmidField) >> kRmidShift),
            (evtsel & kExtended) != 0};
}

Binding binding_of(uint64_t config)
{
    return {static_cast<uint32_t>((config & kCounterField) >> kCounterShift),
            static_cast<uint32_t>((config & kAmdRmidField) >> kRmidShift), config & kTypesField,
            (config & kAbmcEnable) != 0, (config & kAbmcClass) != 0};
}

Association association_of(uint64_t pqr)
{
    return {static_cast<uint32_t>(pqr), static_cast<uint32_t>(pqr >> 32)};
}

constexpr Register kOfAbmc[] = {Register::kAbmc, Register::kAbmcIs, Register::kExt};

Msr msr_of(const Shape &shape, uint32_t number)
{
    if (number == kQmEvtsel)
        return {Register::kEvtsel, 0};
    if (number == kQmCtr)
        return {Register::kCtr, 0};
    if (number == kPqrAssoc)
        return {Register::kPqr, 0};
    if (number == kRmidSncConfig && shape.vendor == Vendor::kIntel)
        return {Register::kSnc, 0};
    if (shape.abmc && number >= kAbmcCfg && number <= kExtCfg)
        return {kOfAbmc[number - kAbmcCfg], 0};
    if (shape.abmc && number - kEventTypes < kTypedEvents)
        return {Register::kTypes, number - kEventTypes};
    if (number - kL3Mask < shape.classes)
        return {Register::kMask, number - kL3Mask};
    const uint32_t throttle = shape.vendor == Vendor::kAmd ? kAmdBandwidth : kDelay;
    if (number - throttle < shape.classes)
        return {Register::kThrottle, number - throttle};
    return {};
}

bool is_of_rdt(uint32_t number)
{
    for (const Range &range : kRanges)
        if (number >= range.first && number <= range.last)
            return true;
    return false;
}

bool takes(const Shape &shape, const Msr &msr, uint64_t value)
{
    switch (msr.reg) {
        case Register::kEvtsel:
            return takes_evtsel(shape, value);
        case Register::kPqr:
            return takes_pqr(shape, value);
        case Register::kMask:
            return takes_mask(shape, value);
        case Register::kThrottle:
            return takes_throttle(shape, value);
        case Register::kSnc:
            return !(value & ~kRmidsDivided);
        case Register::kAbmc:
            return !(value & ~kAbmcFields);
        case Register::kTypes:
            return !(value & ~kAllTypes);
        case Register::kExt:
            return !(value & ~kAbmcOn);
        case Register::kCtr:  // read-only
        case Register::kAbmcIs:
        case Register::kNone:
            return false;
    }
    return false;
}

}  // namespace pmukit::rdt
