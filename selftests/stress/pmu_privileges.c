// SPDX-License-Identifier: GPL-2.0-only
/*
 * pmu_privileges --pmu PMU --policy capability|paranoid [--event TERMS] [--aux PAGES] [--task]
 *                [--tree FOLDER]... [--busy]
 *
 * Tests the privileges that a PMU requires: each kind of user opens an event at each value of
 * perf_event_paranoid, and the result must match the driver's policy, which this test states
 * independently. Files of the PMU are not writable by users without privileges, and show no address
 * of the kernel, of memory or of a device. An AUX area is zero before the recording and after the
 * recorded data, and the data has no poison word; with page_poison=1 and slab_debug this detects
 * leaked freed memory.
 *
 *   capability   events need CAP_PERFMON at each perf_event_paranoid
 *   paranoid     events of a CPU need CAP_PERFMON if perf_event_paranoid is above 0, as those of
 *                any PMU
 *   --task       the event counts the user's own process: it needs CAP_PERFMON if
 *                perf_event_paranoid is above 1, because it also counts in the kernel
 *   --tree       a folder whose files are checked like those of the PMU; of a PCI function only
 *                folders of the driver, as files of the PCI core have addresses
 *   --busy       the device has data: it must appear in the AUX area, and samples are checked
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"
#include "pmu_event.h"
#include "stress.h"

#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"
#define LEAST_LEVEL	-1
#define MOST_LEVEL	3	/* exists only in Debian: any open needs CAP_SYS_ADMIN */
#define UNPRIVILEGED_ID		65534
#define DATA_PAGES	8
#define DEEPEST		4	/* levels of folders */
#define MOST_TREES	64
#define MOST_PLACES	64
#define LOW_MEMORY	0x100000	/* the test treats no lower number as an address */
#define HEX_DIGITS	"0123456789abcdefABCDEF"
#define RUN_US		300000
#define MOST_RUNS	20	/* limit of the periods of RUN_US until data is recorded */

/* A range of physical addresses, first and last inclusive. */
struct place {
	__u64 first, last;
};

struct subject {
	struct stress_subject of;
	const char *trees[MOST_TREES];
	unsigned int nr_trees, nr_places;
	struct place places[MOST_PLACES];
	/* known: the option --policy was given. needs_capability: its argument is "capability". */
	bool known, needs_capability;
	bool task, busy;
};

/* Users */

/* Becomes an unprivileged user with only this capability. */
static int keep_capability(int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (prctl(PR_SET_KEEPCAPS, 1) || setgid(UNPRIVILEGED_ID) || setuid(UNPRIVILEGED_ID))
		return -errno;
	data[CAP_TO_INDEX(capability)].permitted = CAP_TO_MASK(capability);
	data[CAP_TO_INDEX(capability)].effective = CAP_TO_MASK(capability);
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static int become_root(void)
{
	return 0;
}

static int become_observer(void)
{
	return keep_capability(CAP_PERFMON);
}

static int become_administrator(void)
{
	return keep_capability(CAP_SYS_ADMIN);
}

static int become_unprivileged(void)
{
	return setgid(UNPRIVILEGED_ID) || setuid(UNPRIVILEGED_ID) ? -errno : 0;
}

/* Becomes a user that has all capabilities, but only in a new user namespace. */
static int become_root_of_a_namespace(void)
{
	return become_unprivileged() ?: unshare(CLONE_NEWUSER) ? -errno : 0;
}

static const struct user {
	const char *name;
	int (*become)(void);
	bool capable;
	bool optional;		/* not supported by all kernels */
} users[] = {
	{ "root", become_root, true, false },
	{ "a user with CAP_PERFMON", become_observer, true, false },
	{ "a user with CAP_SYS_ADMIN", become_administrator, true, false },
	{ "unprivileged", become_unprivileged, false, false },
	{ "root of a user namespace", become_root_of_a_namespace, false, true },
};

#define NR_USERS	ARRAY_SIZE(users)

/* Opening */

static bool may_open(const struct subject *subject, const struct user *user, int level)
{
	if (user->capable)
		return true;
	return !subject->needs_capability && level <= (subject->task ? 1 : 0);
}

static int open_event(const struct subject *subject, struct pmu_event *event)
{
	struct perf_event_attr attr = stress_subject_attr(&subject->of);

	if (subject->task)
		return pmu_event_open(event, &attr, 0, -1);
	return stress_subject_open(&subject->of, event);
}

#define CANNOT_BECOME	255

/* Returns the result of what() in a child process of this user: 0 or an errno. */
static int ask(const struct subject *subject, const struct user *user,
	       int (*what)(const struct subject *subject))
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		if (user->become())
			_exit(CANNOT_BECOME);
		_exit(-what(subject));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return CANNOT_BECOME;
	return WEXITSTATUS(status);
}

