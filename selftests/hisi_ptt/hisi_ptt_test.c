// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the hisi_ptt PMU as a program sees it: sysfs, rejected events, recordings, and the removal
 * of functions and of the device while an event is open. The program pcie_load makes the traffic,
 * which its options define. The addresses of the devices are those of the chassis in
 * Documentation/components/vm.rst.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
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
#include "pmu_machine.h"
#include "ptt_event.h"

#define PMU			"hisi_ptt0_2"
#define FOLDER			PMU_SYSFS "/" PMU
#define REQUESTER_FILTER	0x00100ULL	/* 01:00.0, below 00:10.0 */
#define PCI_DEVICES		"/sys/bus/pci/devices"
#define ENDPOINT		"0000:01:00.0"
#define PORT			"0000:00:11.0"
#define UNPRIVILEGED_ID			65534
#define DATA_PAGES		64
#define SMALL_AUX_PAGES		32		/* 128 KiB */
#define LARGE_AUX_PAGES		4096		/* 16 MiB */
#define BUFFER_BYTES		(4 << 20)
#define STORES			300
#define TUNE_ROUNDS		200
#define UNPRIVILEGED_OPENS		200
#define SECTION_BYTES		65536
#define TIMEOUT_SECONDS		120
#define MAX_ENTRIES		65536

static long long stat_of(const char *file)
{
	return ptt_number(PMU, file);
}

static const char *text_of(const char *file)
{
	return ptt_text(PMU, file);
}

static int open_counting(struct pmu_event *event, const struct ptt_terms *terms)
{
	return ptt_open_counting(PMU, event, terms);
}

static int make_stores(void)
{
	return ptt_make_stores(STORES);
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
	self->bytes = malloc(MAX_ENTRIES * PTT_ENTRY_BYTES_8DW);
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

TEST_F(hisi_ptt, filter_files_exist_for_served_ports_and_functions_below)
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

static int set_level(const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), FOLDER "/tune/%s", file);
	return write_text(path, text);
}

TEST_F(hisi_ptt, tune_levels_are_independent)
{
	static const char *const files[] = {
		"tune/qos_tx_cpl", "tune/qos_tx_np", "tune/qos_tx_p",
		"tune/rx_alloc_buf_level", "tune/tx_alloc_buf_level",
	};

	for (int i = 0; i < 5; i++)
		ASSERT_EQ(0, set_level(files[i] + 5, i % 2 ? "0" : "2"));
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(i % 2 ? 0 : 2, stat_of(files[i]));
}

TEST_F(hisi_ptt, tune_rejects_invalid_input_and_limits_large_levels)
{
	ASSERT_EQ(0, set_level("qos_tx_p", "1"));
	EXPECT_EQ(-EINVAL, set_level("qos_tx_p", "-1"));
	EXPECT_EQ(-EINVAL, set_level("qos_tx_p", "0x1"));
	EXPECT_EQ(-EINVAL, set_level("qos_tx_p", "much"));
	EXPECT_EQ(-EINVAL, set_level("qos_tx_p", "-99999999999999999999999"));
	EXPECT_EQ(1, stat_of("tune/qos_tx_p"));
	EXPECT_EQ(0, set_level("qos_tx_p", "65536"));
	EXPECT_EQ(2, stat_of("tune/qos_tx_p"));
	ASSERT_EQ(0, set_level("qos_tx_p", "0"));
	EXPECT_EQ(0, set_level("qos_tx_p", "99999999999999999999999"));
	EXPECT_EQ(2, stat_of("tune/qos_tx_p"));
}

TEST_F(hisi_ptt, two_tune_files_have_a_second_name)
{
	ASSERT_EQ(0, set_level("tx_path_rx_req_alloc_buf_level", "1"));
	ASSERT_EQ(0, set_level("tx_path_tx_req_alloc_buf_level", "0"));
	EXPECT_EQ(1, stat_of("tune/rx_alloc_buf_level"));
	EXPECT_EQ(0, stat_of("tune/tx_alloc_buf_level"));
}

/*
 * Runs in two processes at the same time. If the driver did not serialize tune operations, one
 * process would read the level that the other has set.
 */
static int tune_and_compare(const char *file)
{
	char path[64];
	int wrong = 0;

	snprintf(path, sizeof(path), "tune/%s", file);
	for (int i = 0; i < TUNE_ROUNDS; i++) {
		wrong |= set_level(file, i % 2 ? "2" : "0") != 0;
		wrong |= stat_of(path) != (i % 2 ? 2 : 0);
	}
	return wrong;
}

