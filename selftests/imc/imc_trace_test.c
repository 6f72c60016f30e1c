// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares trace_imc with the engine's reference counters and with programs of known behavior:
 * every record is delivered or counted as lost, and each sample has the code address, the mode and
 * the thread that ran.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "imc_reference.h"
#include "imc_follow.h"
#include "imc_ring.h"
#include "imc_work.h"
#include "kselftest_harness.h"
#include "pmu_machine.h"

#define POINTS		3	/* tolerance, in percentage points */
#define WANTED		5000	/* samples */
#define SOME		40	/* records */
#define POLL_US		20000

FIXTURE(imc_trace)
{
	struct trace trace;
};

FIXTURE_SETUP(imc_trace)
{
	if (!engine_is_loaded())
		SKIP(return, "no engine");
}

FIXTURE_TEARDOWN(imc_trace)
{
	trace_close(&self->trace);
}

/* Exactness */

struct newer {
	__u64 from[MAX_CPUS];	/* the engine's number of the first record of the new event */
	unsigned int old;
};

/*
 * Waits until the engine has written @records records on every CPU. Reads samples meanwhile if
 * @reading is true.
 */
static void run_records(struct trace *trace, long long records, bool reading, struct sequence *s)
{
	long long first[MAX_CPUS], end = now_ms() + 120000;
	bool more = true;

	for (int i = 0; i < trace->nr; i++)
		first[i] = reference_number("cpu", trace->cpus[i], "records");
	while (more && now_ms() < end) {
		usleep(POLL_US);
		if (reading)
			trace_read(trace, follow, s);
		more = false;
		for (int i = 0; i < trace->nr; i++)
			more |= reference_number("cpu", trace->cpus[i], "records") < first[i] + records;
	}
}

TEST_F(imc_trace, delivers_each_record)
{
	struct sequence s = {};
	struct tally tally;
	pid_t child = child_that(work_on, NULL);

	ASSERT_EQ(trace_open(&self->trace, 256, -1), 0);
	tally_now(&tally);
	ASSERT_EQ(trace_enable(&self->trace), 0);
	run_records(&self->trace, 1000, true, &s);
	ASSERT_EQ(trace_disable(&self->trace), 0);
	ASSERT_EQ(trace_read(&self->trace, follow, &s), 0);
	end_child(child);
	tally_since(&tally);
	TH_LOG("written %lld, samples %lld, lost %lld, perf lost %lld", tally.written,
	       self->trace.samples, tally.lost, self->trace.perf_lost);
	EXPECT_GE(tally.written, 2000);
	EXPECT_EQ(tally.written, self->trace.samples + tally.lost + self->trace.perf_lost);
	EXPECT_EQ(tally.handed, self->trace.samples + self->trace.perf_lost);
	EXPECT_EQ(tally.rejected, 0);
	EXPECT_EQ(tally.lost, 0);
	EXPECT_EQ(s.missing, tally.lost + self->trace.perf_lost);
	EXPECT_EQ(s.gaps, self->trace.perf_lost);
	EXPECT_EQ(s.damaged, 0);
	EXPECT_EQ(s.backwards, 0);
}

/* A ring of one page is not read for a while: perf loses samples and reports their exact number. */
TEST_F(imc_trace, perf_reports_the_exact_number_of_samples_lost_in_a_full_ring)
{
	struct sequence s = {};
	struct tally tally;
	pid_t child = child_that(work_on, NULL);

	ASSERT_EQ(trace_open(&self->trace, 1, -1), 0);
	tally_now(&tally);
	ASSERT_EQ(trace_enable(&self->trace), 0);
	run_records(&self->trace, 400, false, &s);
	/* perf writes PERF_RECORD_LOST with the next sample. */
	run_records(&self->trace, 200, true, &s);
	ASSERT_EQ(trace_read(&self->trace, follow, &s), 0);
	ASSERT_EQ(trace_disable(&self->trace), 0);
	ASSERT_EQ(trace_read(&self->trace, follow, &s), 0);
	end_child(child);
	tally_since(&tally);
	TH_LOG("written %lld, samples %lld, lost %lld, perf lost %lld", tally.written,
	       self->trace.samples, tally.lost, self->trace.perf_lost);
	EXPECT_GT(self->trace.perf_lost, 0);
	EXPECT_EQ(tally.written, self->trace.samples + tally.lost + self->trace.perf_lost);
	EXPECT_EQ(s.gaps, self->trace.perf_lost);
	EXPECT_EQ(s.missing, tally.lost + self->trace.perf_lost);
	EXPECT_EQ(s.damaged, 0);
	EXPECT_EQ(s.backwards, 0);
}

