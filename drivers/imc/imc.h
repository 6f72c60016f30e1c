/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * imc: structures and functions that the driver's files share.
 *
 *   imc_main.c     registers a back-end and its PMUs
 *   imc_cpu.c      memory of CPUs and cores, engines, CPU hotplug
 *   imc_event.c    opens events: privileges, mutually exclusive types
 *   imc_counter.c  perf callbacks of nest_*, core_imc and thread_imc
 *   imc_trace.c    perf callbacks of trace_imc
 *   imc_probe.c    attaches tracepoint probes while events are open
 *   imc_sysfs.c    format/, events/, caps/ and alias of a PMU
 *   imc_debugfs.c  control blocks of the nest engines
 *   imc_catalog_core.c, imc_ring_core.c  arithmetic without kernel calls
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

#define IMC_MAX_CHIPS		32	/* further chips are ignored */
#define IMC_TRACEPOINTS		2
#define IMC_SECTION		128U	/* maximum number of records per drain */

/**
 * struct imc_engine - an engine that several events may use
 * @lock: protects @users and serializes the back-end's start and stop callbacks. A raw lock, taken
 *	with interrupts off, because the callers hold raw locks of perf or the scheduler.
 * @users: number of running events
 */
struct imc_engine {
	raw_spinlock_t lock;
	unsigned int users;
};

/**
 * struct imc_core - a core; allocated when its first CPU comes online, freed with struct imc
 * @node: entry in imc.cores
 * @engine: the engine of the core, for core, thread and trace events
 * @memory: counters of the core
 * @prepared: the back-end has prepared the engine; accessed by hotplug callbacks only
 */
struct imc_core {
	struct list_head node;
	struct imc_engine engine;
	void *memory;
	bool prepared;
};

/**
 * struct imc_chip - a chip
 * @engine: the engine for nest events
 * @id: chip ID that the back-end assigned
 * @homer: memory of the chip, owned by the back-end
 * @bytes: length of @homer
 */
struct imc_chip {
	struct imc_engine engine;
	u32 id;
	void *homer;
	u64 bytes;
};

/**
 * struct imc_cpu - state of a CPU; remains while the CPU is offline
 * @imc: driver state
 * @cpu: number of the CPU
 * @core: core of the CPU; set when the CPU first comes online, never changed afterwards
 * @ready: the CPU is online and its memory is allocated. Written by hotplug callbacks, read on the
 *	CPU.
 * @thread_memory: counters of the hardware thread
 * @trace_memory: trace buffer
 * @nr_threads: number of thread events added on this CPU. @nr_threads and the members after it are
 *	used on the CPU itself with interrupts off.
 * @tracing: trace events added on this CPU: list of struct imc_event
 * @ring: reader of @trace_memory
 * @draining: set while a drain delivers records to perf, which may call the stop callback then
 * @timer: polls the trace buffer while there are trace events
 * @since_ns: time when the timer last ran
 * @recent: number of records read or skipped since @since_ns
 * @section: buffer for one drain, IMC_SECTION records in CPU byte order
 * @record: buffer in which a sample is composed
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
 * struct imc_kind - differences between chip, core and thread counters
 * @type: IMC_TYPE_*
 * @ops: callbacks for the part common to all drivers
 * @scope: CPUs that an event counts for
 * @context: pmu.task_ctx_nr
 * @capabilities: pmu.capabilities
 * @slot: returns the address of the counter at offset @at for a CPU; NULL if the CPU has none
 * @begin: adds an event to the engine; the first event starts the engine
 * @end: removes an event from the engine; removing the last event stops the engine
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
 * struct imc_pmu - a PMU, one unit of the catalog
 * @pp: the part common to all drivers; its reference count covers this structure
 * @imc: driver state, with a reference
 * @unit: the unit in imc->catalog
 * @kind: kind of counters; NULL: the PMU is trace_imc
 * @alias: name of the PMU in old documents; empty if the old documents use the name in @pp
 * @event_files: files of events/
 * @event_attrs: attributes of events/
 * @events_group: attribute group of events/
 * @groups: all attribute groups
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

/* Groups of probes, by the events that need them */
enum imc_probes_for {
	IMC_PROBES_NEST,	/* page allocation */
	IMC_PROBES_CORE,	/* task switches; also for thread events */
	IMC_PROBES_TRACE,	/* task switches; includes probes of the driver itself */
	IMC_NR_PROBES
};

/**
 * struct imc_probes - tracepoint probes that are attached together
 * @imc: driver state
 * @engine: PMUKIT_IMC_*, passed to the back-end
 * @users: open events that need the probes; protected by claim_lock
 * @attached: the probes are attached; written under both probe_mutex and claim_lock, read under
 *	either
 * @error: error of @attach that imc_probes_get() has not yet returned; protected by claim_lock
 * @attach: work item that attaches the probes if event_init must not (imc_probe.c)
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
 * struct imc - driver state: a back-end and its PMUs
 * @ref: references of the registration and of each PMU; a PMU may outlive the registration
 * @backend: the back-end; its callbacks must not be called once @dead is set
 * @backend_name: copy of the back-end's name, valid even after the back-end is unregistered
 * @serving: events may take a reference to the back-end's module: set last at registration, cleared
 *	first at unregistration
 * @dead: the back-end is unregistered; never cleared
 * @parent: parent device of the PMUs
 * @blob: the catalog as it was loaded
 * @catalog: the parsed catalog
 * @trace: trace unit of @catalog; NULL: none
 * @thread: thread unit of @catalog; NULL: none
 * @core: core unit of @catalog; NULL: none
 * @cpus: state of each CPU
 * @cores: list of struct imc_core; changed by hotplug callbacks only
 * @chips: the back-end's chips
 * @nr_chips: number of @chips
 * @hotplug_node: entry in the list of the CPU hotplug state
 * @claim_lock: protects @claimed, @nr_claims, @serving, @probes_stopped, and the users, attached
 *	and error members of @probes; process context, innermost
 * @claimed: type (IMC_TYPE_*) of the open core, thread or trace events
 * @nr_claims: number of these events
 * @probe_mutex: serializes attaching and detaching; imc_probe.c has the lock order
 * @probes: the groups of probes
 * @probes_rest: work item that detaches probes without users
 * @probes_stopped: probes must not be attached any more
 * @tracepoints: tracepoints of task switch and exit
 * @debugfs: debugfs directory
 * @pmus: registered PMUs
 * @nr_pmus: number of @pmus
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
 * @pev: the part common to all drivers
 * @slot: counter event: address of the counter
 * @node: trace event: entry in imc_cpu.tracing
 * @since_tb: trace event: timebase of the last record before the start of the event
 * @aux: trace event: an AUX area was mapped for the event
 * @reported_lost: trace event: lost records already reported by a flag in the AUX area
 * @loss_pending: trace event: it was stopped in an NMI, and the records that it missed are not yet
 *	counted as lost
 */
struct imc_event {
	struct pmukit_event pev;
	const __be64 *slot;
	struct list_head node;
	u64 since_tb;
	bool aux;
	u64 reported_lost;
	bool loss_pending;
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

/* Returns true if an event may start on the CPU. */
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
