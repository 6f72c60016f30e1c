/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cxl_hmu: the trace event of a record, for ftrace and BPF. It fires for each delivered record,
 * whether the record becomes AUX data or a sample or is only counted, and contains the whole
 * record.
 *
 * struct pmukit_cxl_hmu_trace in <pmukit/cxl_hmu.h> describes this layout for BPF programs, which
 * get no BTF of an out-of-tree module; cxl_hmu_trace.c checks that the two agree. The name of the
 * PMU is an array, not a __string(), so that name and words have fixed offsets.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM cxl_hmu

#if !defined(CXL_HMU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CXL_HMU_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>

#include <pmukit/cxl_hmu.h>

#include "cxl_hmu_core.h"

TRACE_EVENT(cxl_hmu_record,
	TP_PROTO(const char *pmu, const struct cxl_hmu_header *header, const u64 *words),

	TP_ARGS(pmu, header, words),

	TP_STRUCT__entry(
		__array(char, pmu, PMUKIT_CXL_HMU_TRACE_NAME_BYTES)
		__field(u64, time)
		__field(u64, flags)
		__field(u64, sequence)
		__field(u64, lost)
		__field(u32, entries)
		__field(u16, counter_width)
		__field(u8, unit_log2)
		__field(u8, downsampling_log2)
		__field(u32, nr_words)
		__dynamic_array(u64, words, CXL_HMU_HEADER_WORDS + header->entries)
	),

	TP_fast_assign(
		strscpy_pad(__entry->pmu, pmu, sizeof(__entry->pmu));
		__entry->time = header->time_ns;
		__entry->flags = header->flags;
		__entry->sequence = header->sequence;
		__entry->lost = header->lost;
		__entry->entries = header->entries;
		__entry->counter_width = header->counter_width;
		__entry->unit_log2 = header->unit_log2;
		__entry->downsampling_log2 = header->downsampling_log2;
		__entry->nr_words = CXL_HMU_HEADER_WORDS + header->entries;
		memcpy(__get_dynamic_array(words), words, __get_dynamic_array_len(words));
	),

	TP_printk("%s sequence=%llu time=%llu flags=%s lost=%llu unit_log2=%u downsampling_log2=%u counter_width=%u entries=%u words=%s",
		  __entry->pmu, __entry->sequence, __entry->time,
		  __print_flags(__entry->flags, "|",
				{ PMUKIT_CXL_HMU_F_OVERFLOW, "OVERFLOW" },
				{ PMUKIT_CXL_HMU_F_TRUNCATED, "TRUNCATED" },
				{ PMUKIT_CXL_HMU_F_ALWAYS_ON, "ALWAYS_ON" },
				{ PMUKIT_CXL_HMU_F_RESET, "RESET" }),
		  __entry->lost, __entry->unit_log2, __entry->downsampling_log2,
		  __entry->counter_width, __entry->entries,
		  __print_array(__get_dynamic_array(words), __entry->nr_words, 8))
);

#endif /* CXL_HMU_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE cxl_hmu_trace
#include <trace/define_trace.h>
