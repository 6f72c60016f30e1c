// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the definitions of the registers (CXL r3.2 section 8.2.8) in the driver with those in
// the model. Only this file includes both. If they differ, this file does not compile. The
// selftests cover what static_assert cannot compare: write one to clear, locking, order of
// accesses.
#include "cxl_hmu/cxl_hmu_regs.h"
#include "models/cxl_hmu/cxl_hmu_regs.hpp"

namespace pmukit::models::cxl_hmu {

// Register locator
static_assert(CXL_HMU_LOCATOR_ID_CHMU == kLocatorChmu);

// Block
static_assert(CXL_HMU_COMMON0 == kCommon0);
static_assert(CXL_HMU_COMMON0_VERSION == kCommon0Version.mask());
static_assert(CXL_HMU_COMMON0_INSTANCES == kCommon0Instances.mask());
static_assert(CXL_HMU_COMMON1 == kCommon1);
static_assert(CXL_HMU_COMMON1_INSTANCE_BYTES == kCommon1InstanceLength.mask());
static_assert(CXL_HMU_COMMON_BYTES == kCommonBytes);
static_assert(CXL_HMU_VERSION == kCommonVersion);
static_assert(CXL_HMU_MAX_INSTANCES == kMaxInstances);

// Capability
static_assert(CXL_HMU_CAP0 == kCap0);
static_assert(CXL_HMU_CAP0_MESSAGE == kCap0Message.mask());
static_assert(CXL_HMU_CAP0_INT_OVERFLOW == kCap0OverflowInterrupt.mask());
static_assert(CXL_HMU_CAP0_INT_LEVEL == kCap0LevelInterrupt.mask());
static_assert(CXL_HMU_CAP0_EPOCH_TYPE == kCap0EpochType.mask());
static_assert(CXL_HMU_CAP0_ACCESS == kCap0Requests.mask());
static_assert(CXL_HMU_CAP0_MAX_EPOCH_SCALE == kCap0MaxEpochScale.mask());
static_assert(CXL_HMU_CAP0_MAX_EPOCH_VALUE == kCap0MaxEpochValue.mask());
static_assert(CXL_HMU_CAP0_MIN_EPOCH_SCALE == kCap0MinEpochScale.mask());
static_assert(CXL_HMU_CAP0_MIN_EPOCH_VALUE == kCap0MinEpochValue.mask());
static_assert(CXL_HMU_CAP0_LIST_SIZE == kCap0HotListSize.mask());
static_assert(CXL_HMU_CAP1 == kCap1);
static_assert(CXL_HMU_CAP1_UNITS == kCap1UnitSizes.mask());
static_assert(CXL_HMU_CAP1_DOWNSAMPLING == kCap1Downsampling.mask());
static_assert(CXL_HMU_CAP1_EPOCH_MODE == kCap1EpochMode.mask());
static_assert(CXL_HMU_CAP1_ALWAYS_ON == kCap1AlwaysOnMode.mask());
static_assert(CXL_HMU_CAP1_RANDOMIZED == kCap1Randomized.mask());
static_assert(CXL_HMU_CAP1_OVERLAP == kCap1Overlap.mask());
static_assert(CXL_HMU_CAP1_POSTPONED == kCap1Postponed.mask());
static_assert(CXL_HMU_CAP2 == kCap2);
static_assert(CXL_HMU_CAP3 == kCap3);
static_assert(CXL_HMU_CAP_QWORDS * 8 == kCap3 + 8);
static_assert(CXL_HMU_UNIT_LOG2_MIN == kMinUnitLog2);
static_assert(CXL_HMU_UNIT_LOG2_MIN + CXL_HMU_NR_UNITS - 1 == kMaxUnitLog2);

// Configuration
static_assert(CXL_HMU_CFG0 == kConfig0);
static_assert(CXL_HMU_CFG0_ACCESS == kConfig0Requests.mask());
static_assert(CXL_HMU_CFG0_RANDOMIZED == kConfig0Randomized.mask());
static_assert(CXL_HMU_CFG0_INT_OVERFLOW == kConfig0OverflowInterrupt.mask());
static_assert(CXL_HMU_CFG0_INT_LEVEL == kConfig0LevelInterrupt.mask());
static_assert(CXL_HMU_CFG0_ENABLE == kConfig0Enable.mask());
static_assert(CXL_HMU_CFG0_RESET == kConfig0ResetCounters.mask());
static_assert(CXL_HMU_CFG0_THRESHOLD == kConfig0Threshold.mask());
static_assert(CXL_HMU_CFG1 == kConfig1);
static_assert(CXL_HMU_CFG1_UNIT == kConfig1UnitSize.mask());
static_assert(CXL_HMU_CFG1_DOWNSAMPLING == kConfig1Downsampling.mask());
static_assert(CXL_HMU_CFG1_MODE == kConfig1Mode.mask());
static_assert(CXL_HMU_CFG1_MODE_EPOCH == kModeEpoch);
static_assert(CXL_HMU_CFG1_MODE_ALWAYS_ON == kModeAlwaysOn);
static_assert(CXL_HMU_CFG1_EPOCH_SCALE == kConfig1EpochScale.mask());
static_assert(CXL_HMU_CFG1_EPOCH_VALUE == kConfig1EpochValue.mask());
static_assert(CXL_HMU_CFG2 == kConfig2);
static_assert(CXL_HMU_CFG2_NOTIFY == kConfig2Notification.mask());

// Status, hot list, bitmap
static_assert(CXL_HMU_STATUS == kStatus);
static_assert(CXL_HMU_STATUS_ENABLED == kStatusEnabled.mask());
static_assert(CXL_HMU_STATUS_OPERATION == kStatusOperation.mask());
static_assert(CXL_HMU_STATUS_COUNTER_WIDTH == kStatusCounterWidth.mask());
static_assert(CXL_HMU_STATUS_OVERFLOW == kStatusOverflow.mask());
static_assert(CXL_HMU_STATUS_LEVEL == kStatusLevel.mask());
static_assert(CXL_HMU_HEAD == kHead);
static_assert(CXL_HMU_TAIL == kTail);
static_assert(CXL_HMU_REGS_BYTES == kRegistersEnd);
static_assert(CXL_HMU_RANGE_SHIFT == kRangeLog2);

}  // namespace pmukit::models::cxl_hmu