/*
 * The test does not read the AUX area until the engine's buffer has wrapped. It then gets the
 * records that were written before the area was full, and the records after it began to read, up to
 * the newest. The driver counts the records between these two parts as lost.
 */
#define AUX_PAGES	4
#define ROUND		4096	/* number of records that the engine's buffer holds */

TEST_F_TIMEOUT(imc_trace, aux_area_has_newest_records_after_the_engine_buffer_wraps, 300)
{
	struct perf_event_attr attr;
	struct stream s = {};
	struct tally tally;
	pid_t child = child_that(work_on, NULL);

	ASSERT_EQ(trace_attr(&attr), 0);
	ASSERT_EQ(pmu_event_open(&self->trace.events[0], &attr, -1, 0), 0);
	self->trace.nr = 1;
	ASSERT_EQ(pmu_event_map(&self->trace.events[0], 16, AUX_PAGES), 0);
	tally_now(&tally);
	ASSERT_EQ(pmu_event_enable(&self->trace.events[0]), 0);
	reference_wait_records(0, ROUND + ROUND / 2);
	for (int i = 0; i < 100; i++) {
		read_stream(&self->trace.events[0], &s);
		reference_wait_records(0, 2);
	}
	ASSERT_EQ(pmu_event_disable(&self->trace.events[0]), 0);
	read_stream(&self->trace.events[0], &s);
	end_child(child);
	tally_since(&tally);
	TH_LOG("written %lld, in the area %lld, lost %lld", tally.written, s.records, tally.lost);
	EXPECT_GT(tally.lost, ROUND / 4);
	EXPECT_GT(s.records, AUX_PAGES * sysconf(_SC_PAGESIZE) / 64 + 100);
	EXPECT_EQ(s.number + 1, reference_number("cpu", 0, "records"));
	EXPECT_EQ(tally.written, s.records + tally.lost);
	EXPECT_EQ(tally.handed, s.records);
	EXPECT_LE(s.missing, tally.lost);
	EXPECT_EQ(s.damaged, 0);
	EXPECT_EQ(s.backwards, 0);
}

/* The smallest area is a page, which holds 64 records. */
TEST_F_TIMEOUT(imc_trace, aux_areas_of_1_to_1024_pages_work, 300)
{
	struct pmu_event *event = &self->trace.events[0];
	struct perf_event_attr attr;
	struct tally tally;

	self->trace.nr = 1;
	for (unsigned int pages = 1; pages <= 1024; pages *= 2) {
		struct stream s = {};

		ASSERT_EQ(trace_attr(&attr), 0);
		ASSERT_EQ(pmu_event_open(event, &attr, -1, 0), 0);
		ASSERT_EQ(pmu_event_map(event, 16, pages), 0) TH_LOG("%u pages", pages);
		tally_now(&tally);
		ASSERT_EQ(pmu_event_enable(event), 0);
		reference_wait_records(0, SOME);
		ASSERT_EQ(pmu_event_disable(event), 0);
		read_stream(event, &s);
		tally_since(&tally);
		EXPECT_LE(SOME, s.records) TH_LOG("%u pages", pages);
		EXPECT_EQ(tally.written, s.records + tally.lost);
		EXPECT_EQ(tally.handed, s.records);
		EXPECT_EQ(s.damaged + s.backwards, 0);
		pmu_event_close(event);
	}
}

