// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: the trace event, and checks of its layout against <pmukit/hisi_ptt.h>.
 */

#include <linux/build_bug.h>
#include <linux/stddef.h>

#define CREATE_TRACE_POINTS
#include "hisi_ptt_trace.h"

#define HISI_PTT_TRACE_AT(_field)	offsetof(struct trace_event_raw_hisi_ptt_record, _field)
#define HISI_PTT_UAPI_AT(_field)	offsetof(struct pmukit_hisi_ptt_trace, _field)

static_assert(HISI_PTT_TRACE_AT(pmu) == HISI_PTT_UAPI_AT(pmu));
static_assert(HISI_PTT_TRACE_AT(time) == HISI_PTT_UAPI_AT(time));
static_assert(HISI_PTT_TRACE_AT(flags) == HISI_PTT_UAPI_AT(flags));
static_assert(HISI_PTT_TRACE_AT(sequence) == HISI_PTT_UAPI_AT(sequence));
static_assert(HISI_PTT_TRACE_AT(lost) == HISI_PTT_UAPI_AT(lost));
static_assert(HISI_PTT_TRACE_AT(entries) == HISI_PTT_UAPI_AT(entries));
static_assert(HISI_PTT_TRACE_AT(entry_bytes) == HISI_PTT_UAPI_AT(entry_bytes));
static_assert(HISI_PTT_TRACE_AT(nr_words) == HISI_PTT_UAPI_AT(nr_words));
static_assert(HISI_PTT_TRACE_AT(__data_loc_words) == HISI_PTT_UAPI_AT(words_location));
/* The variable-length words directly follow the fixed fields. */
static_assert(HISI_PTT_TRACE_AT(__data) == sizeof(struct pmukit_hisi_ptt_trace));