static int try_to_open(const struct subject *subject)
{
	struct pmu_event event = { .fd = -1 };

	return open_event(subject, &event);
}

/* Opens an event that any user may open, unless the administrator forbids all events. */
static int try_the_least(const struct subject *subject)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1, .exclude_hv = 1,
	};
	struct pmu_event event = { .fd = -1 };

	return pmu_event_open(&event, &attr, 0, -1);
}

static void test_levels(const struct subject *subject, const struct user *user)
{
	bool good = true, absent = false;
	char text[16];

	for (int level = LEAST_LEVEL; level <= MOST_LEVEL; level++) {
		int got, wanted = EACCES;

		snprintf(text, sizeof(text), "%d", level);
		good &= !write_text(PARANOID, text);
		if (may_open(subject, user, level))
			wanted = ask(subject, user, try_the_least);
		got = ask(subject, user, try_to_open);
		absent |= got == CANNOT_BECOME && user->optional;
		if (got != wanted && !absent)
			ksft_print_msg("at %d: %s, not %s\n", level, strerror(got),
				       strerror(wanted));
		good &= got == wanted || absent;
	}
	ksft_test_result(good, "%s: opens by %s match the policy at each level%s\n",
			 subject->of.name, user->name, absent ? " (this kernel has none)" : "");
}

/* Files */

static bool is_pci_function(const char *name)
{
	unsigned int domain, bus, device, function;

	return sscanf(name, "%4x:%2x:%2x.%1x", &domain, &bus, &device, &function) == 4;
}

/* Reads the addresses of memory and of BARs, which only root can see. Returns 0 or -errno. */
static int read_places(struct subject *subject)
{
	FILE *file = fopen("/proc/iomem", "re");
	char line[256], name[64];
	struct place place;

	if (!file)
		return -errno;
	while (subject->nr_places < MOST_PLACES && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx-%llx : %63[^\n]", &place.first, &place.last, name) != 3 ||
		    place.first < LOW_MEMORY ||
		    (strcmp(name, "System RAM") && !is_pci_function(name)))
			continue;
		subject->places[subject->nr_places++] = place;
	}
	fclose(file);
	return subject->nr_places ? 0 : -ENOENT;
}

/*
 * Returns true for a number after 0x, or with eight or more digits, some of them letters. Other
 * numbers are taken for counts and sizes, so an address in another notation is not detected.
 */
static bool is_like_address(const char *text, const char *number, size_t digits)
{
	if (number >= text + 2 && !strncmp(number - 2, "0x", 2))
		return true;
	return digits >= 8 && strcspn(number, "abcdefABCDEF") < digits;
}

static bool is_address(const struct place *places, unsigned int nr_places, __u64 number)
{
	if (number >> 48 == 0xffff && number != ~0ULL)
		return true;	/* a kernel address */
	for (unsigned int i = 0; i < nr_places; i++)
		if (number >= places[i].first && number <= places[i].last)
			return true;
	return false;
}

static bool has_address(const struct place *places, unsigned int nr_places, const char *text)
{
	size_t digits;

	for (const char *at = text; *at; at += digits ?: 1) {
		digits = strspn(at, HEX_DIGITS);
		if (digits && digits <= 16 && is_like_address(text, at, digits) &&
		    is_address(places, nr_places, strtoull(at, NULL, 16)))
			return true;
	}
	return false;
}

static const char *check_file(const struct subject *subject, const char *path, mode_t mode)
{
	/* The values of terms in events/ may be any number, even one that looks like an address. */
	unsigned int nr_places = strstr(path, "/events/") ? 0 : subject->nr_places;
	char text[4096];
	int fd;

	if (mode & 0002)
		return "everybody may write it";
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return "an unprivileged user may write it";
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	if ((fd >= 0) != !!(mode & 0004))
		return "its read access differs from its mode";
	if (!read_text(path, text, sizeof(text)) && has_address(subject->places, nr_places, text))
		return "has an address";
	return NULL;
}