TEST_F_TIMEOUT(hisi_ptt, concurrent_tune_operations_do_not_mix, TIMEOUT_SECONDS)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(tune_and_compare("qos_tx_np"));
	EXPECT_EQ(0, tune_and_compare("tx_alloc_buf_level"));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

/* Rejected events */

TEST_F(hisi_ptt, rejects_invalid_terms)
{
	static const struct ptt_terms wrong[] = {
		{ PTT_PORT_FILTER, 0, 1, 1 },	/* 8DW, direction 0 */
		{ PTT_PORT_FILTER, 1, 3, 1 },	/* several types outbound */
		{ PTT_PORT_FILTER, 2, 3, 0 },	/* several types; in 4DW, direction 2 is outbound */
		{ PTT_PORT_FILTER, 1, 0, 1 },	/* no type */
		{ PTT_PORT_FILTER, 1, 8, 1 },
		{ PTT_PORT_FILTER, 4, 1, 1 },
		{ PTT_PORT_FILTER, 1, 1, 2 },
		{ 0x80000, 1, 1, 1 },		/* no port */
		{ 0x80010, 1, 1, 1 },		/* a port that the device does not serve */
		{ 0x90001, 1, 1, 1 },		/* reserved bit */
		{ 0x00600, 1, 1, 1 },		/* 06:00.0 is not below a served port */
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		EXPECT_EQ(-EINVAL, open_counting(&self->event, &wrong[i])) {
			TH_LOG("terms %zu", i);
		}
	}
}

/* The tables of Documentation/devices/hisi_ptt.rst, written independently of the driver */
static bool is_documented(const struct ptt_terms *terms)
{
	bool outbound = terms->direction == 1 || (!terms->format && terms->direction >= 2);

	if (terms->direction > 3 || terms->type < 1 || terms->type > 7 || terms->format > 1)
		return false;
	if (terms->format && !terms->direction)
		return false;
	return !outbound || terms->type == 1 || terms->type == 2 || terms->type == 4;
}

TEST_F_TIMEOUT(hisi_ptt, accepts_exactly_the_documented_directions_types_and_formats,
	       TIMEOUT_SECONDS)
{
	struct ptt_terms terms = { .filter = PTT_PORT_FILTER };
	int taken = 0;

	for (terms.format = 0; terms.format < 4; terms.format++) {
		for (terms.direction = 0; terms.direction < 16; terms.direction++) {
			for (terms.type = 0; terms.type < 16; terms.type++) {
				int err = open_counting(&self->event, &terms);

				EXPECT_EQ(is_documented(&terms) ? 0 : -EINVAL, err) {
					TH_LOG("direction %lld, type %lld, format %lld",
					       (long long)terms.direction, (long long)terms.type,
					       (long long)terms.format);
				}
				taken += !err;
				pmu_event_close(&self->event);
			}
		}
	}
	EXPECT_EQ(7 + 3 * 3 + 3 + 2 * 7, taken);
}

TEST_F(hisi_ptt, accepts_only_filters_of_served_ports_and_requesters_below)
{
	static const struct {
		__u64 filter;
		int err;
	} filters[] = {
		{ 0x80001, 0 }, { 0x80004, 0 }, { 0x80005, 0 },
		{ 0x80007, -EINVAL }, { 0x80015, -EINVAL }, { 0x8ffff, -EINVAL },
		{ 0x80000, -EINVAL }, { 0x00000, -EINVAL },
		{ 0x00100, 0 }, { 0x00101, -EINVAL }, { 0x80100, -EINVAL },
		{ 0x00080, -EINVAL },	/* a port is not a requester */
	};
	struct ptt_terms terms = ptt_stores_8dw;

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		terms.filter = filters[i].filter;
		EXPECT_EQ(filters[i].err, open_counting(&self->event, &terms)) {
			TH_LOG("filter %#llx", (unsigned long long)terms.filter);
		}
		pmu_event_close(&self->event);
	}
}

TEST_F(hisi_ptt, caps_match_the_documentation)
{
	EXPECT_STREQ("0 1", text_of("caps/format"));
	EXPECT_STREQ("1 2 4", text_of("caps/type"));
	EXPECT_STREQ("0=0,1,2,3 1=1,2,3", text_of("caps/direction"));
	EXPECT_STREQ("0=0 1=2,3", text_of("caps/multitype_direction"));
	EXPECT_EQ(SMALL_AUX_PAGES * getpagesize(), stat_of("caps/aux_min_bytes"));
	EXPECT_EQ(BUFFER_BYTES, stat_of("caps/buffer_bytes"));
	EXPECT_EQ(SECTION_BYTES, stat_of("caps/section_bytes"));
}

