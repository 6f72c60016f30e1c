// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hisi_ptt PMU as a program sees it: sysfs, what is refused, what is recorded, what is left afterwards. The traffic
 * is that of pcie_load in another process, which says what it did by its options; the places of the devices are those of
 * the chassis in Documentation/rooms/vm.rst.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pmukit/hisi_ptt.h>

#include "kselftest_harness.h"
#include "pmu_event.h"

#define PMU			"hisi_ptt0_2"
#define FOLDER			PMU_SYSFS "/" PMU
#define PORT_FILTER		0x80001ULL	/* 00:10.0 */
#define REQUESTER_FILTER	0x00100ULL	/* 01:00.0, below it */
#define ENDPOINT		"0000:01:00.0"
#define NOBODY			65534
#define DATA_PAGES		64
#define SMALL_AUX_PAGES		32		/* 128 KiB */
#define LARGE_AUX_PAGES		4096		/* 16 MiB */
#define ENTRY_BYTES		32		/* 8DW */
#define STORES			300
#define STORE_DWORDS		2		/* 8 bytes each, unlike anything else that pcie_load does */
#define TIMEOUT_SECONDS		120
#define MAX_ENTRIES		65536

struct terms {
	__u64 filter, direction, type, format;
};

/* What programs store to the endpoint below 00:10.0. */
static const struct terms stores_8dw = { PORT_FILTER, 1, 1, 1 };

static int set_terms(struct perf_event_attr *attr, const struct terms *terms)
{
	int type = pmu_type(PMU), err;

	if (type < 0)
		return type;
	memset(attr, 0, sizeof(*attr));
	attr->type = type;
	attr->disabled = 1;
	err = pmu_set_term(PMU, attr, "filter", terms->filter);
	err = err ? err : pmu_set_term(PMU, attr, "direction", terms->direction);
	err = err ? err : pmu_set_term(PMU, attr, "type", terms->type);
	return err ? err : pmu_set_term(PMU, attr, "format", terms->format);
}

static int open_counting(struct pmu_event *event, const struct terms *terms)
{
	struct perf_event_attr attr;
	int err = set_terms(&attr, terms);

	return err ? err : pmu_event_open(event, &attr, -1, pmu_cpu(PMU));
}

static int open_sampling(struct pmu_event *event, const struct terms *terms)
{
	struct perf_event_attr attr;
	int err = set_terms(&attr, terms);

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
	return err ? err : pmu_event_open(event, &attr, -1, pmu_cpu(PMU));
}

static long long stat_of(const char *path)
{
	char file[256];
	long long value = -1;

	snprintf(file, sizeof(file), FOLDER "/%s", path);
	read_number(file, &value);
	return value;
}

static const char *text_of(const char *path)
{
	static char text[256];
	char file[256];

	snprintf(file, sizeof(file), FOLDER "/%s", path);
	if (read_text(file, text, sizeof(text)))
		return "";
	return text;
}

/*
 * Exactly so many stores of 8 bytes to the endpoint. Stores are posted: the load behind them returns when they have
 * arrived, and only then the trace may stop.
 */
static int make_some_stores(int stores)
{
	char command[128];

	snprintf(command, sizeof(command), "pcie_load --function 01:00.0 --writes %d --reads 1 --width 8 >/dev/null", stores);
	return system(command);
}

static int make_stores(void)
{
	return make_some_stores(STORES);
}

static long long count_of(struct pmu_event *event)
{
	long long count = -1;

	if (read(event->fd, &count, sizeof(count)) != sizeof(count))
		return -errno;
	return count;
}

/* Entries that are a store of ours: memory write, two dwords. A wrong entry is -1. */
static int count_stores(const unsigned char *bytes, size_t size)
{
	int stores = 0;

	for (size_t at = 0; at + ENTRY_BYTES <= size; at += ENTRY_BYTES) {
		uint32_t words[ENTRY_BYTES / 4];

		memcpy(words, bytes + at, sizeof(words));
		if (words[0] != 0xffffffff || words[6] != 0)
			return -1;
		/* Fmt with data, Type 0: a memory write. */
		if ((words[2] & 0xdf000000) != 0x40000000)
			return -1;
		stores += (words[2] & 0x3ff) == STORE_DWORDS;
	}
	return stores;
}

FIXTURE(hisi_ptt) {
	struct pmu_event event;
	unsigned char *bytes;
};