/* PERF_RECORD_AUX with sample_id_all */
struct aux_record {
	struct perf_event_header header;
	__u64 offset, size, flags;
	__u32 pid, tid;
	__u32 cpu, reserved;
};

static int open_area(struct pmu_event *event)
{
	struct perf_event_attr attr;
	int err = trace_attr(&attr);

	attr.sample_id_all = 1;
	if (!err)
		err = pmu_event_open(event, &attr, -1, 0);
	return err ? err : pmu_event_map(event, 256, AUX_PAGES);
}

/* Reads the next PERF_RECORD_AUX from the data ring. */
static bool next_aux_record(struct pmu_event *event, struct aux_record *aux)
{
	union {
		char bytes[4096];
		struct aux_record aux;
	} record;

	while (pmu_event_record(event, &record, sizeof(record)) > 0) {
		*aux = record.aux;
		if (aux->header.type == PERF_RECORD_AUX)
			return true;
	}
	return false;
}

/* The test reads the area only after the event; the last AUX record must report missing data. */
TEST_F(imc_trace, last_aux_record_of_a_full_area_has_the_partial_flag)
{
	long room = AUX_PAGES * sysconf(_SC_PAGESIZE) / 64;
	struct aux_record aux, last = {};
	struct tally tally;
	__u64 bytes = 0;

	ASSERT_EQ(open_area(&self->trace.events[0]), 0);
	self->trace.nr = 1;
	tally_now(&tally);
	ASSERT_EQ(pmu_event_enable(&self->trace.events[0]), 0);
	reference_wait_records(0, 2 * room);
	ASSERT_EQ(pmu_event_disable(&self->trace.events[0]), 0);
	tally_since(&tally);
	while (next_aux_record(&self->trace.events[0], &aux)) {
		last = aux;
		bytes += aux.size;
	}
	TH_LOG("written %lld, in the area %llu, lost %lld", tally.written, bytes / 64, tally.lost);
	EXPECT_EQ(tally.handed, bytes / 64);
	EXPECT_EQ(tally.lost, tally.written - tally.handed);
	EXPECT_GT(tally.lost, room / 2);
	EXPECT_TRUE(last.flags & PERF_AUX_FLAG_PARTIAL);
}

/* Events of a task, one per CPU: every record of the engine is delivered or counted as lost. */
static void switch_often(void *data)
{
	for (;;) {
		work_split();
		usleep(300);
	}
}

TEST_F(imc_trace, each_record_of_a_task_is_delivered_or_counted_as_lost)
{
	long long end = now_ms() + 60000, before = reference_sum("cpu", "records");
	struct sequence s = {};
	struct tally tally;
	pid_t child = child_that(switch_often, NULL);

	ASSERT_EQ(trace_open(&self->trace, 64, child), 0);
	tally_now(&tally);
	ASSERT_EQ(trace_enable(&self->trace), 0);
	while (reference_sum("cpu", "records") < before + 100 && now_ms() < end) {
		usleep(POLL_US);
		trace_read(&self->trace, follow, &s);
	}
	ASSERT_EQ(trace_disable(&self->trace), 0);
	ASSERT_EQ(trace_read(&self->trace, follow, &s), 0);
	end_child(child);
	tally_since(&tally);
	TH_LOG("written %lld, samples %lld, lost %lld", tally.written, self->trace.samples,
	       tally.lost);
	EXPECT_GE(tally.written, 100);
	EXPECT_EQ(tally.written, self->trace.samples + tally.lost + self->trace.perf_lost);
	EXPECT_EQ(s.damaged, 0);
}

/*
 * perf stops an event when its buffer is unmapped. Records that the engine writes after that belong
 * to no event. The next event must not get these records, nor lose records because of them.
 */
static void expect_newer(const struct trace_sample *sample, void *data)
{
	struct newer *newer = data;

	newer->old += sample->number < newer->from[sample->cpu % MAX_CPUS];
}