TEST_F(hisi_ptt, rejects_reserved_bits)
{
	struct perf_event_attr attr;

	ASSERT_EQ(0, ptt_set_terms(PMU, &attr, &ptt_stores_8dw));
	for (int bit = 0; bit < 64; bit++) {
		__u64 config = attr.config;

		if (bit < 16 || (bit > 18 && bit < 36))
			continue;
		attr.config |= 1ULL << bit;
		EXPECT_EQ(-EINVAL, pmu_event_open(&self->event, &attr, -1, pmu_cpu(PMU))) {
			TH_LOG("bit %d", bit);
		}
		attr.config = config;
	}
	ASSERT_EQ(0, ptt_set_terms(PMU, &attr, &ptt_stores_8dw));
	EXPECT_TRUE(pmu_refuses_extra_config(&attr, -1, pmu_cpu(PMU)));
	attr.config2 = 1;
	EXPECT_EQ(-EINVAL, pmu_event_open(&self->event, &attr, -1, pmu_cpu(PMU)));
}

TEST_F(hisi_ptt, rejects_unsupported_sample_types)
{
	struct perf_event_attr attr;

	ASSERT_EQ(0, ptt_set_terms(PMU, &attr, &ptt_stores_8dw));
	EXPECT_TRUE(pmu_refuses_samples_of_programs(&attr, -1, pmu_cpu(PMU)));
}

TEST_F(hisi_ptt, rejects_exclude_bits)
{
	struct perf_event_attr attr;

	ASSERT_EQ(0, ptt_set_terms(PMU, &attr, &ptt_stores_8dw));
	EXPECT_TRUE(pmu_refuses_exclusions(&attr, -1, pmu_cpu(PMU)));
}

TEST_F(hisi_ptt, rejects_task_events)
{
	struct perf_event_attr attr;

	ASSERT_EQ(0, ptt_set_terms(PMU, &attr, &ptt_stores_8dw));
	EXPECT_EQ(-EINVAL, pmu_event_open(&self->event, &attr, 0, -1));
	EXPECT_EQ(-EINVAL, pmu_event_open(&self->event, &attr, 0, pmu_cpu(PMU)));
}

static bool is_about_the_pmu(const char *line, const void *data)
{
	return strstr(line, "hisi_ptt");
}

/*
 * The event is also invalid for another reason, which the driver would log. The driver must find
 * the missing privilege first and log no line.
 */
static int open_as_unprivileged(void)
{
	struct perf_event_attr attr;
	struct pmu_event event;

	if (ptt_set_terms(PMU, &attr, &ptt_stores_8dw) || setuid(UNPRIVILEGED_ID))
		return 1;
	attr.exclude_kernel = 1;
	for (int i = 0; i < UNPRIVILEGED_OPENS; i++) {
		if (pmu_event_open(&event, &attr, 0, -1) != -EACCES)
			return 1;
	}
	return 0;
}

TEST_F(hisi_ptt, unprivileged_open_writes_nothing_to_the_log)
{
	int status, log = log_open();
	pid_t child = fork();

	if (!child)
		_exit(open_as_unprivileged());
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_LE(0, log);
	EXPECT_EQ(0, log_count(log, is_about_the_pmu, NULL));
	close(log);
}

TEST_F(hisi_ptt, second_event_gets_ebusy_and_first_continues)
{
	static const struct ptt_terms other = { REQUESTER_FILTER, 1, 2, 1 };
	struct pmu_event second = { .fd = -1 };

	ASSERT_EQ(0, open_counting(&self->event, &ptt_stores_8dw));
	ASSERT_EQ(0, pmu_event_enable(&self->event));
	EXPECT_EQ(-EBUSY, open_counting(&second, &other));
	ASSERT_EQ(0, make_stores());
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	EXPECT_LE(STORES, ptt_count(&self->event));
}

static int start_one(const void *terms)
{
	struct pmu_event event;

	return open_counting(&event, terms) ?: pmu_event_map(&event, DATA_PAGES, SMALL_AUX_PAGES) ?:
	       pmu_event_enable(&event);
}

