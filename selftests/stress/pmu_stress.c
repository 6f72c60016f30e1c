// SPDX-License-Identifier: GPL-2.0-only
/*
 * pmu_stress --pmu PATTERN... [--seed N] [--seconds N] [--workers N] [--unprivileged N]
 *            [--least-opens N] [--least-aux N] [--module NAME] [--event TERMS] [--cpu N]
 *            [--bind DRIVER/DEVICE] [--remove DEVICE] [--write FILE=VALUE,...] [--read FOLDER]
 *            [--unload MODULE=FILE[ PARAMETERS],...] [--group FOLDER] [--open-by-number PMU[=TERMS]]
 *
 * Starts workers, which use events, and actors, which change the machine (stress.h). Checks that
 * each of them ends, that enough events were opened and AUX areas mapped, and that the module's
 * reference count is as before. --least-opens and --least-aux are minimums per minute. With the
 * same seed each process makes the same calls, but the scheduler interleaves the processes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"
#include "pmu_event.h"
#include "pmu_machine.h"
#include "stress.h"

#define MOST		16
#define GRACE_SECONDS	60	/* for calls in progress when the time is over */
#define UNPRIVILEGED_ID		65534

struct actor {
	enum stress_deed deed;
	const char *argument;
};

struct options {
	const char *pmus[MOST];
	unsigned int nr_pmus;
	struct actor actors[MOST];
	unsigned int nr_actors;
	unsigned int workers, nobodies;
	__u64 seed, least_opens, least_aux;
	unsigned int seconds;
	const char *module, *terms;
};

struct shared {
	struct stress_tally tallies[2 * MOST];
	__u64 done[MOST];
	struct stress_progress progress;
};

enum {
	OPTION_PMU = STRESS_NR_DEEDS, OPTION_SEED, OPTION_SECONDS, OPTION_WORKERS, OPTION_UNPRIVILEGED,
	OPTION_LEAST_OPENS, OPTION_LEAST_AUX, OPTION_MODULE, OPTION_EVENT,
};

static const struct option plain_options[] = {
	{ "pmu", required_argument, NULL, OPTION_PMU },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "seconds", required_argument, NULL, OPTION_SECONDS },
	{ "workers", required_argument, NULL, OPTION_WORKERS },
	{ "unprivileged", required_argument, NULL, OPTION_UNPRIVILEGED },
	{ "least-opens", required_argument, NULL, OPTION_LEAST_OPENS },
	{ "least-aux", required_argument, NULL, OPTION_LEAST_AUX },
	{ "module", required_argument, NULL, OPTION_MODULE },
	{ "event", required_argument, NULL, OPTION_EVENT },
};

#define PLAIN_OPTIONS	ARRAY_SIZE(plain_options)

/* Adds the PMUs that match now; their names are kept while they are unregistered. */
static bool add_pmus(struct options *options, const char *pattern)
{
	char path[256];
	glob_t found;

	snprintf(path, sizeof(path), PMU_SYSFS "/%s", pattern);
	if (glob(path, 0, NULL, &found))
		return false;
	for (size_t i = 0; i < found.gl_pathc && options->nr_pmus < MOST; i++)
		options->pmus[options->nr_pmus++] = strdup(strrchr(found.gl_pathv[i], '/') + 1);
	globfree(&found);
	return true;
}

static bool take(struct options *options, int option)
{
	__u64 number = strtoull(optarg, NULL, 0);

	switch (option) {
	case OPTION_PMU:
		if (add_pmus(options, optarg))
			return true;
		fprintf(stderr, "pmu_stress: no PMU '%s' in " PMU_SYSFS "\n", optarg);
		return false;
	case OPTION_SEED:
		options->seed = number;
		return true;
	case OPTION_SECONDS:
		options->seconds = number;
		return true;
	case OPTION_WORKERS:
		options->workers = number;
		return number <= MOST;
	case OPTION_UNPRIVILEGED:
		options->nobodies = number;
		return number <= MOST;
	case OPTION_LEAST_OPENS:
		options->least_opens = number;
		return true;
	case OPTION_LEAST_AUX:
		options->least_aux = number;
		return true;
	case OPTION_MODULE:
		options->module = optarg;
		return true;
	case OPTION_EVENT:
		options->terms = optarg;
		return true;
	default:
		if (option < 0 || option >= STRESS_NR_DEEDS || options->nr_actors == MOST)
			return false;
		options->actors[options->nr_actors++] = (struct actor){ option, optarg };
		return true;
	}
}

