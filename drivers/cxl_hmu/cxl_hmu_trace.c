// SPDX-License-Identifier: GPL-2.0-only
/* cxl_hmu: the trace event, and checks that its layout is that of struct pmukit_cxl_hmu_trace. */

#include <linux/build_bug.h>
#include <linux/stddef.h>

#define CREATE_TRACE_POINTS
#include "cxl_hmu_trace.h"

#define CXL_HMU_TRACE_AT(_field)	offsetof(struct trace_event_raw_cxl_hmu_record, _field)
#define CXL_HMU_UAPI_AT(_field)		offsetof(struct pmukit_cxl_hmu_trace, _field)

static_assert(CXL_HMU_TRACE_AT(pmu) == CXL_HMU_UAPI_AT(pmu));
static_assert(CXL_HMU_TRACE_AT(time) == CXL_HMU_UAPI_AT(time));
static_assert(CXL_HMU_TRACE_AT(flags) == CXL_HMU_UAPI_AT(flags));
static_assert(CXL_HMU_TRACE_AT(sequence) == CXL_HMU_UAPI_AT(sequence));
static_assert(CXL_HMU_TRACE_AT(lost) == CXL_HMU_UAPI_AT(lost));
static_assert(CXL_HMU_TRACE_AT(entries) == CXL_HMU_UAPI_AT(entries));
static_assert(CXL_HMU_TRACE_AT(counter_width) == CXL_HMU_UAPI_AT(counter_width));
static_assert(CXL_HMU_TRACE_AT(unit_log2) == CXL_HMU_UAPI_AT(unit_log2));
static_assert(CXL_HMU_TRACE_AT(downsampling_log2) == CXL_HMU_UAPI_AT(downsampling_log2));
static_assert(CXL_HMU_TRACE_AT(nr_words) == CXL_HMU_UAPI_AT(nr_words));
static_assert(CXL_HMU_TRACE_AT(__data_loc_words) == CXL_HMU_UAPI_AT(words_location));
/* The variable-length words directly follow the fixed fields. */
static_assert(CXL_HMU_TRACE_AT(__data) == sizeof(struct pmukit_cxl_hmu_trace));