static void newer_from_now(struct newer *newer, const struct trace *trace)
{
	for (int i = 0; i < trace->nr; i++)
		newer->from[trace->cpus[i]] = reference_number("cpu", trace->cpus[i], "records");
}

TEST_F(imc_trace, new_event_gets_no_records_written_after_munmap_of_the_previous_event)
{
	struct sequence s = {};
	struct newer newer = {};
	pid_t child = child_that(work_on, NULL);

	for (int round = 0; round < 3; round++) {
		ASSERT_EQ(trace_open(&self->trace, 64, -1), 0);
		newer_from_now(&newer, &self->trace);
		ASSERT_EQ(trace_enable(&self->trace), 0);
		run_records(&self->trace, 20, false, &s);
		ASSERT_EQ(trace_read(&self->trace, expect_newer, &newer), 0);
		EXPECT_GT(self->trace.samples, 20);
		trace_unmap(&self->trace);
		run_records(&self->trace, 20, false, &s);
		trace_close(&self->trace);
	}
	end_child(child);
	EXPECT_EQ(newer.old, 0);
}

/* Attribution of samples */

struct shares {
	__u32 pid;
	long long all, user, kernel, of_work[NR_WORKS];
	unsigned int wrong;		/* samples whose mode contradicts their address */
};

static bool is_kernel_address(__u64 ip)
{
	return ip >> 63;
}

static void share(const struct trace_sample *sample, void *data)
{
	struct shares *shares = data;
	int which = work_of(sample->ip);

	shares->wrong += sample->user == is_kernel_address(sample->ip);
	if (sample->pid != shares->pid)
		return;
	shares->all++;
	if (!sample->user)
		shares->kernel++;
	else
		shares->user++;
	if (sample->user && which >= 0)
		shares->of_work[which]++;
}

static bool within(long long part, long long whole, double percent)
{
	double points = 100.0 * part / whole - percent;

	return points <= POINTS && points >= -POINTS;
}

static void collect(struct trace *trace, struct shares *shares, long long wanted)
{
	long long end = now_ms() + 240000;

	while (shares->all < wanted && now_ms() < end) {
		usleep(POLL_US);
		trace_read(trace, share, shares);
	}
	trace_disable(trace);
	trace_read(trace, share, shares);
}

TEST_F_TIMEOUT(imc_trace, samples_per_function_match_the_share_of_work, 300)
{
	pid_t child = child_that(work_on, NULL);
	struct shares shares = { .pid = child };
	long long works;

	ASSERT_EQ(trace_open(&self->trace, 256, -1), 0);
	ASSERT_EQ(trace_enable(&self->trace), 0);
	collect(&self->trace, &shares, WANTED * 11 / 10);
	end_child(child);
	works = shares.of_work[0] + shares.of_work[1] + shares.of_work[2];
	TH_LOG("%lld samples, in works %lld: %lld %lld %lld", shares.all, works, shares.of_work[0],
	       shares.of_work[1], shares.of_work[2]);
	ASSERT_GE(works, WANTED);
	EXPECT_TRUE(within(shares.of_work[0], works, 70));
	EXPECT_TRUE(within(shares.of_work[1], works, 20));
	EXPECT_TRUE(within(shares.of_work[2], works, 10));
	EXPECT_EQ(shares.wrong, 0);
}

/*
 * Compares trace_imc with cpu-clock, which samples the same programs at the same rate: an emulated
 * machine distorts time for both events alike.
 */
static void both_modes(void *data)
{
	for (;;) {
		work_in_kernel(3);
		work_in_user(7);
	}
}

static int clock_open(struct pmu_event *event, int cpu, long long period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.sample_type = PERF_SAMPLE_TID,
		.disabled = 1,
	};

	return pmu_event_open(event, &attr, -1, cpu) ?: pmu_event_map(event, 256, 0);
}