TEST_F_TIMEOUT(hisi_ptt, pmu_is_free_after_the_process_with_its_event_is_killed, TIMEOUT_SECONDS)
{
	pid_t holder = pmu_fork_holder(start_one, &ptt_stores_8dw);

	ASSERT_LT(0, holder);
	EXPECT_EQ(-EBUSY, open_counting(&self->event, &ptt_stores_8dw));
	EXPECT_EQ(0, kill(holder, SIGKILL));
	ASSERT_EQ(holder, waitpid(holder, NULL, 0));
	ASSERT_EQ(0, open_counting(&self->event, &ptt_stores_8dw));
	ASSERT_EQ(0, pmu_event_enable(&self->event));
	ASSERT_EQ(0, make_stores());
	ASSERT_EQ(0, pmu_event_disable(&self->event));
	EXPECT_LE(STORES, ptt_count(&self->event));
}

TEST_F(hisi_ptt, rejects_unprivileged_users)
{
	int status;
	pid_t child = fork();

	if (!child) {
		if (setuid(UNPRIVILEGED_ID))
			_exit(1);
		status = open_counting(&self->event, &ptt_stores_8dw);
		_exit(status != -EACCES);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(hisi_ptt, rejects_small_and_overwrite_aux_areas)
{
	void *aux;

	ASSERT_EQ(0, open_counting(&self->event, &ptt_stores_8dw));
	EXPECT_NE(0, pmu_event_map(&self->event, DATA_PAGES, SMALL_AUX_PAGES / 2));
	pmu_event_close(&self->event);

	ASSERT_EQ(0, open_counting(&self->event, &ptt_stores_8dw));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, 0));
	self->event.page->aux_offset = (DATA_PAGES + 1) * getpagesize();
	self->event.page->aux_size = SMALL_AUX_PAGES * getpagesize();
	aux = mmap(NULL, self->event.page->aux_size, PROT_READ, MAP_SHARED, self->event.fd,
		   self->event.page->aux_offset);
	EXPECT_EQ(MAP_FAILED, aux);
}

/* Recordings */

/* Makes the stores in one run of the event, which may count, sample or use an AUX area. */
static int run_once(struct pmu_event *event)
{
	int err = pmu_event_enable(event);

	err = err ? err : make_stores();
	return err ? err : pmu_event_disable(event);
}

TEST_F(hisi_ptt, counts_every_store)
{
	ASSERT_EQ(0, open_counting(&self->event, &ptt_stores_8dw));
	ASSERT_EQ(0, run_once(&self->event));
	EXPECT_LE(STORES, ptt_count(&self->event));
}

static const unsigned int aux_pages[] = { SMALL_AUX_PAGES, 256, LARGE_AUX_PAGES };

TEST_F_TIMEOUT(hisi_ptt, aux_area_has_every_store, TIMEOUT_SECONDS)
{
	size_t size;

	for (size_t i = 0; i < ARRAY_SIZE(aux_pages); i++) {
		ASSERT_EQ(0, open_counting(&self->event, &ptt_stores_8dw));
		ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, aux_pages[i]));
		ASSERT_EQ(0, run_once(&self->event));
		size = pmu_event_aux(&self->event, self->bytes, MAX_ENTRIES * PTT_ENTRY_BYTES_8DW);
		EXPECT_EQ(ptt_count(&self->event) * PTT_ENTRY_BYTES_8DW, size);
		EXPECT_EQ(STORES, ptt_count_stores(self->bytes, size)) {
			TH_LOG("%u pages, %zu bytes", aux_pages[i], size);
		}
		pmu_event_close(&self->event);
	}
}

TEST_F_TIMEOUT(hisi_ptt, each_run_adds_its_stores_to_the_aux_area, TIMEOUT_SECONDS)
{
	long long copied = ptt_debug_number(PMU, "copied_bytes");
	size_t size, sum = 0;

	ASSERT_EQ(0, open_counting(&self->event, &ptt_stores_8dw));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, SMALL_AUX_PAGES));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, run_once(&self->event));
		size = pmu_event_aux(&self->event, self->bytes, MAX_ENTRIES * PTT_ENTRY_BYTES_8DW);
		EXPECT_EQ(STORES, ptt_count_stores(self->bytes, size));
		sum += size;
	}
	EXPECT_EQ(0, ptt_aux_flags(&self->event));
	EXPECT_EQ(copied + sum, ptt_debug_number(PMU, "copied_bytes"));
	EXPECT_GE(SECTION_BYTES, ptt_debug_number(PMU, "section_max_bytes"));
}

