// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "stress.h"

#define MOST_PMUS		16
#define MOST_EVENTS		32	/* limit of the open events of a worker */
#define LEAST_DATA_PAGES	8
#define STEPS_A_LOOK		64	/* steps between two reads of the clock */
#define LOOKS_A_DESCRIPTION	64	/* reads of the clock between two reads of sysfs */
#define ABSENCE_US		2000	/* between two checks for an unregistered PMU */

static const unsigned int aux_pages[] = {
	0, 1, 2, 3, 4, 5, 8, 16, 31, 32, 33, 64, 128, 256, 1024, 4096,
};

/* Sizes near the limit of a guest's memory, and one that never fits. */
static const size_t large_aux_pages[] = { 8192, 16384, 2097152 };

static const unsigned int data_pages[] = { 0, 1, 2, 3, 4, 8, 16, 64 };
static const unsigned int attr_sizes[] = {
	0, 1, 63, 64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 152, 4096, 4097,
};

/* Software events that all machines have and that cost little time */
static const __u64 software_events[] = { PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK,
					 PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_DUMMY };

#define NR_CLOCKS	2	/* the first NR_CLOCKS entries of software_events[] are clocks */

struct mapping {
	char *at;	/* NULL: none */
	size_t bytes;
	bool writable;
};

struct event {
	int fd;		/* -1: closed; mappings may still exist */
	__u64 offlines;	/* progress->offlines before it was opened */
	struct mapping data, aux;
};

struct worker {
	struct stress_random random;
	struct stress_tally *tally;
	const char *const *names;
	unsigned int nr_names;
	unsigned int nr_software_events;
	const char *terms;
	int program;	/* BPF program for samples; -1: not permitted */
	struct stress_progress *progress;
	struct stress_pmu pmus[MOST_PMUS];
	bool in_doubt[MOST_PMUS];	/* the last open failed with ENOENT or ENODEV */
	struct event events[MOST_EVENTS];
	size_t page;
};

#define pick(worker, table) \
	((table)[stress_below(&(worker)->random, ARRAY_SIZE(table))])

static void describe_one(struct worker *worker, unsigned int number)
{
	struct stress_pmu *pmu = &worker->pmus[number];

	if (!stress_pmu_read(pmu, worker->names[number]) && worker->terms)
		stress_pmu_add_event(pmu, worker->terms);
}

static void describe(struct worker *worker)
{
	for (unsigned int i = 0; i < worker->nr_names; i++)
		describe_one(worker, i);
}

static unsigned int any_pmu(struct worker *worker)
{
	return stress_below(&worker->random, worker->nr_names);
}

static struct event *any_event(struct worker *worker)
{
	return &worker->events[stress_below(&worker->random, MOST_EVENTS)];
}

/* Prefers open events, as most opens fail. */
static struct event *any_open_event(struct worker *worker)
{
	struct event *event = any_event(worker);

	for (unsigned int look = 0; look < 8 && event->fd < 0; look++)
		event = any_event(worker);
	return event;
}

static int any_fd(struct worker *worker)
{
	return stress_one_in(&worker->random, 8) ? -1 : any_open_event(worker)->fd;
}

/* Attributes */

static void set_bits(__u64 *word, const struct stress_term *term, __u64 value)
{
	__u64 mask = (term->bits == 64 ? 0 : 1ULL << term->bits) - 1;

	*word = (*word & ~(mask << term->first)) | (value & mask) << term->first;
}

/* Chooses an event of sysfs, terms with random values, or random bits. */
static void choose_config(struct worker *worker, const struct stress_pmu *pmu, __u64 config[3])
{
	struct stress_random *random = &worker->random;
	const struct stress_term *term;

	memset(config, 0, 3 * sizeof(config[0]));
	if (pmu->nr_events && !stress_one_in(random, 8))
		memcpy(config, pmu->events[stress_below(random, pmu->nr_events)],
		       3 * sizeof(config[0]));
	for (unsigned int i = 0; i < pmu->nr_terms; i++) {
		term = &pmu->terms[i];
		if (!pmu->nr_events || stress_one_in(random, 16))
			set_bits(&config[term->word], term,
				 stress_one_in(random, 2) ? 1 : stress_number(random));
	}
	if (stress_one_in(random, 16))
		config[stress_below(random, 3)] ^= 1ULL << stress_below(random, 64);
	if (stress_one_in(random, 64))
		config[stress_below(random, 3)] = stress_next(random);
}