FIXTURE_SETUP(hisi_ptt)
{
	self->event.fd = -1;
	self->bytes = NULL;
	if (pmu_type(PMU) < 0 || geteuid())
		SKIP(return, pmu_type(PMU) < 0 ? "no " PMU : "needs root");
	self->bytes = malloc(MAX_ENTRIES * ENTRY_BYTES);
	ASSERT_NE(NULL, self->bytes);
}

FIXTURE_TEARDOWN(hisi_ptt)
{
	pmu_event_close(&self->event);
	free(self->bytes);
}

/* sysfs */

TEST_F(hisi_ptt, cpumask_names_one_cpu)
{
	EXPECT_EQ(NULL, strpbrk(text_of("cpumask"), ",-"));
	EXPECT_LE(0, pmu_cpu(PMU));
}

TEST_F(hisi_ptt, filters_are_the_served_ports_and_what_is_below)
{
	EXPECT_STREQ("1", text_of("root_port_filters/multiselect"));
	EXPECT_STREQ("0", text_of("requester_filters/multiselect"));
	EXPECT_STREQ("0x80001", text_of("root_port_filters/0000:00:10.0"));
	EXPECT_STREQ("0x80004", text_of("root_port_filters/0000:00:11.0"));
	EXPECT_STREQ("0x00100", text_of("requester_filters/0000:01:00.0"));
	EXPECT_STREQ("0x00200", text_of("requester_filters/0000:02:00.0")) {
		TH_LOG("a switch port is a requester");
	}
	EXPECT_STREQ("0x00400", text_of("requester_filters/0000:04:00.0"));
	EXPECT_STREQ("", text_of("root_port_filters/0000:00:12.0")) {
		TH_LOG("not served");
	}
	EXPECT_STREQ("", text_of("requester_filters/0000:06:00.0"));
}

/* Tune */

static int tune(const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), FOLDER "/tune/%s", file);
	return write_text(path, text);
}

TEST_F(hisi_ptt, tune_levels_are_kept_apart)
{
	static const char *const files[] = {
		"tune/qos_tx_cpl", "tune/qos_tx_np", "tune/qos_tx_p", "tune/rx_alloc_buf_level", "tune/tx_alloc_buf_level",
	};

	for (int i = 0; i < 5; i++)
		ASSERT_EQ(0, tune(files[i] + 5, i % 2 ? "0" : "2"));
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(i % 2 ? 0 : 2, stat_of(files[i]));
}

TEST_F(hisi_ptt, tune_takes_no_nonsense)
{
	ASSERT_EQ(0, tune("qos_tx_p", "1"));
	EXPECT_EQ(-EINVAL, tune("qos_tx_p", "-1"));
	EXPECT_EQ(-EINVAL, tune("qos_tx_p", "0x1"));
	EXPECT_EQ(-EINVAL, tune("qos_tx_p", "much"));
	EXPECT_EQ(-EINVAL, tune("qos_tx_p", "-99999999999999999999999"));
	EXPECT_EQ(1, stat_of("tune/qos_tx_p"));
	EXPECT_EQ(0, tune("qos_tx_p", "65536"));
	EXPECT_EQ(2, stat_of("tune/qos_tx_p"));
	ASSERT_EQ(0, tune("qos_tx_p", "0"));
	EXPECT_EQ(0, tune("qos_tx_p", "99999999999999999999999"));
	EXPECT_EQ(2, stat_of("tune/qos_tx_p"));
}

TEST_F(hisi_ptt, tune_files_have_their_first_names_too)
{
	ASSERT_EQ(0, tune("tx_path_rx_req_alloc_buf_level", "1"));
	ASSERT_EQ(0, tune("tx_path_tx_req_alloc_buf_level", "0"));
	EXPECT_EQ(1, stat_of("tune/rx_alloc_buf_level"));
	EXPECT_EQ(0, stat_of("tune/tx_alloc_buf_level"));
}

/* Refusals */

TEST_F(hisi_ptt, refuses_what_the_rules_forbid)
{
	static const struct terms wrong[] = {
		{ PORT_FILTER, 0, 1, 1 },	/* 8DW, direction 0 */
		{ PORT_FILTER, 1, 3, 1 },	/* several types outbound */
		{ PORT_FILTER, 2, 3, 0 },	/* 4DW direction 2 is outbound as well */
		{ PORT_FILTER, 1, 0, 1 },	/* no type */
		{ PORT_FILTER, 1, 8, 1 },
		{ PORT_FILTER, 4, 1, 1 },
		{ PORT_FILTER, 1, 1, 2 },
		{ 0x80000, 1, 1, 1 },		/* no port */
		{ 0x80010, 1, 1, 1 },		/* not served */
		{ 0x90001, 1, 1, 1 },		/* reserved bit */
		{ 0x00600, 1, 1, 1 },		/* 06:00.0 is not below a served port */
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		EXPECT_EQ(-EINVAL, open_counting(&self->event, &wrong[i])) {
			TH_LOG("terms %zu", i);
		}
	}
}

