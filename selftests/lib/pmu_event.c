// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"
#include "pmu_event.h"

#define MOST_RECORD_BYTES	65536	/* limit of the size in a record header */

int pmu_set_term(const char *pmu, struct perf_event_attr *attr, const char *term, __u64 value)
{
	static const struct {
		const char *name;
		size_t offset;
	} words[] = {
		{ "config", offsetof(struct perf_event_attr, config) },
		{ "config1", offsetof(struct perf_event_attr, config1) },
		{ "config2", offsetof(struct perf_event_attr, config2) },
	};
	unsigned int first, last;
	char path[256], text[64], name[16];
	__u64 mask, *word;
	int err, got;

	snprintf(path, sizeof(path), PMU_SYSFS "/%s/format/%s", pmu, term);
	err = read_text(path, text, sizeof(text));
	if (err)
		return err;
	got = sscanf(text, "%15[a-z0-9]:%u-%u", name, &first, &last);
	if (got == 2)
		last = first;
	if (got < 2 || last > 63 || first > last)
		return -EINVAL;
	mask = last - first == 63 ? ~0ULL : (1ULL << (last - first + 1)) - 1;
	if (value & ~mask)
		return -ERANGE;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(name, words[i].name))
			continue;
		word = (__u64 *)((char *)attr + words[i].offset);
		*word = (*word & ~(mask << first)) | value << first;
		return 0;
	}
	return -EINVAL;
}

static int open_with(struct pmu_event *event, struct perf_event_attr *attr, int pid, int cpu,
		     int leader, unsigned long flags)
{
	memset(event, 0, sizeof(*event));
	attr->size = sizeof(*attr);
	event->fd = syscall(SYS_perf_event_open, attr, pid, cpu, leader,
			    flags | PERF_FLAG_FD_CLOEXEC);
	return event->fd < 0 ? -errno : 0;
}

int pmu_event_open_beside(struct pmu_event *event, struct perf_event_attr *attr, int pid, int cpu,
			  int leader)
{
	return open_with(event, attr, pid, cpu, leader, 0);
}

int pmu_event_open_cgroup(struct pmu_event *event, struct perf_event_attr *attr, const char *folder,
			  int cpu)
{
	int fd = open(folder, O_RDONLY | O_CLOEXEC);
	int err = -errno;

	if (fd < 0) {
		event->fd = -1;
		return err;
	}
	err = open_with(event, attr, fd, cpu, -1, PERF_FLAG_PID_CGROUP);
	close(fd);
	return err;
}

int pmu_event_open(struct pmu_event *event, struct perf_event_attr *attr, int pid, int cpu)
{
	return pmu_event_open_beside(event, attr, pid, cpu, -1);
}

/* A kernel that rejects attr.size with -E2BIG stores the size that it supports in attr.size. */
static bool refuses_bit(const struct perf_event_attr *attr, int pid, int cpu, unsigned int word,
			unsigned int bit)
{
	union pmu_attr wide = { .attr = *attr };
	int fd;

	wide.attr.size = PMU_ATTR_WORDS * sizeof(wide.words[0]);
	wide.words[word] |= 1ULL << bit;
	fd = syscall(SYS_perf_event_open, &wide, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return false;
	}
	return errno == EINVAL ||
	       (errno == E2BIG && wide.attr.size <= word * sizeof(wide.words[0]));
}

bool pmu_refuses_extra_config(const struct perf_event_attr *attr, int pid, int cpu)
{
	for (unsigned int word = PMU_ATTR_CONFIG3; word <= PMU_ATTR_CONFIG4; word++)
		if (!refuses_bit(attr, pid, cpu, word, 0) || !refuses_bit(attr, pid, cpu, word, 63))
			return false;
	return true;
}

/* Opens the event with the bits that are set in @attr or in @more. */
static int open_with_more(const struct perf_event_attr *attr, const struct perf_event_attr *more,
			  int pid, int cpu)
{
	union pmu_attr wide = { .attr = *attr };
	const union pmu_attr extra = { .attr = *more };
	struct pmu_event event;
	int err;

	for (unsigned int word = 0; word < PMU_ATTR_WORDS; word++)
		wide.words[word] |= extra.words[word];
	err = pmu_event_open(&event, &wide.attr, pid, cpu);
	pmu_event_close(&event);
	return err;
}

static bool refuses_each(const struct perf_event_attr *attr, int pid, int cpu,
			 const struct perf_event_attr *more, unsigned int nr)
{
	static const struct perf_event_attr nothing;
	int err = open_with_more(attr, &nothing, pid, cpu);
	bool good = !err;

	if (err)
		ksft_print_msg("cannot be opened: %s\n", strerror(-err));
	for (unsigned int i = 0; i < nr; i++) {
		err = open_with_more(attr, &more[i], pid, cpu);
		if (err != -EINVAL)
			ksft_print_msg("number %u: %s\n", i, strerror(-err));
		good &= err == -EINVAL;
	}
	return good;
}

bool pmu_refuses_exclusions(const struct perf_event_attr *attr, int pid, int cpu)
{
	static const struct perf_event_attr exclusions[] = {
		{ .exclude_user = 1 }, { .exclude_kernel = 1 }, { .exclude_hv = 1 },
		{ .exclude_idle = 1 }, { .exclude_host = 1 },	{ .exclude_guest = 1 },
	};

	return refuses_each(attr, pid, cpu, exclusions, ARRAY_SIZE(exclusions));
}

/* perf itself rejects one of these fields without the other, so both are set. */
static const struct perf_event_attr branches = {
	.sample_type = PERF_SAMPLE_BRANCH_STACK,
	.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER,
};