struct walk {
	const struct subject *subject;
	unsigned int files, bad;
};

static void check_folder(struct walk *walk, const char *path, unsigned int depth)
{
	char below[PATH_MAX];
	struct dirent *entry;
	struct stat status;
	const char *wrong;
	DIR *dir = depth ? opendir(path) : NULL;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' ||
		    snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >=
			    (int)sizeof(below) ||
		    lstat(below, &status))
			continue;
		if (S_ISDIR(status.st_mode))
			check_folder(walk, below, depth - 1);
		if (!S_ISREG(status.st_mode))
			continue;
		wrong = check_file(walk->subject, below, status.st_mode);
		if (wrong)
			ksft_print_msg("%s: %s\n", below, wrong);
		walk->bad += !!wrong;
		walk->files++;
	}
	if (dir)
		closedir(dir);
}

static bool tree_is_good(const struct subject *subject, const char *tree)
{
	struct walk walk = { .subject = subject };
	char path[PATH_MAX];

	/* The name of a PMU or device is a symbolic link; the slash resolves it. */
	snprintf(path, sizeof(path), "%s/", tree);
	check_folder(&walk, path, DEEPEST);
	ksft_print_msg("%s: %u files\n", tree, walk.files);
	return walk.files && !walk.bad;
}

static int check_files(const struct subject *subject)
{
	char own[PATH_MAX];
	bool good;

	snprintf(own, sizeof(own), PMU_SYSFS "/%s", subject->of.name);
	good = tree_is_good(subject, own);
	for (unsigned int i = 0; i < subject->nr_trees; i++)
		good &= tree_is_good(subject, subject->trees[i]);
	return good ? 0 : -EPERM;
}

/* AUX areas */

static size_t first_not_zero(const char *bytes, size_t from, size_t to)
{
	while (from < to && !bytes[from])
		from++;
	return from;
}

static bool is_clean(const struct pmu_event *event, size_t from, const char *when)
{
	size_t at = first_not_zero(event->aux, from, event->aux_bytes);

	if (at == event->aux_bytes)
		return true;
	ksft_print_msg("%s: byte %zu of %zu is %#x\n", when, at, event->aux_bytes,
		       (unsigned char)event->aux[at]);
	return false;
}

/* Patterns that kernels write into free pages and objects, and into uninitialized objects. */
static bool is_poison(__u64 word)
{
	return word == 0xaaaaaaaaaaaaaaaaULL || word == 0x6b6b6b6b6b6b6b6bULL ||
	       word == 0x5a5a5a5a5a5a5a5aULL;
}

/* Finds poison of at least 15 bytes, which contains an aligned poison word. */
static bool has_poison(const char *bytes, size_t size)
{
	__u64 word;

	for (size_t at = 0; at + sizeof(word) <= size; at += sizeof(word)) {
		memcpy(&word, bytes + at, sizeof(word));
		if (!is_poison(word))
			continue;
		ksft_print_msg("byte %zu of %zu: %#llx\n", at, size, word);
		return true;
	}
	return false;
}

static bool aux_is_good(const struct subject *subject, const struct pmu_event *event)
{
	__u64 head = __atomic_load_n(&event->page->aux_head, __ATOMIC_ACQUIRE);
	size_t recorded = head < event->aux_bytes ? head : event->aux_bytes;

	if (!head && subject->busy) {
		ksft_print_msg("nothing was recorded\n");
		return false;
	}
	/* After a wrap, the whole area is recorded data. */
	return !has_poison(event->aux, recorded) && is_clean(event, recorded, "recorded");
}

/* Enables the event for RUN_US; with --busy for longer, until head moves. */
static int run_until_recorded(const struct subject *subject, struct pmu_event *event,
			      const __u64 *head)
{
	int err = pmu_event_enable(event);

	for (int i = 0; !err && i < (subject->busy ? MOST_RUNS : 1); i++) {
		usleep(RUN_US);
		if (__atomic_load_n(head, __ATOMIC_ACQUIRE))
			break;
	}
	return err ?: pmu_event_disable(event);
}

