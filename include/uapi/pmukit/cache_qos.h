/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * cache_qos: events, status flags, and the records of cache_qos_aux. A record has 64 bytes: eight
 * little-endian 64-bit words. The AUX area has one record after the other; each sample has one
 * record in its raw payload. Documentation/devices/cache_qos.rst has a drawing.
 *
 * Word 0 distinguishes a header from a reading: in a header it is PMUKIT_CACHE_QOS_MARK, which is
 * not a valid time. A header precedes the first snapshot of an event and every
 * PMUKIT_CACHE_QOS_HEADER_PASSES-th snapshot after it, so that a part of a recording has a header,
 * too. All records are numbered in one sequence: a gap in the sequence means lost records.
 *
 *   header                                         reading
 *   word 0  PMUKIT_CACHE_QOS_MARK                  time
 *   word 1  sequence                               sequence
 *   word 2  version, bytes, domain, backend        monitor, domain, event, kind
 *   word 3  scale: bytes per counter unit          generation, status
 *   word 4  time of the event's first header       raw value in counter units
 *   word 5  number of RMIDs, width of counters     bytes
 *   word 6  size of the L3 in bytes                error bound in bytes
 *   word 7  records lost since the event opened    age of the oldest part of the value, in ns
 *
 * A name record, with PMUKIT_CACHE_QOS_NAME_MARK in word 0, describes the target of a monitor for
 * the readings that follow. All names are written after a header. A name is also written when its
 * monitor is new and when the name changes, for example because a process runs another program. A
 * long name is split into parts, one record after the other. A name of the next life without text
 * means that the monitor has ended.
 *
 *   word 0  PMUKIT_CACHE_QOS_NAME_MARK
 *   word 1  sequence
 *   word 2  monitor, domain, kind, as in a reading
 *   word 3  id of the process, thread or cgroup; 0: none
 *   word 4  life, part, parts
 *   word 5  PMUKIT_CACHE_QOS_NAME_PART_BYTES of text; a shorter text ends with a 0. For tasks
 *           the comm or "share N", for CPUs their list, for a group or cgroup its path (only the
 *           end of a path that is too long)
 *
 * Times are nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef _UAPI_PMUKIT_CACHE_QOS_H
#define _UAPI_PMUKIT_CACHE_QOS_H

#include <linux/types.h>

#include <pmukit/raw.h>

enum pmukit_cache_qos_header_word {
	PMUKIT_CACHE_QOS_H_MARK,
	PMUKIT_CACHE_QOS_H_SEQUENCE,
	PMUKIT_CACHE_QOS_H_FORMAT,
	PMUKIT_CACHE_QOS_H_SCALE,
	PMUKIT_CACHE_QOS_H_START,
	PMUKIT_CACHE_QOS_H_HARDWARE,
	PMUKIT_CACHE_QOS_H_CACHE_BYTES,
	PMUKIT_CACHE_QOS_H_LOST,
};

enum pmukit_cache_qos_reading_word {
	PMUKIT_CACHE_QOS_R_TIME,
	PMUKIT_CACHE_QOS_R_SEQUENCE,
	PMUKIT_CACHE_QOS_R_WHAT,
	PMUKIT_CACHE_QOS_R_STATE,
	PMUKIT_CACHE_QOS_R_RAW,
	PMUKIT_CACHE_QOS_R_BYTES,
	PMUKIT_CACHE_QOS_R_BOUND,
	PMUKIT_CACHE_QOS_R_AGE,
};

enum pmukit_cache_qos_name_word {
	PMUKIT_CACHE_QOS_N_MARK,
	PMUKIT_CACHE_QOS_N_SEQUENCE,
	PMUKIT_CACHE_QOS_N_WHAT,
	PMUKIT_CACHE_QOS_N_ID,
	PMUKIT_CACHE_QOS_N_LIFE,
	PMUKIT_CACHE_QOS_N_TEXT,
};

#define PMUKIT_CACHE_QOS_WORDS			8
#define PMUKIT_CACHE_QOS_RECORD_BYTES		64
#define PMUKIT_CACHE_QOS_HEADER_PASSES		64

#define PMUKIT_CACHE_QOS_MARK			0xf1534f5148434143ULL	/* bytes: "CACHQOS", 0xf1 */
#define PMUKIT_CACHE_QOS_NAME_MARK		0xf14d414e48434143ULL	/* bytes: "CACHNAM", 0xf1 */
#define PMUKIT_CACHE_QOS_NAME_PART_BYTES	24
#define PMUKIT_CACHE_QOS_NAME_PARTS		10	/* maximum number of parts */
#define PMUKIT_CACHE_QOS_VERSION		1

/* Word 2 of a header */
#define PMUKIT_CACHE_QOS_FORMAT_VERSION_SHIFT	0	/* 16 bits: PMUKIT_CACHE_QOS_VERSION */
#define PMUKIT_CACHE_QOS_FORMAT_BYTES_SHIFT	16	/* 16 bits: bytes of a record */
#define PMUKIT_CACHE_QOS_FORMAT_DOMAIN_SHIFT	32	/* 16 bits: domain of the readings */
#define PMUKIT_CACHE_QOS_FORMAT_BACKEND_SHIFT	48	/* 8 bits: PMUKIT_CACHE_QOS_BACKEND_* */