/* Flips flags, sometimes also undefined ones. */
static void spoil_flags(struct worker *worker, struct perf_event_attr *attr)
{
	__u64 *flags = (__u64 *)((char *)attr + offsetof(struct perf_event_attr, read_format) +
				 sizeof(__u64));
	unsigned int known = stress_one_in(&worker->random, 8) ? 64 : 40;

	for (unsigned int n = stress_below(&worker->random, 3); n; n--)
		*flags ^= 1ULL << stress_below(&worker->random, known);
}

static void spoil_sampling(struct worker *worker, struct perf_event_attr *attr)
{
	struct stress_random *random = &worker->random;

	attr->sample_period = stress_number(random);
	attr->freq = stress_one_in(random, 8);
	attr->sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	if (stress_one_in(random, 4))
		attr->sample_type = stress_number(random);
	attr->wakeup_events = stress_number(random);
	attr->watermark = stress_one_in(random, 2);
}

/* Rarely used and reserved fields, given as an offset and a size if headers may lack the name. */
#define FIELD(name)	{ offsetof(struct perf_event_attr, name), \
			  sizeof(((struct perf_event_attr *)0)->name) }

static const struct field {
	unsigned int offset, bytes;
} rare_fields[] = {
	FIELD(bp_type),
	FIELD(branch_sample_type),
	FIELD(sample_regs_user),
	FIELD(sample_stack_user),
	FIELD(sample_regs_intr),
	FIELD(sample_max_stack),
	FIELD(__reserved_2),
	FIELD(aux_sample_size),
	{ PMU_ATTR_AUX_ACTION, sizeof(__u32) },
	{ PMU_ATTR_AUX_ACTION + sizeof(__u32), sizeof(__u64) },	/* sig_data */
	{ PMU_ATTR_CONFIG3 * sizeof(__u64), sizeof(__u64) },
	{ PMU_ATTR_CONFIG4 * sizeof(__u64), sizeof(__u64) },
};

/* Assumes little-endian, as on all supported architectures. */
static void spoil_field(struct worker *worker, union pmu_attr *attr)
{
	const struct field *field = &pick(worker, rare_fields);
	__u64 value = stress_number(&worker->random);

	memcpy((char *)attr + field->offset, &value, field->bytes);
}

/* Sets rare fields, and sizes that only some kernels accept. */
static void spoil_rest(struct worker *worker, union pmu_attr *wide)
{
	struct stress_random *random = &worker->random;
	struct perf_event_attr *attr = &wide->attr;

	attr->aux_watermark = stress_one_in(random, 2) ? stress_number(random) : 0;
	for (unsigned int n = stress_below(random, 3); n; n--)
		spoil_field(worker, wide);
	if (stress_one_in(random, 16))
		attr->clockid = stress_below(random, 16);
	if (stress_one_in(random, 32))
		attr->size = pick(worker, attr_sizes);
}

static void choose_attr(struct worker *worker, const struct stress_pmu *pmu, union pmu_attr *wide)
{
	struct stress_random *random = &worker->random;
	struct perf_event_attr *attr = &wide->attr;
	__u64 config[3];

	memset(wide, 0, sizeof(*wide));
	attr->size = sizeof(*wide);
	attr->type = pmu->type;
	attr->disabled = !stress_one_in(random, 4);
	choose_config(worker, pmu, config);
	attr->config = config[0];
	attr->config1 = config[1];
	attr->config2 = config[2];
	if (stress_one_in(random, 16)) {
		attr->type = PERF_TYPE_SOFTWARE;
		attr->config = software_events[stress_below(random, worker->nr_software_events)];
	}
	attr->read_format = stress_one_in(random, 2) ? 0 : stress_below(random, 64);
	if (stress_one_in(random, 2))
		spoil_sampling(worker, attr);
	if (stress_one_in(random, 4))
		spoil_flags(worker, attr);
	if (stress_one_in(random, 4))
		spoil_rest(worker, wide);
}

