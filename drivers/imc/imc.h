/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * imc: what its files share.
 *
 *   imc_main.c     a back-end comes and goes, and the PMUs with it
 *   imc_cpu.c      memory of CPUs and cores, engines, CPU hotplug
 *   imc_event.c    opening events: privileges, what excludes what
 *   imc_counter.c  nest_*, core_imc and thread_imc while they run
 *   imc_trace.c    trace_imc while it runs
 *   imc_probe.c    what is heard of while events are open
 *   imc_sysfs.c    format/, events/, caps/ and alias of a PMU
 *   imc_debugfs.c  the control blocks of the nest engines
 *   imc_catalog_core.c, imc_ring_core.c  the arithmetic
 */
#ifndef IMC_H
#define IMC_H

#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <pmukit/imc.h>
#include <pmukit/imc_backend.h>
#include <pmukit/pmu.h>

#include "imc_core.h"

struct imc;
struct imc_event;
struct imc_pmu;

#define IMC_MAX_CHIPS		32	/* more are left alone */
#define IMC_TRACEPOINTS		2
#define IMC_SECTION		128U	/* records */

/**
 * struct imc_engine - an engine that several events may use
 * @lock: guards @users and the calls of start and stop. Raw, interrupts off; taken under
 *	perf's and the scheduler's locks.
 * @users: events that run
 */
struct imc_engine {
	raw_spinlock_t lock;
	unsigned int users;
};

/**
 * struct imc_core - a core; made when its first CPU comes online, and kept
 * @node: place in imc.cores
 * @engine: of core, thread and trace events alike; a core has one
 * @memory: its counters
 * @prepared: firmware knows of it; hotplug callbacks only
 */
struct imc_core {
	struct list_head node;
	struct imc_engine engine;
	void *memory;
	bool prepared;
};

/**
 * struct imc_chip - a chip
 * @engine: of nest events
 * @id: the back-end's number for it
 * @homer: its memory, the back-end's
 * @bytes: of it
 */
struct imc_chip {
	struct imc_engine engine;
	u32 id;
	void *homer;
	u64 bytes;
};

/**
 * struct imc_cpu - a CPU; kept while it is offline
 * @imc: all of it
 * @cpu: its number
 * @core: its core, once it has been online; never changes again
 * @ready: it is online with all it needs. Written by hotplug callbacks, read on the CPU.
 * @thread_memory: its counters
 * @trace_memory: its trace buffer
 * @nr_threads: thread events that run. This and the following are used on the CPU itself with
 *	interrupts off.
 * @tracing: trace events that run: struct imc_event
 * @ring: the reader of @trace_memory
 * @draining: records are on their way to perf, which may call our stop
 * @timer: looks into the buffer now and then while there are events
 * @since_ns: when the timer last ran
 * @recent: records since then
 * @section: what one drain takes, IMC_SECTION records in the byte order of the CPU
 * @record: the sample being put together
 */
struct imc_cpu {
	struct imc *imc;
	unsigned int cpu;
	struct imc_core *core;
	bool ready;
	void *thread_memory;
	void *trace_memory;

	unsigned int nr_threads;
	struct list_head tracing;
	struct imc_ring ring;
	bool draining;
	struct hrtimer timer;
	u64 since_ns;
	u64 recent;
	u64 (*section)[IMC_RECORD_WORDS];
	struct pmukit_record record;
};

/* A file in events/ */
struct imc_event_file {
	struct device_attribute attr;
	const struct imc_event_desc *event;
	char name[IMC_NAME_BYTES + 8];
};

/**
 * struct imc_kind - what makes the counters of chips, cores and threads different
 * @type: IMC_TYPE_*
 * @ops: for the common part
 * @scope: which CPUs they count for
 * @context: pmu.task_ctx_nr
 * @capabilities: pmu.capabilities
 * @slot: where the counter at @at lies for a CPU; NULL: nowhere
 * @begin: start the engine
 * @end: the opposite
 */
