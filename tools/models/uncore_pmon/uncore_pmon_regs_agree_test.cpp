// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the table and register definitions of the driver with those of the model. Only this file
// includes both, and it does not compile if they differ. The selftests cover what the asserts
// cannot compare (self-clearing bits, order, what an event counts).
#include "models/uncore_pmon/uncore_pmon_regs.hpp"
#include "uncore_pmon/uncore_pmon_regs.h"

namespace pmukit::models::uncore_pmon {

// Finding the table
static_assert(UNCORE_PMON_DVSEC == kExtDvsec);
static_assert(UNCORE_PMON_DVSEC_ENTRY == kDvsecEntryId);
static_assert(UNCORE_PMON_DVSEC_ENTRY_ID == 0xffff);
static_assert(UNCORE_PMON_DVSEC_ENTRY_PMON == kEntryPmon);
static_assert(UNCORE_PMON_DVSEC_PLACE == kDvsecBir);
static_assert(UNCORE_PMON_DVSEC_PLACE_BIR == kDvsecBirField.mask());

// The table
static_assert(UNCORE_PMON_ENTRY_WORDS == kEntryWords);
static_assert(UNCORE_PMON_GLOBAL0_TYPE == kGlobalType.mask());
static_assert(UNCORE_PMON_GLOBAL0_STRIDE == kGlobalStride.mask());
static_assert(UNCORE_PMON_GLOBAL0_MAX_UNITS == kGlobalMaxUnits.mask());
static_assert(UNCORE_PMON_GLOBAL0_ACCESS == kAccess.mask());
static_assert(UNCORE_PMON_UNIT0_COUNTERS == kUnitCounters.mask());
static_assert(UNCORE_PMON_UNIT0_CONTROL == kUnitControl0.mask());
static_assert(UNCORE_PMON_UNIT0_WIDTH == kUnitWidth.mask());
static_assert(UNCORE_PMON_UNIT0_COUNTER == kUnitCounter0.mask());
static_assert(UNCORE_PMON_UNIT0_STATUS == kUnitStatus.mask());
static_assert(UNCORE_PMON_UNIT0_ACCESS == kAccess.mask());
static_assert(UNCORE_PMON_ACCESS_MSR == static_cast<int>(Access::kMsr));
static_assert(UNCORE_PMON_ACCESS_MMIO == static_cast<int>(Access::kMmio));
static_assert(UNCORE_PMON_ACCESS_PCI == static_cast<int>(Access::kPci));
static_assert(UNCORE_PMON_UNIT2_TYPE == kUnitType.mask());
static_assert(UNCORE_PMON_UNIT2_ID == kUnitId.mask());
static_assert(UNCORE_PMON_PCI_OFFSET == kPciOffset.mask());
static_assert(UNCORE_PMON_PCI_DEVFN == kPciDevfn.mask());
static_assert(UNCORE_PMON_PCI_BUS == kPciBus.mask());
static_assert(UNCORE_PMON_PCI_DOMAIN == kPciDomain.mask());

// All units
static_assert(UNCORE_PMON_GLOBAL_FREEZE == kGlobalFreeze);

// A unit
static_assert(UNCORE_PMON_BOX == kBoxControl);
static_assert(UNCORE_PMON_BOX_FREEZE == kBoxFreeze);
static_assert(UNCORE_PMON_BOX_RESET_CONTROLS == kBoxResetControls);
static_assert(UNCORE_PMON_BOX_RESET_COUNTERS == kBoxResetCounters);
static_assert(UNCORE_PMON_CONTROL_EVENT == kControlEvent.mask());
static_assert(UNCORE_PMON_CONTROL_UMASK == kControlUmask.mask());
static_assert(UNCORE_PMON_CONTROL_EDGE == kControlEdge.mask());
static_assert(UNCORE_PMON_CONTROL_ENABLE == kControlEnable.mask());
static_assert(UNCORE_PMON_CONTROL_INVERT == kControlInvert.mask());
static_assert(UNCORE_PMON_CONTROL_THRESHOLD == kControlThreshold.mask());

// Memory controllers
static_assert(UNCORE_PMON_IMC_FIXED_COUNTER == kFixedCounter);
static_assert(UNCORE_PMON_IMC_FIXED_CONTROL == kFixedControl);
static_assert(UNCORE_PMON_MC_MASK == kControllerBytes - 1);
static_assert(UNCORE_PMON_MC_BOX == kImcInController[0]);
static_assert(UNCORE_PMON_MC_DCLK == kFreeDclk);
static_assert(UNCORE_PMON_MC_RPQ_CYCLES == kFreeReadCycles);
static_assert(UNCORE_PMON_MC_WPQ_CYCLES == kFreeWriteCycles);
static_assert(UNCORE_PMON_MC_WIDTH == kFreeWidth);

}  // namespace pmukit::models::uncore_pmon