/* Chooses pid and cpu, mostly valid ones for the PMU. */
static void choose_place(struct worker *worker, const struct stress_pmu *pmu, int *pid, int *cpu)
{
	struct stress_random *random = &worker->random;

	*pid = pmu->cpu < 0 && stress_one_in(random, 2) ? 0 : -1;
	*cpu = pmu->cpu >= 0 ? pmu->cpu : *pid < 0 ? (int)stress_below(random, 2) : -1;
	if (stress_one_in(random, 16))
		*cpu = (int)stress_number(random);
	if (stress_one_in(random, 16))
		*pid = stress_one_in(random, 2) ? 0 : (int)stress_number(random);
}

/* Actions of a worker */

/*
 * Aborts on failure: a remaining mapping would keep its event open, perhaps the only event that the
 * PMU supports.
 */
static void unmap(struct mapping *mapping)
{
	if (mapping->at && munmap(mapping->at, mapping->bytes))
		abort();
	memset(mapping, 0, sizeof(*mapping));
}

static void drop(struct worker *worker, struct event *event)
{
	bool mappings_first = stress_one_in(&worker->random, 2);

	for (unsigned int pass = 0; pass < 2; pass++) {
		if (mappings_first == !pass) {
			unmap(&event->aux);
			unmap(&event->data);
		} else if (event->fd >= 0) {
			close(event->fd);
			event->fd = -1;
		}
	}
}

/* Returns a slot for an event; a free one if a few attempts find one. */
static struct event *a_place(struct worker *worker)
{
	struct event *event = any_event(worker);

	for (unsigned int look = 0; look < 4 && event->fd >= 0; look++)
		event = any_event(worker);
	return event;
}

static void count_opening(struct worker *worker, bool opened)
{
	if (!opened) {
		worker->tally->refused++;
		return;
	}
	worker->tally->opens++;
	__atomic_fetch_add(&worker->progress->opened, 1, __ATOMIC_RELAXED);
}

/* Maps the smallest AUX area that the PMU accepts; most PMUs accept none. */
static bool map_least_aux(struct worker *worker, struct event *event)
{
	struct perf_event_mmap_page *page = (void *)event->data.at;

	page->aux_offset = event->data.bytes;
	for (unsigned int i = 0; i < ARRAY_SIZE(aux_pages) && !event->aux.at; i++) {
		size_t bytes = aux_pages[i] * worker->page;
		void *at;

		page->aux_size = bytes;
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event->fd,
			  event->data.bytes);
		if (at != MAP_FAILED)
			event->aux = (struct mapping){ at, bytes, true };
	}
	worker->tally->aux_maps += !!event->aux.at;
	return event->aux.at;
}

/*
 * Starts an event with an AUX area, as a recording program does. Closes the event if the PMU
 * accepts no AUX area, because an open event may block another one of the PMU.
 */
static void begin_with_aux(struct worker *worker, const struct stress_pmu *pmu, struct event *event)
{
	struct perf_event_attr attr = stress_pmu_first_event(pmu);
	size_t bytes = (1 + LEAST_DATA_PAGES) * worker->page;
	void *at;

	attr.size = sizeof(attr);
	attr.sample_type = PERF_SAMPLE_RAW;
	attr.sample_period = 1;
	event->offlines = __atomic_load_n(&worker->progress->offlines, __ATOMIC_SEQ_CST);
	event->fd = syscall(SYS_perf_event_open, &attr, -1, stress_pmu_some_cpu(pmu), -1,
			    PERF_FLAG_FD_CLOEXEC);
	count_opening(worker, event->fd >= 0);
	if (event->fd < 0)
		return;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event->fd, 0);
	if (at != MAP_FAILED) {
		event->data = (struct mapping){ at, bytes, true };
		worker->tally->data_maps++;
	}
	if (at == MAP_FAILED || !map_least_aux(worker, event) ||
	    ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0))
		drop(worker, event);
}