static void clock_read(struct pmu_event *event, struct shares *shares)
{
	union {
		char bytes[4096];
		struct {
			struct perf_event_header header;
			__u32 pid, tid;
		} sample;
	} record;

	while (pmu_event_record(event, &record, sizeof(record)) > 0) {
		unsigned int mode = record.sample.header.misc & PERF_RECORD_MISC_CPUMODE_MASK;

		if (record.sample.header.type != PERF_RECORD_SAMPLE ||
		    record.sample.pid != shares->pid)
			continue;
		shares->all++;
		shares->kernel += mode == PERF_RECORD_MISC_KERNEL;
	}
}

TEST_F_TIMEOUT(imc_trace, share_of_kernel_mode_samples_matches_cpu_clock, 300)
{
	long long period_ns = reference_number("core", 0, "period_ns"), end = now_ms() + 240000;
	pid_t child = child_that(both_modes, NULL);
	struct shares ours = { .pid = child }, clocks = { .pid = child };
	struct pmu_event clock[MAX_CPUS];

	ASSERT_GT(period_ns, 0);
	ASSERT_EQ(trace_open(&self->trace, 256, -1), 0);
	for (int i = 0; i < self->trace.nr; i++)
		ASSERT_EQ(clock_open(&clock[i], self->trace.cpus[i], period_ns), 0);
	ASSERT_EQ(trace_enable(&self->trace), 0);
	for (int i = 0; i < self->trace.nr; i++)
		ASSERT_EQ(pmu_event_enable(&clock[i]), 0);
	while ((ours.all < WANTED || clocks.all < WANTED) && now_ms() < end) {
		usleep(POLL_US);
		trace_read(&self->trace, share, &ours);
		for (int i = 0; i < self->trace.nr; i++)
			clock_read(&clock[i], &clocks);
	}
	end_child(child);
	for (int i = 0; i < self->trace.nr; i++)
		pmu_event_close(&clock[i]);
	TH_LOG("%lld samples, kernel %lld; cpu-clock %lld, kernel %lld", ours.all, ours.kernel,
	       clocks.all, clocks.kernel);
	ASSERT_GE(ours.all, WANTED);
	ASSERT_GE(clocks.all, WANTED);
	EXPECT_GT(ours.kernel, ours.all / 10);
	EXPECT_TRUE(within(ours.kernel, ours.all, 100.0 * clocks.kernel / clocks.all));
	EXPECT_EQ(ours.wrong, 0);
}

/* Short-lived threads */

struct threads {
	unsigned int units;		/* units of work that each thread does */
	__u32 pid, tids[NR_WORKS];
	long long right[NR_WORKS], wrong, without;
	struct trace_sample first_wrong;
};

static struct threads *shared;

static void *one_thread(void *data)
{
	int which = (int)(intptr_t)data;

	__atomic_store_n(&shared->tids[which], syscall(SYS_gettid), __ATOMIC_RELEASE);
	work(which, shared->units);
	return NULL;
}

/* Runs eight threads, three at a time. */
static void come_and_go(void *data)
{
	pthread_t threads[NR_WORKS];

	for (int i = 0; i < NR_WORKS + 3; i++) {
		if (i >= 3)
			pthread_join(threads[i - 3], NULL);
		if (i < NR_WORKS)
			pthread_create(&threads[i], NULL, one_thread, (void *)(intptr_t)i);
	}
}

static void attribute(const struct trace_sample *sample, void *data)
{
	struct threads *threads = data;
	int which = sample->user ? work_of(sample->ip) : -1;

	if (which < 0)
		return;
	if (sample->pid == threads->pid && sample->tid == threads->tids[which])
		threads->right[which]++;
	else if (sample->tid == 0 || (int32_t)sample->tid == -1)
		threads->without++;
	else if (!threads->wrong++)
		threads->first_wrong = *sample;
}

