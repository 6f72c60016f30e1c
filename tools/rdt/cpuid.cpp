// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/cpuid.hpp"

#include "rdt/registers.hpp"

namespace pmukit::rdt {

namespace {

constexpr uint32_t kFeatures = 0x7, kMonitoring = 0xf, kAllocation = 0x10;
constexpr uint32_t kAmdExtendedMax = 0x80000000, kAmdFeatures = 0x80000008, kAmdQos = 0x80000020;

// Fields of CPUID leaves; each comment names the leaf, the subleaf and the register.
constexpr uint32_t kPqm = 1u << 12, kPqe = 1u << 15;        // 7.0 EBX
constexpr uint32_t kL3Monitoring = 1u << 1;                 // 0xf.0 EDX
constexpr uint32_t kAllEvents = 7;                          // 0xf.1 EDX
constexpr uint32_t kWidthBase = 24;                         // 0xf.1 EAX: width - 24
constexpr uint32_t kL3Allocation = 1u << 1;                 // 0x10.0 EBX
constexpr uint32_t kThrottling = 1u << 3;                   // 0x10.0 EBX, Intel
constexpr uint32_t kLinear = 1u << 2;                       // 0x10.3 ECX
constexpr uint32_t kAmdThrottling = 1u << 6;                // 0x80000008 EBX
constexpr uint32_t kAmdL3Throttling = 1u << 1;              // 0x80000020.0 EBX
constexpr uint32_t kAmdBmec = 1u << 3, kAmdAbmc = 1u << 5;  // 0x80000020.0 EBX
constexpr uint32_t kAmdTraffic = 0x7f;  // 0x80000020.3 ECX: traffic types that can be selected
constexpr uint32_t kAmdSourceRmid = 1;  // 0x80000020.5 ECX

Leaf monitoring(const Shape &shape, uint32_t subleaf)
{
    const uint32_t last = shape.rmids - 1;
    if (subleaf == 0)
        return {0, last, 0, kL3Monitoring};
    if (subleaf == 1)
        return {shape.width - kWidthBase, shape.unit, last, kAllEvents};
    return {};
}

Leaf allocation(const Shape &shape, uint32_t subleaf)
{
    const bool intel = shape.vendor == Vendor::kIntel;
    if (subleaf == 0)
        return {0, kL3Allocation | (intel ? kThrottling : 0), 0, 0};
    if (subleaf == 1)
        return {shape.ways - 1, 0, 0, shape.classes - 1};
    if (subleaf == 3 && intel)
        return {kMostDelay - 1, 0, kLinear, shape.classes - 1};
    return {};
}

Leaf amd_qos(const Shape &shape, uint32_t subleaf)
{
    if (subleaf == 0)
        return {0, kAmdL3Throttling | (shape.abmc ? kAmdBmec | kAmdAbmc : 0), 0, 0};
    if (subleaf == 1)
        return {kAmdBandwidthBits, 0, 0, shape.classes - 1};
    if (subleaf == 3 && shape.abmc)
        return {0, kTypedEvents, kAmdTraffic, 0};
    if (subleaf == 5 && shape.abmc)
        return {shape.width - kWidthBase, shape.abmc - 1, kAmdSourceRmid, 0};
    return {};
}

}  // namespace

bool changes_leaf(const Shape &shape, uint32_t leaf)
{
    if (leaf == kFeatures || leaf == kMonitoring || leaf == kAllocation)
        return true;
    return shape.vendor == Vendor::kAmd &&
           (leaf == kAmdExtendedMax || leaf == kAmdFeatures || leaf == kAmdQos);
}

Leaf leaf_of(const Shape &shape, uint32_t leaf, uint32_t subleaf, const Leaf &found)
{
    if (!changes_leaf(shape, leaf))
        return found;
    Leaf changed = found;
    switch (leaf) {
        case kMonitoring:
            return monitoring(shape, subleaf);
        case kAllocation:
            return allocation(shape, subleaf);
        case kAmdQos:
            return amd_qos(shape, subleaf);
        case kFeatures:
            if (subleaf == 0)
                changed.ebx |= kPqm | kPqe;
            break;
        case kAmdFeatures:
            changed.ebx |= kAmdThrottling;
            break;
        case kAmdExtendedMax:
            if (changed.eax < kAmdQos)
                changed.eax = kAmdQos;
            break;
    }
    return changed;
}

}  // namespace pmukit::rdt
