/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pmu_stress: unusual calls on events of a PMU, in an order that depends on a seed. Workers use
 * events, actors change the machine. The kernel must log no warning, and the module must be
 * unloadable afterwards. The values of counts and records are not checked.
 */
#ifndef PMUKIT_SELFTESTS_STRESS_H
#define PMUKIT_SELFTESTS_STRESS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#define STRESS_NAME_BYTES	64
#define STRESS_MOST_TERMS	32
#define STRESS_MOST_EVENTS	64

struct pmu_event;

struct stress_random {
	__u64 state;	/* not 0 */
};

struct stress_random stress_seeded(__u64 seed);
__u64 stress_next(struct stress_random *random);
/* Returns a number in [0, n); n must be above 0. */
unsigned int stress_below(struct stress_random *random, unsigned int n);
bool stress_one_in(struct stress_random *random, unsigned int n);
/* Returns a small number, a power of two, one more or less, all ones, or random bits. */
__u64 stress_number(struct stress_random *random);

/* A term of a PMU, from a file in format/: bits of a config word */
struct stress_term {
	unsigned int word;	/* 0: config, 1: config1, 2: config2 */
	unsigned int first, bits;
};

struct stress_pmu {
	char name[STRESS_NAME_BYTES];
	int type;
	int cpu;		/* first CPU of the cpumask; -1: no cpumask */
	unsigned int nr_terms, nr_events;
	struct stress_term terms[STRESS_MOST_TERMS];
	__u64 events[STRESS_MOST_EVENTS][3];
};

/* Reads the description of a PMU in sysfs. Returns 0, or -errno if the PMU is not registered. */
int stress_pmu_read(struct stress_pmu *pmu, const char *name);

/*
 * Adds an event such as "event=0x05,umask=0xcf" to pmu->events; a term without a value means 1. No
 * effect if the PMU lacks one of the terms.
 */
void stress_pmu_add_event(struct stress_pmu *pmu, const char *terms);

/*
 * Reads the description of a PMU and chooses its first event: the one that terms describe, or the
 * first in sysfs if terms is NULL. Returns -EINVAL if there is no such event.
 */
int stress_pmu_choose(struct stress_pmu *pmu, const char *name, const char *terms);

/* The chosen event, disabled. */
struct perf_event_attr stress_pmu_first_event(const struct stress_pmu *pmu);

/* A CPU on which events of the PMU can be opened. */
int stress_pmu_some_cpu(const struct stress_pmu *pmu);

/* The PMU that a program tests, from its options. */
struct stress_subject {
	struct stress_pmu pmu;
	const char *name, *terms;	/* from the options; terms may be NULL */
	unsigned int aux_pages;		/* 0: events only count */
};

struct option;

/*
 * Parses --pmu PMU, which is required, --event TERMS and --aux PAGES. @others are the additional
 * options of the program, terminated by an option without a name; or NULL. For each of them that is
 * given, the function calls @other with @data and the option's val, which must be below 256. @other
 * returns false if optarg is invalid. Returns true if argv is valid.
 */
bool stress_subject_parse(struct stress_subject *subject, int argc, char **argv,
			  const struct option *others, bool (*other)(void *data, int option),
			  void *data);

/* Prints the TAP header and reads the PMU's description; ends the program if the PMU is missing. */
void stress_subject_choose(struct stress_subject *subject);

/* Returns the event, disabled. With an AUX area it samples, because some PMUs require that. */
struct perf_event_attr stress_subject_attr(const struct stress_subject *subject);

/* Opens the event system-wide. Returns 0 or -errno. */
int stress_subject_open(const struct stress_subject *subject, struct pmu_event *event);

/*
 * Opens the event, maps its ring and, with aux_pages, an AUX area, and enables the event. Returns 0
 * or -errno; the caller closes the event in both cases.
 */
int stress_subject_start(const struct stress_subject *subject, struct pmu_event *event);

/*
 * Counts of a worker, in memory shared with the process that checks the results. @opens and
 * @refused count PMU events, but no software events.
 */
struct stress_tally {
	__u64 opens, refused, data_maps, aux_maps, reads, ioctls, steps;
	bool begun;	/* the fixed steps at the start are done */
};

/*
 * Shared by all processes, so that an actor that removes a PMU can wait until events used the PMU.
 */
struct stress_progress {
	__u64 opened;		/* number of opened PMU events */
	__u64 wanted;		/* the next removal waits until @opened has this value */
	long long since_ms;	/* time of the last removal, by now_ms() */
	__u64 offlines;		/* number of times that a CPU went offline, or is just going */
};

/*
 * Opens, maps, enables, reads, corrupts and closes events of the PMUs until now_ms() is until_ms.
 * Looks up names repeatedly, as PMUs are removed and added. terms: an event that is not in sysfs,
 * or NULL. First starts an event with an AUX area on each PMU that supports AUX areas, so that even
 * a short run has such events with any seed. Leaves nothing open.
 */
void stress_events(const char *const *names, unsigned int nr_names, const char *terms, __u64 seed,
		   long long until_ms, struct stress_tally *tally,
		   struct stress_progress *progress);

/*
 * Opens software events of the calling task that stay open until it and its children end, so that
 * no static key of perf is switched meanwhile. Must be called first: Linux 6.1 cannot open them
 * while a PMU is being unregistered. Returns false, with errno, if not all of them are open.
 */
bool stress_hold_static_keys(void);

/* Actions of the actors, each with its argument. */
enum stress_deed {
	STRESS_CPU,	/* number of a CPU: takes it offline and online */
	STRESS_BIND,	/* DRIVER/FUNCTION: unbinds and binds the function */
	STRESS_REMOVE,	/* FUNCTION: removes it and rescans the bus */
	STRESS_WRITE,	/* FILE=VALUE,VALUE...: writes one of the values, or an invalid value */
	STRESS_READ,	/* FOLDER: reads all files below it */
	STRESS_UNLOAD,	/* MODULES: unloads them in this order if unused, loads them again */
	STRESS_GROUP,	/* FOLDER of configfs: makes groups, moves tasks, toggles monitoring */
	STRESS_OPEN_BY_NUMBER,	/* PMU or PMU=TERMS: opens events by the PMU's last type number */
	STRESS_NR_DEEDS,
};

/* Long option of a deed; NULL at STRESS_NR_DEEDS. */
const char *stress_deed_name(enum stress_deed deed);

/*
 * Repeats the deed, with pauses, until now_ms() is until_ms, or a while longer until it has
 * succeeded once; restores the machine. @done counts the successes. Returns 0 or -errno. A deed
 * that removes PMUs waits until some events were opened since the last removal, by workers or by
 * STRESS_OPEN_BY_NUMBER. STRESS_OPEN_BY_NUMBER succeeds only if it could open an event.
 *
 * MODULES are separated by commas, each MODULE=FILE[ PARAMETERS].
 */
int stress_act(enum stress_deed deed, const char *argument, __u64 seed, long long until_ms,
	       __u64 *done, struct stress_progress *progress);

#endif
