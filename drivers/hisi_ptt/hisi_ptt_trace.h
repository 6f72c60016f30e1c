/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hisi_ptt: the trace event of a record, for ftrace and BPF. It fires for each delivered record,
 * both for samples and for AUX data, and contains the whole record.
 *
 * struct pmukit_hisi_ptt_trace in <pmukit/hisi_ptt.h> describes this layout for BPF programs, which
 * get no BTF of an out-of-tree module; hisi_ptt_trace.c checks that the two agree. The name of the
 * PMU is an array, not a __string(), so that name and words have fixed offsets.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hisi_ptt

#if !defined(HISI_PTT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define HISI_PTT_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>

#include <pmukit/hisi_ptt.h>

#include "hisi_ptt_core.h"

TRACE_EVENT(hisi_ptt_record,
	TP_PROTO(const char *pmu, const struct hisi_ptt_header *header, const u64 *words,
		 u32 nr_words),

	TP_ARGS(pmu, header, words, nr_words),

	TP_STRUCT__entry(
		__array(char, pmu, PMUKIT_HISI_PTT_TRACE_NAME_BYTES)
		__field(u64, time)
		__field(u64, flags)
		__field(u64, sequence)
		__field(u64, lost)
		__field(u32, entries)
		__field(u32, entry_bytes)
		__field(u32, nr_words)
		__dynamic_array(u64, words, nr_words)
	),

	TP_fast_assign(
		strscpy_pad(__entry->pmu, pmu, sizeof(__entry->pmu));
		__entry->time = header->time_ns;
		__entry->flags = header->flags;
		__entry->sequence = header->sequence;
		__entry->lost = header->lost;
		__entry->entries = header->entries;
		__entry->entry_bytes = header->entry_bytes;
		__entry->nr_words = nr_words;
		memcpy(__get_dynamic_array(words), words, __get_dynamic_array_len(words));
	),

	TP_printk("%s sequence=%llu time=%llu flags=%s lost=%llu entry_bytes=%u entries=%u words=%s",
		  __entry->pmu, __entry->sequence, __entry->time,
		  __print_flags(__entry->flags, "|",
				{ PMUKIT_HISI_PTT_F_OVERRUN, "OVERRUN" },
				{ PMUKIT_HISI_PTT_F_TRUNCATED, "TRUNCATED" },
				{ PMUKIT_HISI_PTT_F_RESET, "RESET" },
				{ PMUKIT_HISI_PTT_F_FILTER_GONE, "FILTER_GONE" },
				{ PMUKIT_HISI_PTT_F_AT_LEAST, "AT_LEAST" }),
		  __entry->lost, __entry->entry_bytes, __entry->entries,
		  __print_array(__get_dynamic_array(words), __entry->nr_words, 8))
);

#endif /* HISI_PTT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE hisi_ptt_trace
#include <trace/define_trace.h>