TEST_F(hisi_ptt, refuses_reserved_words)
{
	struct perf_event_attr attr;

	ASSERT_EQ(0, set_terms(&attr, &stores_8dw));
	attr.config |= 1ULL << 36;
	EXPECT_EQ(-EINVAL, pmu_event_open(&self->event, &attr, -1, pmu_cpu(PMU)));
	ASSERT_EQ(0, set_terms(&attr, &stores_8dw));
	attr.config2 = 1;
	EXPECT_EQ(-EINVAL, pmu_event_open(&self->event, &attr, -1, pmu_cpu(PMU)));
}

TEST_F(hisi_ptt, refuses_events_of_a_task)
{
	struct perf_event_attr attr;

	ASSERT_EQ(0, set_terms(&attr, &stores_8dw));
	EXPECT_EQ(-EOPNOTSUPP, pmu_event_open(&self->event, &attr, 0, -1));
	EXPECT_EQ(-EOPNOTSUPP, pmu_event_open(&self->event, &attr, 0, pmu_cpu(PMU)));
}

TEST_F(hisi_ptt, refuses_a_second_event_and_goes_on_with_the_first)
{
	static const struct terms other = { REQUESTER_FILTER, 1, 2, 1 };
	struct pmu_event second = { .fd = -1 };

	ASSERT_EQ(0, open_counting(&self->event, &stores_8dw));
	ASSERT_EQ(0, pmu_event_enable(&self->event));
	EXPECT_EQ(-EBUSY, open_counting(&second, &other));
	ASSERT_EQ(0, make_stores());
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	EXPECT_LE(STORES, count_of(&self->event));
}

TEST_F(hisi_ptt, refuses_who_may_not_see_everybodys_packets)
{
	int status;
	pid_t child = fork();

	if (!child) {
		if (setuid(NOBODY))
			_exit(1);
		status = open_counting(&self->event, &stores_8dw);
		_exit(status != -EACCES);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(hisi_ptt, refuses_aux_areas_too_small_or_to_be_overwritten)
{
	void *aux;

	ASSERT_EQ(0, open_counting(&self->event, &stores_8dw));
	EXPECT_NE(0, pmu_event_map(&self->event, DATA_PAGES, SMALL_AUX_PAGES / 2));
	pmu_event_close(&self->event);

	ASSERT_EQ(0, open_counting(&self->event, &stores_8dw));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, 0));
	self->event.page->aux_offset = (DATA_PAGES + 1) * getpagesize();
	self->event.page->aux_size = SMALL_AUX_PAGES * getpagesize();
	aux = mmap(NULL, self->event.page->aux_size, PROT_READ, MAP_SHARED, self->event.fd, self->event.page->aux_offset);
	EXPECT_EQ(MAP_FAILED, aux);
}

/* Ways out */

/* Three ways of one load: the count, and the entries where the way carries them. */
static int run_once(struct pmu_event *event)
{
	int err = pmu_event_enable(event);

	err = err ? err : make_stores();
	return err ? err : pmu_event_disable(event);
}

TEST_F(hisi_ptt, counts_every_store)
{
	ASSERT_EQ(0, open_counting(&self->event, &stores_8dw));
	ASSERT_EQ(0, run_once(&self->event));
	EXPECT_LE(STORES, count_of(&self->event));
	EXPECT_STREQ("count", text_of("caps/path"));
}

TEST_F_TIMEOUT(hisi_ptt, an_aux_area_carries_every_store, TIMEOUT_SECONDS)
{
	static const unsigned int pages[] = { SMALL_AUX_PAGES, 256, LARGE_AUX_PAGES };
	size_t size;

	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, open_counting(&self->event, &stores_8dw));
		ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, pages[i]));
		ASSERT_EQ(0, run_once(&self->event));
		size = pmu_event_aux(&self->event, self->bytes, MAX_ENTRIES * ENTRY_BYTES);
		EXPECT_EQ(count_of(&self->event) * ENTRY_BYTES, size);
		EXPECT_EQ(STORES, count_stores(self->bytes, size)) {
			TH_LOG("%u pages, %zu bytes", pages[i], size);
		}
		pmu_event_close(&self->event);
	}
}