/*
 * Returns true if the PMU is registered. A PMU whose device is removed and added repeatedly is
 * registered only for short times, perhaps with a new type number each time. When the PMU is back,
 * the worker starts an event with an AUX area, before the next removal. While the PMU is not
 * registered, a pause leaves the CPU to the driver.
 */
static bool is_there(struct worker *worker, unsigned int number)
{
	struct stress_pmu *pmu = &worker->pmus[number];
	struct event *event;

	if (pmu->type >= 0 && !worker->in_doubt[number])
		return true;
	worker->in_doubt[number] = false;
	if (pmu_type(worker->names[number]) != pmu->type)
		describe_one(worker, number);
	else if (pmu->type >= 0)
		return true;
	if (pmu->type < 0) {
		usleep(ABSENCE_US);
		return false;
	}
	event = a_place(worker);
	drop(worker, event);
	begin_with_aux(worker, pmu, event);
	return true;
}

/* Returns an open event as leader of a new one, or NULL. */
static struct event *a_leader(struct worker *worker)
{
	struct event *leader = stress_one_in(&worker->random, 3) ? any_open_event(worker) : NULL;

	return leader && leader->fd >= 0 ? leader : NULL;
}

/*
 * Closes a software event that joined a leader whose CPU may have been offline. perf takes such a
 * leader out of its context, accepts siblings for it nevertheless, and does not find them when the
 * leader is closed: they would use its freed memory (pmukit_perf_bugs.c, 9). The drivers
 * themselves reject such a leader.
 */
static void leave_a_leader_that_left(struct worker *worker, struct event *event,
				     const struct event *leader)
{
	if (leader->offlines != __atomic_load_n(&worker->progress->offlines, __ATOMIC_SEQ_CST))
		drop(worker, event);
}

static void open_one(struct worker *worker)
{
	unsigned int number = any_pmu(worker);
	const struct stress_pmu *pmu = &worker->pmus[number];
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;
	struct event *event, *leader;
	int pid, cpu;
	union pmu_attr attr;

	if (!is_there(worker, number))
		return;
	event = a_place(worker);
	drop(worker, event);
	choose_attr(worker, pmu, &attr);
	choose_place(worker, pmu, &pid, &cpu);
	leader = a_leader(worker);
	if (stress_one_in(&worker->random, 32))
		flags ^= 1UL << stress_below(&worker->random, 5);
	event->offlines = __atomic_load_n(&worker->progress->offlines, __ATOMIC_SEQ_CST);
	event->fd = syscall(SYS_perf_event_open, &attr, pid, cpu, leader ? leader->fd : -1, flags);
	worker->in_doubt[number] = event->fd < 0 && (errno == ENOENT || errno == ENODEV);
	if (attr.attr.type != PERF_TYPE_SOFTWARE)
		count_opening(worker, event->fd >= 0);
	else if (leader && event->fd >= 0)
		leave_a_leader_that_left(worker, event, leader);
}

static void drop_one(struct worker *worker)
{
	drop(worker, any_event(worker));
}

/* Sometimes tries a private mapping, which must fail. */
static void *map_buffer(struct worker *worker, const struct event *event, size_t bytes,
			bool writable, size_t offset)
{
	int kind = stress_one_in(&worker->random, 16) ? MAP_PRIVATE : MAP_SHARED;

	return mmap(NULL, bytes, PROT_READ | (writable ? PROT_WRITE : 0), kind, event->fd, offset);
}

static void map_data(struct worker *worker)
{
	struct event *event = any_open_event(worker);
	bool writable = !stress_one_in(&worker->random, 8);
	size_t bytes = (1 + pick(worker, data_pages)) * worker->page;
	void *at;

	if (event->fd < 0 || event->data.at)
		return;
	at = map_buffer(worker, event, bytes, writable, 0);
	if (at == MAP_FAILED)
		return;
	event->data = (struct mapping){ at, bytes, writable };
	worker->tally->data_maps++;
}

