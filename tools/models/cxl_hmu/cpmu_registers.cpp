// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/cpmu_registers.hpp"

#include <fmt/core.h>

#include "models/cxl_hmu/cxl_hmu_regs.hpp"

namespace pmukit::models::cxl_hmu {

namespace {

constexpr size_t kBytes = 0xe00;

constexpr size_t kCapability = 0x0;  // RO, 8 bytes
constexpr Field kCapabilityCounters{0, 5};
constexpr Field kCapabilityWidth{8, 15};
constexpr Field kCapabilityEvents{20, 24};
constexpr Field kCapabilityMessage{44, 47};
constexpr Field kCapabilityWritableFrozen{48, 48};
constexpr Field kCapabilityFreeze{49, 49};
constexpr Field kCapabilityInterrupt{50, 50};
constexpr Field kCapabilityVersion{60, 63};
constexpr uint64_t kCounterWidth = 48;

constexpr size_t kOverflow = 0x10;        // RW1C, one bit per counter
constexpr size_t kFreeze = 0x18;          // RW, one bit per counter
constexpr size_t kEvents = 0x100;         // RO, 8 bytes each
constexpr size_t kConfiguration = 0x200;  // 8 bytes per counter
constexpr size_t kFilter = 0x400;         // 8 filters of 4 bytes per counter
constexpr size_t kFiltersOfCounter = 0x20;
constexpr size_t kCounter = 0xc00;  // 8 bytes each

constexpr Field kEventsMask{0, 31};
constexpr Field kEventsGroup{32, 47};
constexpr Field kEventsVendor{48, 63};
constexpr uint64_t kOfCxl = 0x1e98;
constexpr uint64_t kM2sRequests = 0x0020;
constexpr uint64_t kMemoryReads = 1u << 1;

constexpr Field kConfigurationType{0, 1};
constexpr uint64_t kConfigurable = 2;
constexpr Field kConfigurationWritable{8, 63};

}  // namespace

CpmuRegisters::CpmuRegisters(unsigned message, vfu::Host &host) : host_(host), registers_(kBytes)
{
    registers_.place(kCapability, 8,
                     kCapabilityCounters.put(kCounters - 1) | kCapabilityWidth.put(kCounterWidth) |
                         kCapabilityEvents.put(0) | kCapabilityMessage.put(message) |
                         kCapabilityWritableFrozen.put(1) | kCapabilityFreeze.put(1) |
                         kCapabilityInterrupt.put(1) | kCapabilityVersion.put(1));
    constexpr uint64_t kAll = (uint64_t{1} << kCounters) - 1;
    registers_.place(kOverflow, 8, 0, 0, kAll);
    registers_.place(kFreeze, 8, 0, kAll);
    registers_.place(
        kEvents, 8,
        kEventsMask.put(kMemoryReads) | kEventsGroup.put(kM2sRequests) | kEventsVendor.put(kOfCxl));
    for (unsigned i = 0; i < kCounters; i++) {
        registers_.place(kConfiguration + 8 * i, 8, kConfigurationType.put(kConfigurable),
                         kConfigurationWritable.mask());
        registers_.place(kFilter + kFiltersOfCounter * i, 4, 0, ~uint32_t{0});
        registers_.place(kCounter + 8 * i, 8, 0, Field{0, kCounterWidth - 1}.mask());
    }
}

bool CpmuRegisters::refuses(const char *what, uint64_t offset, unsigned width)
{
    if ((width == 4 || width == 8) && offset % width == 0)
        return false;
    host_.log(fmt::format("CXL PMU: {} of {} bytes at {:#x}, dropped", what, width, offset));
    return true;
}

uint64_t CpmuRegisters::read(uint64_t offset, unsigned width)
{
    return refuses("read", offset, width) ? ~uint64_t{0} : registers_.read(offset, width);
}

void CpmuRegisters::write(uint64_t offset, unsigned width, uint64_t value)
{
    if (!refuses("write", offset, width))
        registers_.write(offset, width, value);
}

}  // namespace pmukit::models::cxl_hmu