static void test_aux(const struct subject *subject)
{
	struct pmu_event event = { .fd = -1 };
	bool good = false;
	int err;

	err = open_event(subject, &event) ?:
	      pmu_event_map(&event, DATA_PAGES, subject->of.aux_pages);
	if (!err) {
		good = is_clean(&event, 0, "fresh");
		err = run_until_recorded(subject, &event, (const __u64 *)&event.page->aux_head);
		good &= aux_is_good(subject, &event);
	}
	if (err)
		ksft_print_msg("%s: %s\n", subject->of.name, strerror(-err));
	pmu_event_close(&event);
	ksft_test_result(!err && good, "%s: an AUX area has only recorded data and zeros\n",
			 subject->of.name);
}

/* Samples */

/* Returns the number of samples, or -1 if a sample has poison or a record is invalid. */
static int check_samples(struct pmu_event *event)
{
	static union {
		struct perf_event_header header;
		char bytes[65536];
	} record;
	int size, samples = 0;

	while ((size = pmu_event_record(event, &record, sizeof(record))) > 0) {
		if (record.header.type != PERF_RECORD_SAMPLE)
			continue;
		if (has_poison(record.bytes, size))
			return -1;
		samples++;
	}
	return size < 0 ? -1 : samples;
}

static void test_samples(const struct subject *subject)
{
	struct perf_event_attr attr = stress_subject_attr(&subject->of);
	struct pmu_event event = { .fd = -1 };
	int err, samples = 0;

	attr.sample_type = PERF_SAMPLE_RAW;
	err = pmu_event_open(&event, &attr, -1, stress_pmu_some_cpu(&subject->of.pmu)) ?:
	      pmu_event_map(&event, DATA_PAGES, 0) ?:
	      run_until_recorded(subject, &event, (const __u64 *)&event.page->data_head);
	if (!err)
		samples = check_samples(&event);
	ksft_print_msg("%s: %d samples, %s\n", subject->of.name, samples, strerror(-err));
	pmu_event_close(&event);
	ksft_test_result(samples > 0, "%s: samples have no data of another task\n",
			 subject->of.name);
}

/* Options */

static bool take(void *data, int option)
{
	struct subject *subject = data;

	switch (option) {
	case 'w':
		subject->needs_capability = !strcmp(optarg, "capability");
		subject->known = subject->needs_capability || !strcmp(optarg, "paranoid");
		return subject->known;
	case 'r':
		if (subject->nr_trees == MOST_TREES)
			return false;
		subject->trees[subject->nr_trees++] = optarg;
		return true;
	case 't':
		subject->task = true;
		return true;
	case 'b':
		subject->busy = true;
		return true;
	default:
		return false;
	}
}

static const struct option options[] = {
	{ "policy", required_argument, NULL, 'w' },
	{ "tree", required_argument, NULL, 'r' },
	{ "task", no_argument, NULL, 't' },
	{ "busy", no_argument, NULL, 'b' },
	{ 0 },
};

int main(int argc, char **argv)
{
	struct subject subject = { 0 };
	char before[16];
	int err;

	if (!stress_subject_parse(&subject.of, argc, argv, options, take, &subject) ||
	    !subject.known) {
		fprintf(stderr,
			"usage: pmu_privileges --pmu PMU --policy POLICY [options], see its head\n");
		return 2;
	}
	stress_subject_choose(&subject.of);
	err = read_text(PARANOID, before, sizeof(before));
	if (err)
		ksft_exit_fail_msg(PARANOID ": %s\n", strerror(-err));
	err = read_places(&subject);
	if (err)
		ksft_exit_fail_msg("/proc/iomem: %s\n", strerror(-err));

	ksft_set_plan(NR_USERS + 1 + !!subject.of.aux_pages + subject.busy);
	for (unsigned int i = 0; i < NR_USERS; i++)
		test_levels(&subject, &users[i]);
	write_text(PARANOID, before);
	ksft_test_result(!ask(&subject, &users[3], check_files),
			 "%s: its files are read-only for unprivileged users and have no address\n",
			 subject.of.name);
	if (subject.of.aux_pages)
		test_aux(&subject);
	if (subject.busy)
		test_samples(&subject);
	ksft_finished();
}
