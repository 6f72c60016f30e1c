/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The raw payload of a sample (PERF_SAMPLE_RAW): 8 bytes that perf overwrites, a tag that
 * identifies the driver, then the 64-bit words of the record. perf writes a 32-bit size before this
 * header. So the header has 12 bytes: the words are then 8-byte aligned in the stream.
 */
#ifndef _UAPI_PMUKIT_RAW_H
#define _UAPI_PMUKIT_RAW_H

#include <linux/types.h>

struct pmukit_raw_header {
	__u8 reserved[8];		/* struct trace_entry, filled by perf */
	__u32 tag;			/* PMUKIT_RAW_TAG_* */
};

#endif /* _UAPI_PMUKIT_RAW_H */