TEST_F_TIMEOUT(hisi_ptt, zero_copy_moves_no_byte, TIMEOUT_SECONDS)
{
	long long copied = stat_of("runs/copied_bytes"), runs = stat_of("runs/zero_copy");
	size_t size;

	ASSERT_EQ(0, open_counting(&self->event, &stores_8dw));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, SMALL_AUX_PAGES));
	ASSERT_EQ(0, run_once(&self->event));
	EXPECT_STREQ("zero-copy", text_of("caps/path"));
	EXPECT_EQ(runs + 1, stat_of("runs/zero_copy"));
	EXPECT_EQ(copied, stat_of("runs/copied_bytes"));
	size = pmu_event_aux(&self->event, self->bytes, MAX_ENTRIES * ENTRY_BYTES);
	EXPECT_EQ(STORES, count_stores(self->bytes, size));

	/* The head is somewhere in a quarter now, and the device cannot begin there. */
	ASSERT_EQ(0, run_once(&self->event));
	EXPECT_STREQ("copy", text_of("caps/path"));
	size = pmu_event_aux(&self->event, self->bytes, MAX_ENTRIES * ENTRY_BYTES);
	EXPECT_EQ(STORES, count_stores(self->bytes, size));
	EXPECT_EQ(copied + size, stat_of("runs/copied_bytes"));
	EXPECT_GE(65536, stat_of("runs/section_max_bytes"));
}

/* The AUX flags of all records; 0 when there are none. */
static __u64 aux_flags(struct pmu_event *event)
{
	struct {
		struct perf_event_header header;
		__u64 offset, size, flags, more[8000];
	} record;
	__u64 flags = 0;

	while (pmu_event_record(event, &record, sizeof(record)) > 0)
		flags |= record.header.type == PERF_RECORD_AUX ? record.flags : 0;
	return flags;
}

TEST_F_TIMEOUT(hisi_ptt, aux_records_say_which_way_was_taken, TIMEOUT_SECONDS)
{
	ASSERT_EQ(0, open_counting(&self->event, &stores_8dw));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, SMALL_AUX_PAGES));
	ASSERT_EQ(0, run_once(&self->event));
	EXPECT_EQ(PMUKIT_HISI_PTT_AUX_ZERO_COPY, aux_flags(&self->event));
	ASSERT_EQ(0, run_once(&self->event));
	EXPECT_EQ(0, aux_flags(&self->event));
}

/* Takes the records of all samples apart: entries behind each other, header words checked. Or -1. */
static long samples(struct pmu_event *event, unsigned char *bytes)
{
	struct {
		struct perf_event_header header;
		__u32 size;
		struct pmukit_raw_header raw;
		__u64 words[8000];
	} record;
	__u64 sequence = 0;
	size_t at = 0;
	int ret;

	while ((ret = pmu_event_record(event, &record, sizeof(record))) > 0) {
		__u64 *extra = record.words + 2;
		size_t entries = record.words[0] & 0xffff;

		if (record.header.type != PERF_RECORD_SAMPLE)
			continue;
		if (record.raw.tag != PMUKIT_RAW_TAG_HISI_PTT || record.words[1] != PMUKIT_HISI_PTT_MARK ||
		    record.words[0] >> PMUKIT_HISI_PTT_W0_EXTRA_WORDS_SHIFT != PMUKIT_HISI_PTT_EXTRA_WORDS ||
		    extra[PMUKIT_HISI_PTT_X_SEQUENCE] != sequence++ || extra[PMUKIT_HISI_PTT_X_FLAGS] ||
		    extra[PMUKIT_HISI_PTT_X_LOST])
			return -1;
		memcpy(bytes + at, extra + PMUKIT_HISI_PTT_EXTRA_WORDS, entries * ENTRY_BYTES);
		at += entries * ENTRY_BYTES;
	}
	return ret < 0 ? ret : (long)at;
}

TEST_F_TIMEOUT(hisi_ptt, samples_carry_every_store, TIMEOUT_SECONDS)
{
	long size;

	ASSERT_EQ(0, open_sampling(&self->event, &stores_8dw));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, 0));
	ASSERT_EQ(0, run_once(&self->event));
	EXPECT_STREQ("sample", text_of("caps/path"));
	size = samples(&self->event, self->bytes);
	EXPECT_EQ(count_of(&self->event) * ENTRY_BYTES, size);
	EXPECT_EQ(STORES, count_stores(self->bytes, size));
}

