// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the register definitions of the driver with those of the model. Only this file includes
// both, and it does not compile if they differ. The selftests cover what the asserts cannot compare
// (write one to clear, order, the meaning of values).
#include "hisi_ptt/hisi_ptt_regs.h"
#include "models/hisi_ptt/hisi_ptt_regs.hpp"

namespace pmukit::models::hisi_ptt {

// Function
static_assert(HISI_PTT_PCI_VENDOR == kVendor);
static_assert(HISI_PTT_PCI_DEVICE == kDevice);
static_assert(HISI_PTT_BAR == kRegisterBar);
static_assert(HISI_PTT_REGS_BYTES <= 0x1000);

// Tune
static_assert(HISI_PTT_TUNING_CTRL == kTuningCtrl);
static_assert(HISI_PTT_TUNING_CTRL_CODE == kTuningCtrlCode.mask());
static_assert(HISI_PTT_TUNING_CTRL_SUB == kTuningCtrlSub.mask());
static_assert(HISI_PTT_TUNING_DATA == kTuningData);
static_assert(HISI_PTT_TUNING_DATA_VALUE == kTuningDataValue.mask());
static_assert(HISI_PTT_TUNING_DATA_READ == kTuningRead);
static_assert(HISI_PTT_TUNING_INT_STAT == kTuningIntStat);
static_assert(HISI_PTT_TUNING_INT_STAT_BUSY == kTuningIntStatBusy.mask());

// Trace
static_assert(HISI_PTT_NR_BUFFERS == kBuffers);
static_assert(HISI_PTT_TRACE_ADDR_SIZE == kTraceAddrSize);
static_assert(HISI_PTT_TRACE_ADDR_BASE_LO == kTraceAddrBaseLo);
static_assert(HISI_PTT_TRACE_ADDR_BASE_HI == kTraceAddrBaseHi);
static_assert(HISI_PTT_TRACE_ADDR_STRIDE == kTraceAddrStride);
static_assert(HISI_PTT_TRACE_CTRL == kTraceCtrl);
static_assert(HISI_PTT_TRACE_CTRL_EN == kTraceCtrlEnable.mask());
static_assert(HISI_PTT_TRACE_CTRL_RST == kTraceCtrlReset.mask());
static_assert(HISI_PTT_TRACE_CTRL_RXTX == kTraceCtrlDirection.mask());
static_assert(HISI_PTT_TRACE_CTRL_TYPE == kTraceCtrlType.mask());
static_assert(HISI_PTT_TRACE_CTRL_8DW == kTraceCtrlFormat.mask());
static_assert(HISI_PTT_TRACE_CTRL_BY_ID == kTraceCtrlFilterMode.mask());
static_assert(HISI_PTT_TRACE_CTRL_TARGET == kTraceCtrlTarget.mask());
static_assert(HISI_PTT_TRACE_INT_STAT == kTraceIntStat);
static_assert(HISI_PTT_TRACE_INT_MASK == kTraceIntMask);
static_assert(HISI_PTT_TRACE_INT_FULL == kTraceIntBuffers.mask());
static_assert(HISI_PTT_TRACE_WR_STS == kTraceWriteStatus);
static_assert(HISI_PTT_TRACE_WR_STS_BYTES == kTraceWriteStatusBytes.mask());
static_assert(HISI_PTT_TRACE_WR_STS_BUFFER == kTraceWriteStatusBuffer.mask());
static_assert(HISI_PTT_TRACE_STS == kTraceStatus);
static_assert(HISI_PTT_TRACE_STS_IDLE == kTraceStatusIdle.mask());

// Location
static_assert(HISI_PTT_DEVICE_RANGE == kDeviceRange);
static_assert(HISI_PTT_DEVICE_RANGE_LOWER == kDeviceRangeLower.mask());
static_assert(HISI_PTT_DEVICE_RANGE_UPPER == kDeviceRangeUpper.mask());
static_assert(HISI_PTT_LOCATION == kLocation);
static_assert(HISI_PTT_LOCATION_CORE == kLocationCore.mask());
static_assert(HISI_PTT_LOCATION_SICL == kLocationSicl.mask());

// Entries
static_assert(HISI_PTT_ENTRY_BYTES_4DW == kEntry4Bytes);
static_assert(HISI_PTT_ENTRY_BYTES_8DW == kEntry8Bytes);

}  // namespace pmukit::models::hisi_ptt