/* Checks the headers of all samples and concatenates the entries. Returns their length, or -1. */
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
		if (record.raw.tag != PMUKIT_RAW_TAG_HISI_PTT ||
		    record.words[1] != PMUKIT_HISI_PTT_MARK ||
		    record.words[0] >> PMUKIT_HISI_PTT_W0_EXTRA_WORDS_SHIFT !=
			    PMUKIT_HISI_PTT_EXTRA_WORDS ||
		    extra[PMUKIT_HISI_PTT_X_SEQUENCE] != sequence++ ||
		    extra[PMUKIT_HISI_PTT_X_FLAGS] || extra[PMUKIT_HISI_PTT_X_LOST])
			return -1;
		memcpy(bytes + at, extra + PMUKIT_HISI_PTT_EXTRA_WORDS,
		       entries * PTT_ENTRY_BYTES_8DW);
		at += entries * PTT_ENTRY_BYTES_8DW;
	}
	return ret < 0 ? ret : (long)at;
}

TEST_F_TIMEOUT(hisi_ptt, samples_have_every_store, TIMEOUT_SECONDS)
{
	long size;

	ASSERT_EQ(0, ptt_open_sampling(PMU, &self->event, &ptt_stores_8dw));
	ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, 0));
	ASSERT_EQ(0, run_once(&self->event));
	size = samples(&self->event, self->bytes);
	EXPECT_EQ(ptt_count(&self->event) * PTT_ENTRY_BYTES_8DW, size);
	EXPECT_EQ(STORES, ptt_count_stores(self->bytes, size));
}

/* Removal of functions */

/* Removes a requester, then one of two ports with all functions below it. */
TEST_F_TIMEOUT(hisi_ptt, removing_traced_function_ends_event, TIMEOUT_SECONDS)
{
	static const struct {
		struct ptt_terms terms;
		const char *remove, *file, *value;
	} leaving[] = {
		{ { REQUESTER_FILTER, 2, 1, 1 }, PCI_DEVICES "/" ENDPOINT "/remove",
		  "requester_filters/" ENDPOINT, "0x00100" },
		{ { 0x80005, 1, 1, 1 }, PCI_DEVICES "/" PORT "/remove",
		  "root_port_filters/" PORT, "0x80004" },
	};
	long long count;

	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, open_counting(&self->event, &leaving[i].terms));
		ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, SMALL_AUX_PAGES));
		ASSERT_EQ(0, pmu_event_enable(&self->event));
		ASSERT_EQ(0, write_text(leaving[i].remove, "1"));
		EXPECT_STREQ("", text_of(leaving[i].file));
		count = ptt_count(&self->event);
		EXPECT_TRUE(ptt_aux_flags(&self->event) & PERF_AUX_FLAG_TRUNCATED);

		ASSERT_EQ(0, write_text("/sys/bus/pci/rescan", "1"));
		EXPECT_STREQ(leaving[i].value, text_of(leaving[i].file));
		ASSERT_EQ(0, make_stores());
		EXPECT_EQ(count, ptt_count(&self->event)) {
			TH_LOG("it stays disabled");
		}
		EXPECT_EQ(0, pmu_event_enable(&self->event));
		EXPECT_EQ(0, pmu_event_disable(&self->event));
		pmu_event_close(&self->event);
	}
}

/* Removal of the device */

TEST_F_TIMEOUT(hisi_ptt, new_event_counts_after_unbind_and_bind_with_an_open_event, TIMEOUT_SECONDS)
{
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, open_counting(&self->event, &ptt_stores_8dw));
		ASSERT_EQ(0, pmu_event_map(&self->event, DATA_PAGES, SMALL_AUX_PAGES));
		ASSERT_EQ(0, pmu_event_enable(&self->event));
		ASSERT_EQ(0, write_text("/sys/bus/pci/drivers/hisi_ptt/unbind", "0000:00:18.0"));
		EXPECT_GT(0, pmu_type(PMU));
		ASSERT_EQ(0, write_text("/sys/bus/pci/drivers/hisi_ptt/bind", "0000:00:18.0"));
		EXPECT_LE(0, pmu_type(PMU));
		pmu_event_close(&self->event);
	}
	ASSERT_EQ(0, open_counting(&self->event, &ptt_stores_8dw));
	ASSERT_EQ(0, run_once(&self->event));
	EXPECT_LE(STORES, ptt_count(&self->event));
}

TEST_HARNESS_MAIN