static void map_aux(struct worker *worker)
{
	struct event *event = any_open_event(worker);
	bool writable = !stress_one_in(&worker->random, 4);
	size_t bytes = pick(worker, aux_pages) * worker->page, offset = event->data.bytes;
	struct perf_event_mmap_page *page = (void *)event->data.at;
	void *at;

	if (event->fd < 0 || !event->data.writable || event->aux.at)
		return;
	if (stress_one_in(&worker->random, 32))
		bytes = pick(worker, large_aux_pages) * worker->page;
	if (stress_one_in(&worker->random, 16))
		offset += worker->page;
	page->aux_offset = offset;
	page->aux_size = bytes;
	if (stress_one_in(&worker->random, 32))
		page->aux_size = stress_number(&worker->random);
	at = map_buffer(worker, event, bytes, writable, offset);
	if (at == MAP_FAILED)
		return;
	event->aux = (struct mapping){ at, bytes, writable };
	worker->tally->aux_maps++;
}

static void drop_all(struct worker *worker)
{
	for (unsigned int i = 0; i < MOST_EVENTS; i++)
		drop(worker, &worker->events[i]);
}

/*
 * Closes all events and starts one with an AUX area. If the worker did not do this, the first event
 * of a PMU that supports one event at a time would stay open and block the valid use of the PMU.
 */
static void begin_anew(struct worker *worker)
{
	const struct stress_pmu *pmu = &worker->pmus[any_pmu(worker)];

	drop_all(worker);
	if (pmu->type >= 0)
		begin_with_aux(worker, pmu, any_event(worker));
}

static void unmap_one(struct worker *worker)
{
	struct event *event = any_open_event(worker);

	unmap(stress_one_in(&worker->random, 2) ? &event->aux : &event->data);
}

/* Moves a mapping, perhaps with a smaller size; a larger size must fail. */
static void move_mapping(struct worker *worker, struct mapping *mapping)
{
	size_t sizes[] = { mapping->bytes, mapping->bytes, mapping->bytes - worker->page,
			   2 * mapping->bytes };
	size_t bytes = pick(worker, sizes);
	void *place = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (place == MAP_FAILED)
		return;
	if (mremap(mapping->at, mapping->bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) ==
	    MAP_FAILED) {
		munmap(place, bytes);
		return;
	}
	mapping->at = place;
	mapping->bytes = bytes;
}

/* Changes a mapping, whole or in part, while its event may run. */
static void bend_mapping(struct worker *worker)
{
	struct event *event = any_open_event(worker);
	struct mapping *mapping = stress_one_in(&worker->random, 2) ? &event->aux : &event->data;
	size_t half = mapping->bytes / 2 & ~(worker->page - 1);

	if (!mapping->at || !half)
		return;
	switch (stress_below(&worker->random, 4)) {
	case 0:
		madvise(mapping->at, mapping->bytes, MADV_DONTNEED);
		break;
	case 1:
		/* Kernels since August 2025 reject an unmap of a part of a ring. */
		if (!munmap(mapping->at + half, mapping->bytes - half))
			mapping->bytes = half;
		break;
	case 2:
		move_mapping(worker, mapping);
		break;
	default:
		mprotect(mapping->at, mapping->bytes, PROT_READ);
		mapping->writable = false;
	}
}

/* Corrupts a position in the shared page, which the kernel must not trust. */
static void scribble(struct worker *worker)
{
	struct event *event = any_open_event(worker);
	struct perf_event_mmap_page *page = (void *)event->data.at;
	__u64 *words[] = { &page->data_tail, &page->data_head, &page->aux_tail, &page->aux_head,
			   &page->aux_offset, &page->aux_size };

	if (!event->data.writable)
		return;
	*pick(worker, words) = stress_number(&worker->random);
}

/* Consumes all data, as a correct reader does. */
static void take_all(struct worker *worker)
{
	struct event *event = any_open_event(worker);
	struct perf_event_mmap_page *page = (void *)event->data.at;

	if (!event->data.writable)
		return;
	page->data_tail = page->data_head;
	page->aux_tail = page->aux_head;
}