struct imc_kind {
	u32 type;
	const struct pmukit_pmu_ops *ops;
	enum pmukit_scope scope;
	int context;
	int capabilities;
	const __be64 *(*slot)(struct imc_pmu *ipmu, struct imc_cpu *cpu, u64 at);
	int (*begin)(struct imc *imc, struct imc_cpu *cpu);
	void (*end)(struct imc *imc, struct imc_cpu *cpu);
};

/**
 * struct imc_pmu - a unit of the catalogue, one PMU
 * @pp: the common part; its reference count is this structure's
 * @imc: all of it, with a reference
 * @unit: in imc->catalog
 * @kind: how its counters are reached; NULL: it traces
 * @alias: its name in old documents; empty when that is its name
 * @event_files: content of events/
 * @event_attrs: the same for sysfs
 * @events_group: events/
 * @groups: all of sysfs
 */
struct imc_pmu {
	struct pmukit_pmu pp;
	struct imc *imc;
	const struct imc_unit *unit;
	const struct imc_kind *kind;
	char alias[IMC_NAME_BYTES + 16];
	struct imc_event_file *event_files;
	struct attribute **event_attrs;
	struct attribute_group events_group;
	const struct attribute_group *groups[6];
};

/* What has to be heard of while events are open: pages; switches; for a trace, by the driver too */
enum imc_probes_for {
	IMC_PROBES_NEST,
	IMC_PROBES_CORE,	/* thread events, too */
	IMC_PROBES_TRACE,
	IMC_NR_PROBES
};

/**
 * struct imc_probes - probes of trace events that are attached together
 * @imc: all of it
 * @engine: PMUKIT_IMC_*, for the back-end
 * @users: events that need them; claim_lock
 * @attached: they are; written under probe_mutex and claim_lock, so that either is enough to read
 * @error: of the last try of @attach; claim_lock
 * @attach: attaches them for an event that may not
 */
struct imc_probes {
	struct imc *imc;
	u32 engine;
	unsigned int users;
	bool attached;
	int error;
	struct work_struct attach;
};

/**
 * struct imc - a back-end and what came with it
 * @ref: held by the registration and by each PMU, which may live longer
 * @backend: not to be called when @dead, but for its module
 * @backend_name: its name, which may outlive it
 * @serving: events may take its module: from the end of the way up to the begin of the way down
 * @dead: the back-end has left; never cleared
 * @parent: of the PMUs in sysfs
 * @blob: the catalogue as it was loaded
 * @catalog: the same, parsed
 * @trace: its trace unit; NULL: none
 * @thread: its thread unit
 * @core: its core unit
 * @cpus: CPUs
 * @cores: struct imc_core; hotplug callbacks only
 * @chips: chips
 * @nr_chips: how many
 * @hotplug_node: place in the CPU hotplug state's list
 * @claim_lock: guards @claimed, @nr_claims, @serving and users of @probes; process context,
 *	innermost
 * @claimed: the type of core, thread and trace events that are open
 * @nr_claims: how many
 * @probe_mutex: guards attaching and detaching; imc_probe.c has the order of locks
 * @probes: what is heard of
 * @probes_rest: detaches what has no users any more
 * @probes_stopped: none is attached again; claim_lock
 * @tracepoints: that tell us of tasks
 * @debugfs: the folder of control blocks
 * @pmus: by unit
 * @nr_pmus: how many are registered
 */
struct imc {
	struct kref ref;
	const struct pmukit_imc_backend *backend;
	char backend_name[32];
	bool serving;
	bool dead;
	struct platform_device *parent;
	void *blob;
	struct imc_catalog catalog;
	const struct imc_unit *trace;
	const struct imc_unit *thread;
	const struct imc_unit *core;
	struct imc_cpu __percpu *cpus;
	struct list_head cores;
	struct imc_chip chips[IMC_MAX_CHIPS];
	u32 nr_chips;
	struct hlist_node hotplug_node;