/* Word 5 of a header */
#define PMUKIT_CACHE_QOS_HARDWARE_RMIDS_SHIFT	0	/* 32 bits: number of RMIDs */
#define PMUKIT_CACHE_QOS_HARDWARE_WIDTH_SHIFT	32	/* 8 bits: bits of a counter */

/* Word 2 of a reading */
#define PMUKIT_CACHE_QOS_WHAT_MONITOR_SHIFT	0	/* 32 bits; 0: the whole machine */
#define PMUKIT_CACHE_QOS_WHAT_DOMAIN_SHIFT	32	/* 16 bits: id of the domain */
#define PMUKIT_CACHE_QOS_WHAT_EVENT_SHIFT	48	/* 8 bits: PMUKIT_CACHE_QOS_EVENT_* */
#define PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT	56	/* 8 bits: PMUKIT_CACHE_QOS_KIND_* */

/* Word 3 of a reading */
#define PMUKIT_CACHE_QOS_STATE_GENERATION_SHIFT	0	/* 32 bits: changes if the RMIDs change */
#define PMUKIT_CACHE_QOS_STATE_STATUS_SHIFT	32	/* 32 bits: PMUKIT_CACHE_QOS_S_* */

/* Word 4 of a name record */
#define PMUKIT_CACHE_QOS_LIFE_NUMBER_SHIFT	0	/* 32 bits: allocations of the number */
#define PMUKIT_CACHE_QOS_LIFE_PART_SHIFT	32	/* 8 bits: index of the part, from 0 */
#define PMUKIT_CACHE_QOS_LIFE_PARTS_SHIFT	40	/* 8 bits: number of parts */

enum pmukit_cache_qos_backend_kind {
	PMUKIT_CACHE_QOS_BACKEND_OTHER,
	PMUKIT_CACHE_QOS_BACKEND_MSR,
	PMUKIT_CACHE_QOS_BACKEND_SIM,
	PMUKIT_CACHE_QOS_BACKEND_RESCTRL,	/* not by the driver: files of resctrl */
};

/* The event term of cache_qos */
enum pmukit_cache_qos_event {
	PMUKIT_CACHE_QOS_EVENT_OCCUPANCY = 1,	/* bytes in the L3 now */
	PMUKIT_CACHE_QOS_EVENT_TOTAL,		/* bytes moved between L3 and memory */
	PMUKIT_CACHE_QOS_EVENT_LOCAL,		/* part of TOTAL: memory of the L3's own node */
	PMUKIT_CACHE_QOS_EVENT_REMOTE,		/* TOTAL - LOCAL */
};

/* Target of a monitor */
enum pmukit_cache_qos_kind {
	PMUKIT_CACHE_QOS_KIND_MACHINE,
	PMUKIT_CACHE_QOS_KIND_GROUP,		/* group of configfs or resctrl */
	PMUKIT_CACHE_QOS_KIND_TASK,
	PMUKIT_CACHE_QOS_KIND_CPU,
	PMUKIT_CACHE_QOS_KIND_CGROUP,
};

/*
 * Status of a value. PARTIAL, DIRTY, UNCERTAIN, GAP and SUSPECT persist until the monitor ends; the
 * others describe the newest snapshot.
 */
#define PMUKIT_CACHE_QOS_S_PARTIAL	(1U << 0)	/* RMIDs ran out: a part is not counted */
#define PMUKIT_CACHE_QOS_S_DIRTY	(1U << 1)	/* an RMID was used again too early */
#define PMUKIT_CACHE_QOS_S_UNAVAILABLE	(1U << 2)	/* hardware has no value in some L3 */
#define PMUKIT_CACHE_QOS_S_ERROR	(1U << 3)	/* hardware returned an error in some L3 */
#define PMUKIT_CACHE_QOS_S_UNREAD	(1U << 4)	/* not read since the RMID was allocated */
#define PMUKIT_CACHE_QOS_S_YIELDED	(1U << 5)	/* frozen: other software uses the MSRs */
#define PMUKIT_CACHE_QOS_S_UNCERTAIN	(1U << 6)	/* lower bound: counter may have wrapped */
#define PMUKIT_CACHE_QOS_S_GAP		(1U << 7)	/* too low: some traffic was missed */
#define PMUKIT_CACHE_QOS_S_SUSPECT	(1U << 8)	/* other software changed a CPU's RMID */
#define PMUKIT_CACHE_QOS_S_UNSETTLED	(1U << 9)	/* lines filled without an RMID are left */

/* The tag of a sample's raw payload, see <pmukit/raw.h> */
#define PMUKIT_RAW_TAG_CACHE_QOS	0x534f5143U	/* "CQOS" as bytes */

#endif /* _UAPI_PMUKIT_CACHE_QOS_H */