static void read_one(struct worker *worker)
{
	static const size_t sizes[] = { 0, 1, 8, 24, 64, 4096 };
	char bytes[4096];
	int fd = any_fd(worker);

	if (fd >= 0 && read(fd, bytes, pick(worker, sizes)) > 0)
		worker->tally->reads++;
}

static void poll_one(struct worker *worker)
{
	struct pollfd wanted = { .fd = any_fd(worker), .events = POLLIN };

	poll(&wanted, 1, 0);
}

static void switch_one(struct worker *worker)
{
	static const unsigned long requests[] = { PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE };
	int fd = any_fd(worker);

	if (fd >= 0 && !ioctl(fd, pick(worker, requests),
			      stress_one_in(&worker->random, 4) ? PERF_IOC_FLAG_GROUP : 0))
		worker->tally->ioctls++;
}

/* Sets a filter: for tracepoints, for address ranges, or an invalid one. */
static int set_filter(struct worker *worker, int fd)
{
	static const char *const filters[] = {
		"", "start 0", "stop 0x1000", "filter 0/4096", "filter 0x1000/0xfff@/proc/self/exe",
		"tracestop 0/18446744073709551615", "start 0, stop 1", "start 0@/", "type == 1",
		"common_pid != 0", "((((", "common_pid == 0 ||", "\xff\n",
	};
	char many[2 * 4096];

	if (!stress_one_in(&worker->random, 16))
		return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, pick(worker, filters));
	memset(many, '(', sizeof(many) - 1);
	many[stress_below(&worker->random, sizeof(many))] = '\0';
	many[sizeof(many) - 1] = '\0';
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, many);
}

/* Loads a BPF program that either drops all samples or keeps all, chosen at random. */
static int load_program(struct worker *worker)
{
	const struct bpf_insn instructions[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0,
		  .imm = stress_below(&worker->random, 2) },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insn_cnt = ARRAY_SIZE(instructions),
		.insns = (unsigned long)instructions,
		.license = (unsigned long)"GPL",
	};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

#define MOST_PROGRAMS	64	/* size of the array in a query for an event's programs */

static int query_programs(struct worker *worker, int fd)
{
	struct {
		struct perf_event_query_bpf query;
		__u32 ids[MOST_PROGRAMS];
	} of = { 0 };
	unsigned int ids = stress_below(&worker->random, MOST_PROGRAMS + 1);

	of.query.ids_len = stress_one_in(&worker->random, 8) ? ~0U : ids;
	return ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, &of);
}

static void ask_one(struct worker *worker)
{
	static const unsigned long plain[] = { PERF_EVENT_IOC_REFRESH, PERF_EVENT_IOC_RESET,
					       PERF_EVENT_IOC_PAUSE_OUTPUT,
					       PERF_EVENT_IOC_SET_BPF };
	union pmu_attr attr;
	int fd = any_fd(worker), err = -1;
	__u64 number = stress_number(&worker->random);

	if (fd < 0)
		return;
	switch (stress_below(&worker->random, 8)) {
	case 0:
		err = ioctl(fd, PERF_EVENT_IOC_PERIOD, &number);
		break;
	case 1:
		err = ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, any_fd(worker));
		break;
	case 2:
		err = set_filter(worker, fd);
		break;
	case 3:
		choose_attr(worker, &worker->pmus[any_pmu(worker)], &attr);
		err = ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr);
		break;
	case 4:
		err = ioctl(fd, PERF_EVENT_IOC_ID, &number);
		break;
	case 5:
		err = ioctl(fd, PERF_EVENT_IOC_SET_BPF, worker->program);
		break;
	case 6:
		err = query_programs(worker, fd);
		break;
	default:
		err = ioctl(fd, pick(worker, plain),
			    (unsigned long)stress_below(&worker->random, 3));
	}
	if (!err)
		worker->tally->ioctls++;
}