/* Starts and stops */

#define CYCLES		200
#define OTHER_ENDPOINT	"0000:04:00.0"	/* below the other port that is served */

/* Two processes that go on until they are killed: one tunes, one plugs and unplugs a device nobody traces. */
static pid_t start_tuning(void)
{
	pid_t pid = fork();

	for (unsigned int i = 0; !pid; i++)
		tune(i & 1 ? "qos_tx_p" : "rx_alloc_buf_level", i & 2 ? "0" : "2");
	return pid;
}

static pid_t start_plugging(void)
{
	pid_t pid = fork();

	while (!pid) {
		write_text("/sys/bus/pci/devices/" OTHER_ENDPOINT "/remove", "1");
		write_text("/sys/bus/pci/rescan", "1");
		usleep(50000);
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

/* Each stop finds another fill level, most of them no multiple of anything, and whichever path the head allows. */
TEST_F_TIMEOUT(hisi_ptt, two_hundred_starts_and_stops_lose_nothing, TIMEOUT_SECONDS)
{
	long long lost = stat_of("stats/lost");
	pid_t tuning, plugging;
	int stores;

	ASSERT_EQ(0, open_counting(&self->event, &stores_8dw));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, SMALL_AUX_PAGES));
	tuning = start_tuning();
	plugging = start_plugging();
	for (int i = 0; i < CYCLES; i++) {
		EXPECT_EQ(0, pmu_event_enable(&self->event));
		EXPECT_EQ(0, make_some_stores(1 + i * 7 % 61));
		EXPECT_EQ(0, pmu_event_disable(&self->event));
		stores = count_stores(self->bytes, pmu_event_aux(&self->event, self->bytes, MAX_ENTRIES * ENTRY_BYTES));
		EXPECT_EQ(1 + i * 7 % 61, stores) {
			TH_LOG("cycle %d, %s", i, text_of("caps/path"));
		}
	}
	end(tuning);
	end(plugging);
	ASSERT_EQ(0, write_text("/sys/bus/pci/rescan", "1"));
	EXPECT_EQ(lost, stat_of("stats/lost"));
}

/* Filters that go */

TEST_F_TIMEOUT(hisi_ptt, an_event_ends_when_what_it_traces_leaves, TIMEOUT_SECONDS)
{
	static const struct terms requester = { REQUESTER_FILTER, 2, 1, 1 };
	long long count;

	ASSERT_EQ(0, open_counting(&self->event, &requester));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, SMALL_AUX_PAGES));
	ASSERT_EQ(0, pmu_event_enable(&self->event));
	ASSERT_EQ(0, write_text("/sys/bus/pci/devices/" ENDPOINT "/remove", "1"));
	EXPECT_STREQ("", text_of("requester_filters/" ENDPOINT));
	count = count_of(&self->event);
	EXPECT_TRUE(aux_flags(&self->event) & PERF_AUX_FLAG_TRUNCATED);

	ASSERT_EQ(0, write_text("/sys/bus/pci/rescan", "1"));
	EXPECT_STREQ("0x00100", text_of("requester_filters/" ENDPOINT));
	ASSERT_EQ(0, make_stores());
	EXPECT_EQ(count, count_of(&self->event)) {
		TH_LOG("it stays disabled");
	}
	EXPECT_EQ(0, pmu_event_enable(&self->event));
	EXPECT_EQ(0, pmu_event_disable(&self->event));
}

/* The device leaves */

TEST_F_TIMEOUT(hisi_ptt, the_device_may_leave_under_an_open_event, TIMEOUT_SECONDS)
{
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, open_counting(&self->event, &stores_8dw));
		ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, SMALL_AUX_PAGES));
		ASSERT_EQ(0, pmu_event_enable(&self->event));
		ASSERT_EQ(0, write_text("/sys/bus/pci/drivers/hisi_ptt/unbind", "0000:00:18.0"));
		EXPECT_GT(0, pmu_type(PMU));
		ASSERT_EQ(0, write_text("/sys/bus/pci/drivers/hisi_ptt/bind", "0000:00:18.0"));
		EXPECT_LE(0, pmu_type(PMU));
		pmu_event_close(&self->event);
	}
	ASSERT_EQ(0, open_counting(&self->event, &stores_8dw));
	ASSERT_EQ(0, run_once(&self->event));
	EXPECT_LE(STORES, count_of(&self->event));
}

TEST_HARNESS_MAIN
