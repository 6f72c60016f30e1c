/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pmu_stress: unusual calls on events of a PMU, in an order that a seed decides. Workers use the
 * events, actors change the machine. Values are not checked: the kernel must log no warning, and
 * the module must be unloadable afterwards.
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
/* In [0, n); n > 0 */
unsigned int stress_below(struct stress_random *random, unsigned int n);
bool stress_one_in(struct stress_random *random, unsigned int n);
/* Small ones, powers of two and their neighbours, all-ones, anything. */
__u64 stress_number(struct stress_random *random);

/* A PMU as sysfs describes it. */
struct stress_term {
	unsigned int word;	/* 0: config, 1: config1, 2: config2 */
	unsigned int first, bits;
};

struct stress_pmu {
	char name[STRESS_NAME_BYTES];
	int type;
	int cpu;		/* the first of its cpumask; -1: it has none */
	unsigned int nr_terms, nr_events;
	struct stress_term terms[STRESS_MOST_TERMS];
	__u64 events[STRESS_MOST_EVENTS][3];
};

/* Reads name's description; -errno while there is no such PMU. */
int stress_pmu_read(struct stress_pmu *pmu, const char *name);

/* "event=0x05,umask=0xcf"; a word without a value stands for 1. Nothing if the PMU lacks a term. */
void stress_pmu_add_event(struct stress_pmu *pmu, const char *terms);

/*
 * Reads it for its first event: that of terms, or of sysfs if they are NULL. -EINVAL if there is
 * none.
 */
int stress_pmu_choose(struct stress_pmu *pmu, const char *name, const char *terms);

/* That event, disabled. */
struct perf_event_attr stress_pmu_first_event(const struct stress_pmu *pmu);

/* A CPU on which its events can be opened. */
int stress_pmu_some_cpu(const struct stress_pmu *pmu);

/* The one PMU that a program asks about, by its options. */
struct stress_subject {
	struct stress_pmu pmu;
	const char *name, *terms;	/* of options; terms may be NULL */
	unsigned int aux_pages;		/* 0: its events are opened to count only */
};

struct option;

/*
 * Takes --pmu PMU, which there must be, --event TERMS and --aux PAGES. Options of the program's own
 * are others, ended by one without a name (or NULL: none); each goes to other, with data and its
 * val, which must be below 256 and says whether optarg is good. Returns whether all of argv is.
 */
bool stress_subject_parse(struct stress_subject *subject, int argc, char **argv,
			  const struct option *others, bool (*other)(void *data, int option),
			  void *data);

/* Begins the TAP of the program and reads what sysfs says of the PMU; if it lacks, ends it. */
void stress_subject_choose(struct stress_subject *subject);

/* Of its first event, disabled; with an AUX area it samples: some PMUs do nothing else. */
struct perf_event_attr stress_subject_attr(const struct stress_subject *subject);

/* Opens it for the machine. 0 or -errno. */
int stress_subject_open(const struct stress_subject *subject, struct pmu_event *event);

/*
 * Opens it, maps its buffers, an AUX area too if it takes one, and enables it. 0 or -errno; the
 * caller closes it either way.
 */
int stress_subject_start(const struct stress_subject *subject, struct pmu_event *event);

/*
 * What a worker counts, in memory it shares with the process that checks the results. Opens and
 * refusals are those of events of the PMUs; software events beside them do not count.
 */
struct stress_tally {
	__u64 opens, refused, data_maps, aux_maps, reads, ioctls, steps;
	bool begun;	/* what is not left to chance is done */
};

/*
 * Of all processes, in memory they share: how a PMU that was away gets used before it goes again.
 */
struct stress_progress {
	__u64 opened;		/* events of the PMUs */
	__u64 wanted;		/* by then, before one goes again */
	long long since_ms;	/* when one went last, by now_ms() */
};

/*
 * Opens, maps, enables, reads, spoils and closes events of the PMUs until now_ms() is until_ms.
 * names are looked up again now and then, as PMUs come and go. terms: an event that sysfs does not
 * name, or NULL. Before that an event of each PMU that takes an AUX area runs with one, so that a
 * short run has some whatever the seed says. Leaves nothing open.
 */
void stress_events(const char *const *names, unsigned int nr_names, const char *terms, __u64 seed,
		   long long until_ms, struct stress_tally *tally,
		   struct stress_progress *progress);

/*
 * Opens software events of the calling task that stay open until it and its children end, so that
 * no static key of perf is switched meanwhile. Before anything else: Linux 6.1 cannot open them
 * while a PMU goes. False, with errno: not all of them are open.
 */
bool stress_hold_static_keys(void);

/* What each worker does to the machine meanwhile. */
enum stress_deed {
	STRESS_CPU,	/* argument: number of a CPU, which leaves and comes back */
	STRESS_BIND,	/* DRIVER/FUNCTION: unbound from and bound to its driver */
	STRESS_REMOVE,	/* FUNCTION: removed from the bus, which is scanned again */
	STRESS_WRITE,	/* FILE=VALUE,VALUE...: one of these, or something else */
	STRESS_READ,	/* FOLDER: all files below it are read */
	STRESS_UNLOAD,	/* MODULES: unloaded in this order if unused, loaded again */
	STRESS_GROUP,	/* FOLDER of configfs: groups in it, their tasks and switches */
	STRESS_OPEN_BY_NUMBER,	/* PMU or PMU=TERMS: events are opened while it comes and goes */
	STRESS_NR_DEEDS,
};

/* Long option of a deed; NULL at STRESS_NR_DEEDS. */
const char *stress_deed_name(enum stress_deed deed);

/*
 * Does the deed again and again, with pauses, until now_ms() is until_ms, or a while longer until
 * it was done once; leaves the machine as it was. 0 or -errno. A deed that takes PMUs away waits
 * until some events were opened since any deed took one away; those of STRESS_OPEN_BY_NUMBER count as well.
 * A STRESS_OPEN_BY_NUMBER that could open no event is not counted in @done.
 *
 * MODULES are separated by commas, each MODULE=FILE[ PARAMETERS].
 */
int stress_act(enum stress_deed deed, const char *argument, __u64 seed, long long until_ms,
	       __u64 *done, struct stress_progress *progress);

#endif