static void trace_threads(struct __test_metadata *_metadata, struct trace *trace,
			  struct threads *threads)
{
	bool done = false;
	pid_t child;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(shared, MAP_FAILED);
	shared->units = 250 * work_units_per_ms();
	ASSERT_EQ(trace_enable(trace), 0);
	child = child_that(come_and_go, NULL);
	threads->pid = child;
	while (!done) {
		usleep(POLL_US);
		done = waitpid(child, NULL, WNOHANG) == child;
	}
	ASSERT_EQ(trace_disable(trace), 0);
	memcpy(threads->tids, shared->tids, sizeof(threads->tids));
	/* The ring is large enough for all samples. */
	ASSERT_EQ(trace_read(trace, attribute, threads), 0);
	ASSERT_EQ(trace->perf_lost, 0);
	for (int i = 0; i < NR_WORKS; i++) {
		TH_LOG("thread %u: %lld samples", threads->tids[i], threads->right[i]);
		EXPECT_GT(threads->right[i], 20);
	}
	EXPECT_EQ(threads->wrong, 0)
		TH_LOG("the first: thread %u in work %d", threads->first_wrong.tid,
		       work_of(threads->first_wrong.ip));
	EXPECT_EQ(threads->without, 0);
}

TEST_F_TIMEOUT(imc_trace, attributes_samples_to_the_right_short_lived_threads, 300)
{
	struct threads threads = {};

	ASSERT_EQ(trace_open(&self->trace, 1024, -1), 0);
	trace_threads(_metadata, &self->trace, &threads);
}

/* As the previous test, but with an event of a task that its threads inherit */
TEST_F_TIMEOUT(imc_trace, attributes_samples_to_the_right_threads_that_inherit_the_event, 300)
{
	struct threads threads = {};

	ASSERT_EQ(trace_open(&self->trace, 1024, getpid()), 0);
	trace_threads(_metadata, &self->trace, &threads);
}

/*
 * A PERF_RECORD_AUX has the PID of the task that its data belongs to, even if the area is full at
 * each task switch.
 */
#define OWNERS		2
#define STREAM_BYTES	(1 << 20)

struct owned {
	pid_t pids[OWNERS];
	__u64 words[STREAM_BYTES / 8];
	size_t bytes;
	long long right, wrong;
};

static void own_work(void *data)
{
	int which = *(int *)data;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (;;)
		work(which, 1);
}

static void check_owner(struct owned *owned, const struct aux_record *aux)
{
	for (__u64 at = aux->offset; at < aux->offset + aux->size && at < owned->bytes; at += 64) {
		const __u64 *record = &owned->words[at / 8];
		int which = be64toh(record[2]) >> 62 & 1 ? work_of(be64toh(record[1])) : -1;

		if (which < 0 || which >= OWNERS)
			continue;
		if ((pid_t)aux->pid == owned->pids[which])
			owned->right++;
		else
			owned->wrong++;
	}
}

TEST_F_TIMEOUT(imc_trace, aux_records_have_the_pid_of_the_traced_task, 300)
{
	static struct owned owned;
	struct aux_record aux;
	int which;

	for (which = 0; which < OWNERS; which++)
		owned.pids[which] = child_that(own_work, &which);
	ASSERT_EQ(open_area(&self->trace.events[0]), 0);
	self->trace.nr = 1;
	ASSERT_EQ(pmu_event_enable(&self->trace.events[0]), 0);
	for (int round = 0; round < 5; round++) {
		reference_wait_records(0, 400);
		owned.bytes += pmu_event_aux(&self->trace.events[0], &owned.words[owned.bytes / 8],
					     STREAM_BYTES - owned.bytes);
	}
	ASSERT_EQ(pmu_event_disable(&self->trace.events[0]), 0);
	for (which = 0; which < OWNERS; which++)
		end_child(owned.pids[which]);
	while (next_aux_record(&self->trace.events[0], &aux))
		check_owner(&owned, &aux);
	TH_LOG("right %lld, wrong %lld", owned.right, owned.wrong);
	EXPECT_GT(owned.right, 200);
	EXPECT_EQ(owned.wrong, 0);
}

TEST_HARNESS_MAIN