/* Forks a child that inherits the events, closes one and exits a little later. */
static void fork_one(struct worker *worker)
{
	pid_t child = fork();

	if (!child) {
		drop_one(worker);
		usleep(stress_below(&worker->random, 2000));
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

static void wander(struct worker *worker)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(stress_below(&worker->random, 2), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void switch_all_of_task(struct worker *worker)
{
	prctl(stress_one_in(&worker->random, 2) ? PR_TASK_PERF_EVENTS_DISABLE :
						  PR_TASK_PERF_EVENTS_ENABLE);
}

static void rest(struct worker *worker)
{
	usleep(stress_below(&worker->random, 3000));
}

static const struct {
	unsigned int share;
	void (*act)(struct worker *worker);
} acts[] = {
	{ 20, open_one },	{ 6, drop_one },	{ 10, map_data },	{ 10, map_aux },
	{ 4, unmap_one },	{ 2, bend_mapping },	{ 6, scribble },	{ 6, take_all },
	{ 8, read_one },	{ 2, poll_one },	{ 16, switch_one },	{ 6, ask_one },
	{ 1, fork_one },	{ 1, wander },		{ 1, switch_all_of_task }, { 1, rest },
	{ 1, begin_anew },
};

#define ACTS	ARRAY_SIZE(acts)

static void step(struct worker *worker)
{
	unsigned int shares = 0, at;

	for (unsigned int i = 0; i < ACTS; i++)
		shares += acts[i].share;
	at = stress_below(&worker->random, shares);
	for (unsigned int i = 0; i < ACTS; i++) {
		if (at < acts[i].share) {
			acts[i].act(worker);
			break;
		}
		at -= acts[i].share;
	}
	worker->tally->steps++;
}

/*
 * Linux 6.1 hangs when a PMU is unregistered while a task opens a software event other than a
 * clock: perf_pmu_unregister() waits for openers with pmus_lock held, and perf_swevent_init() waits
 * for that lock. A driver cannot prevent that (pmukit_perf_unregister()), so the test uses only
 * clocks on 6.1.
 */
static unsigned int software_events_of_kernel(void)
{
	struct utsname name;

	if (!uname(&name) && !strncmp(name.release, "6.1.", 4))
		return NR_CLOCKS;
	return ARRAY_SIZE(software_events);
}

void stress_events(const char *const *names, unsigned int nr_names, const char *terms, __u64 seed,
		   long long until_ms, struct stress_tally *tally,
		   struct stress_progress *progress)
{
	struct worker worker = {
		.random = stress_seeded(seed),
		.tally = tally,
		.names = names,
		.terms = terms,
		.progress = progress,
		.nr_names = nr_names < MOST_PMUS ? nr_names : MOST_PMUS,
		.page = sysconf(_SC_PAGESIZE),
		.nr_software_events = software_events_of_kernel(),
	};

	for (unsigned int i = 0; i < MOST_EVENTS; i++)
		worker.events[i].fd = -1;
	worker.program = load_program(&worker);
	describe(&worker);
	for (unsigned int i = 0; i < worker.nr_names; i++)
		if (worker.pmus[i].type >= 0)
			begin_with_aux(&worker, &worker.pmus[i], &worker.events[i]);
	__atomic_store_n(&tally->begun, true, __ATOMIC_RELEASE);
	for (unsigned int look = 1; now_ms() < until_ms; look++) {
		if (look % LOOKS_A_DESCRIPTION == 0)
			describe(&worker);
		for (unsigned int i = 0; i < STEPS_A_LOOK; i++)
			step(&worker);
	}
	drop_all(&worker);
}

/*
 * When the first of these events is opened, and when the last one is closed, perf patches the code
 * of its static keys (perf_sched_events, perf_swevent_enabled). An emulated CPU was seen to execute
 * the breakpoint of a patch that was complete, which crashes the kernel. This is a fault of the
 * emulation, so the test avoids such patches.
 */
bool stress_hold_static_keys(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr) };

	for (unsigned int i = 0; i < ARRAY_SIZE(software_events); i++) {
		attr.config = software_events[i];
		if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0)
			return false;
	}
	return true;
}