bool pmu_refuses_branches(const struct perf_event_attr *attr, int pid, int cpu)
{
	return refuses_each(attr, pid, cpu, &branches, 1);
}

bool pmu_refuses_samples_of_programs(const struct perf_event_attr *attr, int pid, int cpu)
{
	static const struct perf_event_attr programs[] = {
		{ .sample_type = PERF_SAMPLE_REGS_USER, .sample_regs_user = 1 },
		{ .sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_CALLCHAIN, .sample_regs_user = 1 },
		{ .sample_type = PERF_SAMPLE_REGS_INTR, .sample_regs_intr = 1 },
		{ .sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 1024 },
		{ .precise_ip = 1 },
	};

	return refuses_each(attr, pid, cpu, programs, ARRAY_SIZE(programs)) &&
	       pmu_refuses_branches(attr, pid, cpu);
}

static void hold(int (*start)(const void *data), const void *data, int result)
{
	int err = start(data);

	if (write(result, &err, sizeof(err)) == sizeof(err) && !err)
		pause();
	_exit(1);
}

int pmu_fork_holder(int (*start)(const void *data), const void *data)
{
	int result[2], err = -EPIPE;
	pid_t holder;

	if (pipe(result))
		return -errno;
	holder = fork();
	if (!holder)
		hold(start, data, result[1]);
	close(result[1]);
	if (holder < 0 || read(result[0], &err, sizeof(err)) != sizeof(err))
		err = -EPIPE;
	close(result[0]);
	if (err && holder > 0)
		waitpid(holder, NULL, 0);
	return err ? err : holder;
}

int pmu_event_map(struct pmu_event *event, unsigned int data_pages, unsigned int aux_pages)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *map;

	map = mmap(NULL, (1 + data_pages) * page, PROT_READ | PROT_WRITE, MAP_SHARED, event->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	event->page = map;
	event->data_bytes = data_pages * page;
	return aux_pages ? pmu_event_map_aux(event, event, aux_pages) : 0;
}

int pmu_event_map_aux(struct pmu_event *ring, const struct pmu_event *event, unsigned int aux_pages)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *map;

	ring->page->aux_offset = ring->data_bytes + page;
	ring->page->aux_size = aux_pages * page;
	map = mmap(NULL, aux_pages * page, PROT_READ | PROT_WRITE, MAP_SHARED, event->fd,
		   ring->page->aux_offset);
	if (map == MAP_FAILED)
		return -errno;
	ring->aux = map;
	ring->aux_bytes = aux_pages * page;
	return 0;
}

int pmu_event_open_ring(struct pmu_event *ring, int cpu, unsigned int data_pages)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};

	return pmu_event_open(ring, &attr, -1, cpu) ?: pmu_event_map(ring, data_pages, 0);
}

int pmu_event_redirect(struct pmu_event *event, const struct pmu_event *ring)
{
	return ioctl(event->fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) ? -errno : 0;
}

int pmu_event_enable(struct pmu_event *event)
{
	return ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

int pmu_event_disable(struct pmu_event *event)
{
	return ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0) ? -errno : 0;
}

void pmu_event_close(struct pmu_event *event)
{
	if (event->aux)
		munmap(event->aux, event->aux_bytes);
	if (event->page)
		munmap(event->page, event->data_bytes + sysconf(_SC_PAGESIZE));
	if (event->fd >= 0)
		close(event->fd);
	memset(event, 0, sizeof(*event));
	event->fd = -1;
}

/* Copies @size bytes from position @at of a ring. @ring_bytes is a power of two. */
static void copy_from_ring(void *to, const char *ring, size_t ring_bytes, __u64 at, size_t size)
{
	size_t offset = at & (ring_bytes - 1);
	size_t first = ring_bytes - offset < size ? ring_bytes - offset : size;

	memcpy(to, ring + offset, first);
	memcpy((char *)to + first, ring, size - first);
}

int pmu_event_record(struct pmu_event *event, void *record, size_t size)
{
	const char *ring = (const char *)event->page + sysconf(_SC_PAGESIZE);
	__u64 head = __atomic_load_n(&event->page->data_head, __ATOMIC_ACQUIRE);
	__u64 tail = event->page->data_tail;
	struct perf_event_header header;

	if (head == tail)
		return 0;
	copy_from_ring(&header, ring, event->data_bytes, tail, sizeof(header));
	if (header.size < sizeof(header) || header.size > head - tail)
		return -EBADMSG;
	if (header.size > size)
		return -EMSGSIZE;
	copy_from_ring(record, ring, event->data_bytes, tail, header.size);
	__atomic_store_n(&event->page->data_tail, tail + header.size, __ATOMIC_RELEASE);
	return header.size;
}

unsigned int pmu_event_take(struct pmu_event *event, __u32 type)
{
	static union {
		struct perf_event_header header;
		char bytes[MOST_RECORD_BYTES];
	} record;
	unsigned int taken = 0;

	while (pmu_event_record(event, &record, sizeof(record)) > 0)
		taken += record.header.type == type;
	return taken;
}

size_t pmu_event_aux(struct pmu_event *event, void *bytes, size_t size)
{
	__u64 head = __atomic_load_n(&event->page->aux_head, __ATOMIC_ACQUIRE);
	__u64 tail = event->page->aux_tail;

	if (head - tail < size)
		size = head - tail;
	copy_from_ring(bytes, event->aux, event->aux_bytes, tail, size);
	__atomic_store_n(&event->page->aux_tail, tail + size, __ATOMIC_RELEASE);
	return size;
}