static bool parse(struct options *options, int argc, char **argv)
{
	struct option all[PLAIN_OPTIONS + STRESS_NR_DEEDS + 1] = { 0 };
	int option;

	memcpy(all, plain_options, sizeof(plain_options));
	for (int deed = 0; deed < STRESS_NR_DEEDS; deed++)
		all[PLAIN_OPTIONS + deed] =
			(struct option){ stress_deed_name(deed), required_argument, NULL, deed };
	while ((option = getopt_long(argc, argv, "", all, NULL)) != -1)
		if (option == '?' || !take(options, option))
			return false;
	return optind == argc && options->nr_pmus;
}

/* Reference count of the module, or -errno. */
static long long users_of(const char *module)
{
	long long users;
	char path[256];
	int err;

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", module);
	err = read_number(path, &users);
	return err ? err : users;
}

/* Waits, because the kernel may drop the last reference a moment after the last close. */
static bool users_return_to(const char *module, long long before)
{
	for (unsigned int step = 0; step < 500; step++) {
		if (users_of(module) == before)
			return true;
		usleep(10000);
	}
	return false;
}

/* A worker ignores SIGTRAP, which attr.sigtrap may send. Any other signal ends the worker. */
static pid_t start_worker(const struct options *options, unsigned int number, long long until,
			  struct shared *shared)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	signal(SIGTRAP, SIG_IGN);
	if (number >= options->workers && (setgid(UNPRIVILEGED_ID) || setuid(UNPRIVILEGED_ID)))
		_exit(1);
	stress_events(options->pmus, options->nr_pmus, options->terms, options->seed + number,
		      until, &shared->tallies[number], &shared->progress);
	_exit(0);
}

static pid_t start_actor(const struct options *options, unsigned int number, long long until,
			 struct shared *shared)
{
	const struct actor *actor = &options->actors[number];
	pid_t pid = fork();
	int err;

	if (pid)
		return pid;
	err = stress_act(actor->deed, actor->argument, options->seed + 1000 + number, until,
			 &shared->done[number], &shared->progress);
	if (err)
		ksft_print_msg("%s %s: %s\n", stress_deed_name(actor->deed), actor->argument,
			       strerror(-err));
	_exit(!!err);
}