	spinlock_t claim_lock;
	u32 claimed;
	unsigned int nr_claims;

	struct mutex probe_mutex;
	struct imc_probes probes[IMC_NR_PROBES];
	struct delayed_work probes_rest;
	bool probes_stopped;
	struct tracepoint *tracepoints[IMC_TRACEPOINTS];
	struct dentry *debugfs;
	struct imc_pmu *pmus[IMC_MAX_UNITS];
	u32 nr_pmus;
};

/**
 * struct imc_event - an open event
 * @pev: the common part
 * @slot: a counter that runs: where it lies
 * @node: trace: place in imc_cpu.tracing
 * @since_tb: trace: timebase of the last record that is not its own
 * @aux: trace: an AUX area was mapped for it
 * @reported_lost: trace: lost records that a flag of the AUX area has reported
 * @cut: trace: stopped in an NMI; what waits has yet to be counted as lost
 */
struct imc_event {
	struct pmukit_event pev;
	const __be64 *slot;
	struct list_head node;
	u64 since_tb;
	bool aux;
	u64 reported_lost;
	bool cut;
};

static inline struct imc_pmu *to_imc_pmu(struct pmukit_pmu *pp)
{
	return container_of(pp, struct imc_pmu, pp);
}

static inline struct imc_pmu *imc_pmu_of(struct perf_event *event)
{
	return to_imc_pmu(to_pmukit_pmu(event->pmu));
}

static inline struct imc_event *imc_of_event(struct perf_event *event)
{
	return container_of(to_pmukit_event(event), struct imc_event, pev);
}

static inline bool imc_dead(const struct imc *imc)
{
	return READ_ONCE(imc->dead);
}

/* Whether an event may begin on a CPU. */
static inline bool imc_may_run(const struct imc_pmu *ipmu, const struct imc_cpu *cpu)
{
	return !imc_dead(ipmu->imc) && !pmukit_pmu_gone(&ipmu->pp) && READ_ONCE(cpu->ready);
}

/* imc_main.c */
void imc_get(struct imc *imc);
void imc_put(struct imc *imc);
void imc_pmu_free(struct imc_pmu *ipmu);

/* imc_cpu.c */
int imc_engine_get(struct imc *imc, struct imc_engine *engine, u32 type, unsigned int cpu);
void imc_engine_put(struct imc *imc, struct imc_engine *engine, u32 type, unsigned int cpu);
struct imc_chip *imc_chip_of(struct imc *imc, unsigned int cpu);
void imc_chips_find(struct imc *imc);
int imc_cpus_alloc(struct imc *imc);
void imc_cpus_free(struct imc *imc);
int imc_cpus_start(struct imc *imc);
void imc_cpus_stop(struct imc *imc);
int imc_hotplug_register(void);
void imc_hotplug_unregister(void);

/* imc_event.c */
int imc_event_init(struct perf_event *event);
void imc_event_free(struct pmukit_event *pev);

/* imc_probe.c */
void imc_probes_init(struct imc *imc);
void imc_probes_stop(struct imc *imc);
int imc_probes_get(struct imc *imc, struct perf_event *event);
void imc_probes_put(struct imc *imc, u32 type);

/* imc_counter.c */
void imc_counter_fill(struct imc_pmu *ipmu);

/* imc_trace.c */
void imc_trace_fill(struct imc_pmu *ipmu);
void imc_trace_cpu_init(struct imc_cpu *cpu);
void imc_trace_cpu_online(struct imc_cpu *cpu);
int imc_trace_attach(struct imc *imc);
void imc_trace_detach(struct imc *imc);

/* imc_sysfs.c */
int imc_sysfs_fill(struct imc_pmu *ipmu);
void imc_sysfs_free(struct imc_pmu *ipmu);

/* imc_debugfs.c */
void imc_debugfs_add(struct imc *imc);
void imc_debugfs_remove(struct imc *imc);

#endif /* IMC_H */