/* Prints the kernel stacks of all processes in state D. */
static void print_stacks(void)
{
	char path[128], name[64], stack[2048], state;
	glob_t found;

	if (glob("/proc/[0-9]*", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		snprintf(path, sizeof(path), "%s/stat", found.gl_pathv[i]);
		if (read_text(path, stack, sizeof(stack)) ||
		    sscanf(stack, "%*d (%63[^)]) %c", name, &state) != 2 || state != 'D')
			continue;
		snprintf(path, sizeof(path), "%s/stack", found.gl_pathv[i]);
		if (!read_text(path, stack, sizeof(stack)))
			ksft_print_msg("%s (%s) hangs:\n%s\n", found.gl_pathv[i], name, stack);
	}
	globfree(&found);
}

/* True if the process exits with status 0. A process that does not end hangs in the kernel. */
static bool ends_well(pid_t pid, long long by_ms)
{
	int status = 0;
	pid_t ended;

	while (!(ended = waitpid(pid, &status, WNOHANG)) && now_ms() < by_ms)
		usleep(10000);
	if (!ended)
		print_stacks();
	if (ended == pid && WIFSIGNALED(status))
		ksft_print_msg("ended by signal %d\n", WTERMSIG(status));
	return ended == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void run(const struct options *options, struct shared *shared)
{
	long long until = now_ms() + options->seconds * 1000LL, by = until + GRACE_SECONDS * 1000LL;
	unsigned int workers = options->workers + options->nobodies;
	pid_t worker[2 * MOST], actor[MOST];

	for (unsigned int i = 0; i < workers; i++) {
		worker[i] = start_worker(options, i, until, shared);
		/* Some PMUs support one event at a time: let the first worker begin alone. */
		while (!i && !__atomic_load_n(&shared->tallies[i].begun, __ATOMIC_ACQUIRE) &&
		       now_ms() < until)
			usleep(1000);
	}
	for (unsigned int i = 0; i < options->nr_actors; i++)
		actor[i] = start_actor(options, i, until, shared);
	for (unsigned int i = 0; i < workers; i++)
		ksft_test_result(worker[i] > 0 && ends_well(worker[i], by),
				 "worker %u%s exits with status 0\n", i,
				 i >= options->workers ? " without privileges" : "");
	for (unsigned int i = 0; i < options->nr_actors; i++)
		ksft_test_result(actor[i] > 0 && ends_well(actor[i], by) && shared->done[i],
				 "%s %s: %llu times\n", stress_deed_name(options->actors[i].deed),
				 options->actors[i].argument, (unsigned long long)shared->done[i]);
}

static struct stress_tally sum_of(const struct stress_tally *tallies, unsigned int count)
{
	struct stress_tally sum = { 0 };

	for (unsigned int i = 0; i < count; i++) {
		sum.opens += tallies[i].opens;
		sum.refused += tallies[i].refused;
		sum.data_maps += tallies[i].data_maps;
		sum.aux_maps += tallies[i].aux_maps;
		sum.reads += tallies[i].reads;
		sum.ioctls += tallies[i].ioctls;
		sum.steps += tallies[i].steps;
	}
	return sum;
}

/*
 * Returns the minimum for this run. It is 1 for a run of less than a minute, because each worker
 * opens an event in its fixed first steps.
 */
static __u64 floor_of(const struct options *options, __u64 a_minute)
{
	__u64 wanted = a_minute * (options->seconds / 60);

	return wanted || !a_minute ? wanted : 1;
}

#define CALLS "opens=%llu refused=%llu data_maps=%llu aux_maps=%llu reads=%llu ioctls=%llu"

int main(int argc, char **argv)
{
	struct options options = { .seed = 1, .seconds = 10, .workers = 2, .least_opens = 1 };
	struct stress_tally sum;
	struct shared *shared;
	long long users = 0;
	__u64 opens, aux;

	if (!parse(&options, argc, argv)) {
		fprintf(stderr,
			"usage: pmu_stress --pmu PATTERN... [options], see the head of its source\n");
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	if (!stress_hold_static_keys())
		ksft_exit_fail_msg("no software event: %s\n", strerror(errno));
	if (options.module)
		users = users_of(options.module);

	ksft_print_header();
	ksft_set_plan(options.workers + options.nobodies + options.nr_actors + 1 +
		      !!options.module);
	run(&options, shared);
	sum = sum_of(shared->tallies, options.workers + options.nobodies);
	opens = floor_of(&options, options.least_opens);
	aux = floor_of(&options, options.least_aux);
	ksft_test_result(sum.opens >= opens && sum.aux_maps >= aux,
			 "seed=%llu steps=%llu " CALLS ", wanted opens=%llu aux_maps=%llu\n",
			 options.seed, sum.steps, sum.opens, sum.refused, sum.data_maps,
			 sum.aux_maps, sum.reads, sum.ioctls, opens, aux);
	if (options.module)
		ksft_test_result(users >= 0 && users_return_to(options.module, users),
				 "%s has its initial reference count %lld at the end\n",
				 options.module, users);
	ksft_finished();
}
