// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: the PMU cache_qos_aux, whose events record snapshots. After a pass an event gets one
 * record per monitor and event type, with the value in the L3 of the event's CPU. If the names of
 * monitors have changed, records with the new names precede the records with values. Records are in
 * the AUX area or are samples. <pmukit/cache_qos.h> defines the records.
 *
 * The sampler first computes the values of an L3. This takes long if there are many monitors. Then
 * the sampler interrupts the CPUs that have streams (open events), and these CPUs copy the values:
 *
 *   pass ---> streams that are due? ---> for each of their L3s: snapshot ---> streams of its CPUs
 *             (on each CPU)              (in the sampler)                     (on their CPUs)
 *
 * Context: a stream is written on the event's CPU with interrupts off. perf's add and del run on
 * that CPU, too, with interrupts off, so the list of a CPU needs no lock. The snapshot belongs to
 * the sampler, which waits for the CPUs.
 */

#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "cache_qos.h"

#define CACHE_QOS_AUX_EVENT		GENMASK_ULL(7, 0)	/* config; 1: snapshot */
#define CACHE_QOS_AUX_PERIOD_MS		GENMASK_ULL(31, 0)	/* config1; 0: after each pass */
#define CACHE_QOS_AUX_SNAPSHOT		1

#define CACHE_QOS_STREAM_SECTION	256U	/* samples per batch with interrupts off */

/**
 * struct cache_qos_stream - an open event
 * @pev: state common to all PMUs
 * @node: entry in cache_qos_live.streams of the event's CPU
 * @aux: an AUX area was mapped for the event
 * @period_ns: shortest time between two snapshots
 * @next_ns: no snapshot is due before this time
 * @start_ns: time of the first header; 0: none yet
 * @snapshots: number of snapshots so far
 * @named: number of the last name change that was written to the stream; 0: none
 * @writing: the stream gets the current snapshot
 * @record: buffer for the record that is being written
 */
struct cache_qos_stream {
	struct pmukit_event pev;
	struct list_head node;
	bool aux;
	u64 period_ns;
	u64 next_ns;
	u64 start_ns;
	u64 snapshots;
	u64 named;
	bool writing;
	struct pmukit_record record;
};

static struct cache_qos_live *cache_qos_live_of_aux(struct pmukit_pmu *pp)
{
	return container_of(pp, struct cache_qos_live, aux_pp);
}

static struct cache_qos_live *cache_qos_live_of_stream(struct perf_event *event)
{
	return cache_qos_live_of_aux(to_pmukit_pmu(event->pmu));
}

static struct cache_qos_stream *to_cache_qos_stream(struct perf_event *event)
{
	return container_of(to_pmukit_event(event), struct cache_qos_stream, pev);
}

/* Records */

static u64 cache_qos_word(u64 value)
{
	return (__force u64)cpu_to_le64(value);
}

/* A record that does not fit into the buffer is lost, and its sequence number is missing. */
static void cache_qos_stream_put(struct cache_qos_stream *stream, struct pmukit_sink *sink,
				 const u64 *words, bool is_open)
{
	u32 i;

	for (i = 0; i < PMUKIT_CACHE_QOS_WORDS; i++)
		stream->record.words[i] = cache_qos_word(words[i]);
	stream->record.raw.tag = PMUKIT_RAW_TAG_CACHE_QOS;
	stream->pev.sequence++;
	if (is_open && pmukit_sink_deliver(sink, &stream->record, PMUKIT_CACHE_QOS_WORDS, 1)) {
		pmukit_stat_inc(to_pmukit_pmu(stream->pev.event->pmu), PMUKIT_STAT_RECORDS);
		return;
	}
	stream->pev.lost++;
	pmukit_stat_inc(to_pmukit_pmu(stream->pev.event->pmu), PMUKIT_STAT_LOST);
}

static u64 cache_qos_backend_kind(const struct cache_qos_live *live)
{
	if (!strcmp(live->backend_name, "msr"))
		return PMUKIT_CACHE_QOS_BACKEND_MSR;
	if (!strcmp(live->backend_name, "sim"))
		return PMUKIT_CACHE_QOS_BACKEND_SIM;
	return PMUKIT_CACHE_QOS_BACKEND_OTHER;
}

static void cache_qos_header_fill(struct cache_qos_live *live, struct cache_qos_stream *stream,
				  u16 domain, u64 *words)
{
	const struct cache_qos_hw *hw = &live->core.hw;
	const struct pmukit_cache_qos_domain *is = &live->core.domains[domain].is;

	words[PMUKIT_CACHE_QOS_H_MARK] = PMUKIT_CACHE_QOS_MARK;
	words[PMUKIT_CACHE_QOS_H_SEQUENCE] = stream->pev.sequence;
	words[PMUKIT_CACHE_QOS_H_FORMAT] =
		(u64)PMUKIT_CACHE_QOS_VERSION << PMUKIT_CACHE_QOS_FORMAT_VERSION_SHIFT |
		(u64)PMUKIT_CACHE_QOS_RECORD_BYTES << PMUKIT_CACHE_QOS_FORMAT_BYTES_SHIFT |
		(u64)(u16)is->id << PMUKIT_CACHE_QOS_FORMAT_DOMAIN_SHIFT |
		cache_qos_backend_kind(live) << PMUKIT_CACHE_QOS_FORMAT_BACKEND_SHIFT;
	words[PMUKIT_CACHE_QOS_H_SCALE] = hw->scale;
	words[PMUKIT_CACHE_QOS_H_START] = stream->start_ns;
	words[PMUKIT_CACHE_QOS_H_HARDWARE] =
		(u64)hw->nr_rmid << PMUKIT_CACHE_QOS_HARDWARE_RMIDS_SHIFT |
		(u64)hw->width << PMUKIT_CACHE_QOS_HARDWARE_WIDTH_SHIFT;
	words[PMUKIT_CACHE_QOS_H_CACHE_BYTES] = is->bytes;
	words[PMUKIT_CACHE_QOS_H_LOST] = stream->pev.lost;
}

/*
 * Fill in a record, except for its sequence number, which cache_qos_stream_record() sets. Return:
 * true if there is a reading.
 */
static bool cache_qos_reading_fill(struct cache_qos_live *live, u16 domain, u16 monitor, u32 event,
				   u64 *words)
{
	struct cache_qos_value value;
	u64 now_ns, kind;
	int ret = -ENOENT;

	raw_spin_lock_irq(&live->lock);
	now_ns = cache_qos_now_ns();
	kind = live->core.monitors[monitor].kind;
	if (live->core.monitors[monitor].used)
		ret = cache_qos_monitor_value(&live->core, monitor, event, domain, now_ns, &value);
	raw_spin_unlock_irq(&live->lock);
	/* A reading with an error status is reported as well; a missing monitor or event is not. */
	if (ret == -ENOENT || ret == -EOPNOTSUPP)
		return false;

	words[PMUKIT_CACHE_QOS_R_TIME] = now_ns;
	words[PMUKIT_CACHE_QOS_R_WHAT] =
		(u64)monitor << PMUKIT_CACHE_QOS_WHAT_MONITOR_SHIFT |
		(u64)(u16)live->core.domains[domain].is.id << PMUKIT_CACHE_QOS_WHAT_DOMAIN_SHIFT |
		(u64)event << PMUKIT_CACHE_QOS_WHAT_EVENT_SHIFT |
		kind << PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT;
	words[PMUKIT_CACHE_QOS_R_STATE] =
		(u64)value.generation << PMUKIT_CACHE_QOS_STATE_GENERATION_SHIFT |
		(u64)value.status << PMUKIT_CACHE_QOS_STATE_STATUS_SHIFT;
	words[PMUKIT_CACHE_QOS_R_RAW] = value.raw;
	words[PMUKIT_CACHE_QOS_R_BYTES] = value.bytes;
	words[PMUKIT_CACHE_QOS_R_BOUND] = value.bound;
	words[PMUKIT_CACHE_QOS_R_AGE] = value.age_ns;
	return true;
}

/* Fill in a name record. Its sequence word holds the change number until a stream writes it. */
static void cache_qos_name_fill(struct cache_qos_live *live, u16 domain, u16 monitor, u32 part,
				u32 parts, u64 *words)
{
	const struct cache_qos_name *name = &live->names[monitor];
	const char *text = name->text + part * PMUKIT_CACHE_QOS_NAME_PART_BYTES;
	__le64 bytes[PMUKIT_CACHE_QOS_NAME_PART_BYTES / sizeof(__le64)] = {};
	u32 i;

	/* The bytes of a text have the same order in the record on any CPU. */
	memcpy(bytes, text, strnlen(text, sizeof(bytes)));
	words[PMUKIT_CACHE_QOS_N_MARK] = PMUKIT_CACHE_QOS_NAME_MARK;
	words[PMUKIT_CACHE_QOS_N_SEQUENCE] = name->changed;
	words[PMUKIT_CACHE_QOS_N_WHAT] =
		(u64)monitor << PMUKIT_CACHE_QOS_WHAT_MONITOR_SHIFT |
		(u64)(u16)live->core.domains[domain].is.id << PMUKIT_CACHE_QOS_WHAT_DOMAIN_SHIFT |
		(u64)name->kind << PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT;
	words[PMUKIT_CACHE_QOS_N_ID] = name->id;
	words[PMUKIT_CACHE_QOS_N_LIFE] = (u64)name->life << PMUKIT_CACHE_QOS_LIFE_NUMBER_SHIFT |
					 (u64)part << PMUKIT_CACHE_QOS_LIFE_PART_SHIFT |
					 (u64)parts << PMUKIT_CACHE_QOS_LIFE_PARTS_SHIFT;
	for (i = 0; i < ARRAY_SIZE(bytes); i++)
		words[PMUKIT_CACHE_QOS_N_TEXT + i] = le64_to_cpu(bytes[i]);
}

static void cache_qos_snapshot_names(struct cache_qos_live *live, u16 domain)
{
	struct cache_qos_snapshot *snapshot = &live->snapshot;
	u32 part, parts;
	u16 m;

	for (m = 0; m < CACHE_QOS_MAX_MONITORS; m++) {
		if (live->names[m].changed <= snapshot->named ||
		    !READ_ONCE(live->core.monitors[m].used))
			continue;
		parts = DIV_ROUND_UP(strlen(live->names[m].text), PMUKIT_CACHE_QOS_NAME_PART_BYTES);
		for (part = 0; part < parts; part++)
			cache_qos_name_fill(live, domain, m, part, parts,
					    snapshot->records[snapshot->nr++]);
	}
	snapshot->nr_names = snapshot->nr;
}

/* Each value is a sum over many RMIDs, so interrupts are on between two values. */
static void cache_qos_snapshot_take(struct cache_qos_live *live, u16 domain)
{
	struct cache_qos_snapshot *snapshot = &live->snapshot;
	u32 event;
	u16 m;

	snapshot->domain = domain;
	snapshot->nr = 0;
	cache_qos_snapshot_names(live, domain);
	for (m = 0; m < CACHE_QOS_MAX_MONITORS; m++) {
		if (!READ_ONCE(live->core.monitors[m].used))
			continue;
		for (event = PMUKIT_CACHE_QOS_EVENT_OCCUPANCY; event <= CACHE_QOS_NR_EVENTS;
		     event++)
			snapshot->nr += cache_qos_reading_fill(live, domain, m, event,
							       snapshot->records[snapshot->nr]);
		cond_resched();
	}
}

/* Streams */

/* Keep space for one record free in an AUX area: if it were full, perf would disable the event. */
static bool cache_qos_stream_open(struct cache_qos_stream *stream, struct pmukit_sink *sink)
{
	bool is_open = READ_ONCE(stream->aux) ? pmukit_sink_open_aux(sink, &stream->pev) :
						pmukit_sink_open(sink, &stream->pev);

	if (is_open && sink->ring)
		sink->room_words -= min_t(u32, sink->room_words, PMUKIT_CACHE_QOS_WORDS);
	return is_open;
}

static void cache_qos_stream_header(struct cache_qos_live *live, struct cache_qos_stream *stream,
				    struct pmukit_sink *sink, bool is_open)
{
	u64 words[PMUKIT_CACHE_QOS_WORDS];

	if (!stream->start_ns)
		stream->start_ns = cache_qos_now_ns();
	if (stream->snapshots++ % PMUKIT_CACHE_QOS_HEADER_PASSES)
		return;
	stream->named = 0;
	cache_qos_header_fill(live, stream, live->snapshot.domain, words);
	cache_qos_stream_put(stream, sink, words, is_open);
}

static void cache_qos_stream_record(struct cache_qos_stream *stream, struct pmukit_sink *sink,
				    const u64 *record, bool is_open)
{
	u64 words[PMUKIT_CACHE_QOS_WORDS];

	memcpy(words, record, sizeof(words));
	words[PMUKIT_CACHE_QOS_R_SEQUENCE] = stream->pev.sequence;
	cache_qos_stream_put(stream, sink, words, is_open);
}

/*
 * A snapshot is copied into an AUX area at once, so that no reader sees a part of it. perf needs
 * more time to write samples, so the samples of a snapshot are written in batches.
 *
 * Lost records set PERF_AUX_FLAG_PARTIAL: with PERF_AUX_FLAG_TRUNCATED perf would disable the
 * event.
 */
static void cache_qos_stream_write(struct cache_qos_live *live, struct cache_qos_stream *stream)
{
	struct cache_qos_snapshot *snapshot = &live->snapshot;
	u32 i, end = snapshot->nr;
	u64 lost = stream->pev.lost;
	struct pmukit_sink sink;
	bool is_open;

	is_open = cache_qos_stream_open(stream, &sink);
	if (!snapshot->from)
		cache_qos_stream_header(live, stream, &sink, is_open);
	if (!sink.ring && !READ_ONCE(stream->aux))
		end = min(end, snapshot->from + CACHE_QOS_STREAM_SECTION);
	for (i = snapshot->from; i < end; i++) {
		const u64 *record = snapshot->records[i];

		if (i >= snapshot->nr_names || record[PMUKIT_CACHE_QOS_N_SEQUENCE] > stream->named)
			cache_qos_stream_record(stream, &sink, record, is_open);
	}
	if (is_open)
		pmukit_sink_close(&sink, lost != stream->pev.lost ? PERF_AUX_FLAG_PARTIAL : 0);

	/* The last sample may have stopped the event. */
	stream->writing = !stream->pev.event->hw.state && end < snapshot->nr;
	if (stream->writing)
		WRITE_ONCE(snapshot->more, true);
	else if (end == snapshot->nr)
		stream->named = live->names_changed;
}

static bool cache_qos_stream_due(const struct cache_qos_stream *stream, u64 now_ns)
{
	return !stream->pev.event->hw.state && now_ns >= stream->next_ns;
}

/*
 * Return: number of the last name change that was written to the stream; 0 if a header is due,
 * because all names are written after a header.
 */
static u64 cache_qos_stream_knows(const struct cache_qos_stream *stream)
{
	return stream->snapshots % PMUKIT_CACHE_QOS_HEADER_PASSES ? stream->named : 0;
}

static void cache_qos_streams_due_ipi(void *data)
{
	struct cache_qos_live *live = data;
	const struct cache_qos_cpu *cpu = this_cpu_ptr(live->cpus);
	struct cache_qos_snapshot *snapshot = &live->snapshot;
	const struct cache_qos_stream *stream;

	if (cpu->domain == CACHE_QOS_NONE)
		return;
	list_for_each_entry(stream, this_cpu_ptr(live->streams), node) {
		if (!cache_qos_stream_due(stream, snapshot->now_ns))
			continue;
		raw_spin_lock(&live->lock);
		snapshot->named = min(snapshot->named, cache_qos_stream_knows(stream));
		raw_spin_unlock(&live->lock);
		set_bit(cpu->domain, snapshot->domains);
		cpumask_set_cpu(smp_processor_id(), &snapshot->cpus);
	}
}

static void cache_qos_streams_ipi(void *data)
{
	struct cache_qos_live *live = data;
	const struct cache_qos_cpu *cpu = this_cpu_ptr(live->cpus);
	const struct cache_qos_snapshot *snapshot = &live->snapshot;
	struct cache_qos_stream *stream, *next;

	if (cpu->domain != snapshot->domain)
		return;
	list_for_each_entry_safe(stream, next, this_cpu_ptr(live->streams), node) {
		if (!snapshot->from && cache_qos_stream_due(stream, snapshot->now_ns)) {
			stream->next_ns = snapshot->now_ns + stream->period_ns;
			stream->writing = true;
		}
		if (stream->writing)
			cache_qos_stream_write(live, stream);
	}
}

static void cache_qos_domain_streams_write(struct cache_qos_live *live, u16 domain)
{
	struct cache_qos_snapshot *snapshot = &live->snapshot;

	cache_qos_snapshot_take(live, domain);
	snapshot->from = 0;
	do {
		snapshot->more = false;
		cache_qos_ipi(live, &snapshot->cpus, cache_qos_streams_ipi);
		snapshot->from += CACHE_QOS_STREAM_SECTION;
	} while (snapshot->more);
}

/**
 * cache_qos_streams_write - after a pass: write the records of every stream that is due
 * @live: driver state
 *
 * Context: the sampler; may sleep.
 */
void cache_qos_streams_write(struct cache_qos_live *live)
{
	struct cache_qos_snapshot *snapshot = &live->snapshot;
	unsigned int domain;

	if (!READ_ONCE(live->aux_pp.nr_events))
		return;
	snapshot->now_ns = cache_qos_now_ns();
	bitmap_zero(snapshot->domains, CACHE_QOS_MAX_DOMAINS);
	cpumask_clear(&snapshot->cpus);
	snapshot->named = ~0ULL;
	cache_qos_ipi(live, &live->stream_cpus, cache_qos_streams_due_ipi);
	for_each_set_bit(domain, snapshot->domains, CACHE_QOS_MAX_DOMAINS)
		cache_qos_domain_streams_write(live, domain);
}

/* Perf callbacks */

static void cache_qos_aux_start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
}

static void cache_qos_aux_stop(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	to_cache_qos_stream(event)->writing = false;
}

static int cache_qos_aux_add(struct perf_event *event, int flags)
{
	struct cache_qos_live *live = cache_qos_live_of_stream(event);

	if (READ_ONCE(live->dead))
		return -ENODEV;
	cache_qos_aux_stop(event, 0);
	list_add_tail(&to_cache_qos_stream(event)->node, this_cpu_ptr(live->streams));
	cpumask_set_cpu(smp_processor_id(), &live->stream_cpus);
	if (flags & PERF_EF_START)
		cache_qos_aux_start(event, flags);
	return 0;
}

static void cache_qos_aux_del(struct perf_event *event, int flags)
{
	struct cache_qos_live *live = cache_qos_live_of_stream(event);

	cache_qos_aux_stop(event, 0);
	list_del(&to_cache_qos_stream(event)->node);
	if (list_empty(this_cpu_ptr(live->streams)))
		cpumask_clear_cpu(smp_processor_id(), &live->stream_cpus);
}

/* Nothing to do: the count is the number of records delivered. */
static void cache_qos_aux_read(struct perf_event *event)
{
}

static void *cache_qos_aux_setup(struct perf_event *event, void **pages, int nr_pages,
				 bool overwrite)
{
	void *aux = pmukit_setup_aux(event, pages, nr_pages, overwrite);

	if (aux)
		WRITE_ONCE(to_cache_qos_stream(event)->aux, true);
	return aux;
}

/* Opening */

static const char *cache_qos_aux_wrong(const struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (attr->config != CACHE_QOS_AUX_SNAPSHOT || attr->config1 & ~CACHE_QOS_AUX_PERIOD_MS ||
	    attr->config2 || compat_attr_extra_config(attr))
		return "there is one event, snapshot, and period_ms";
	if (event->cpu < 0 || event->attach_state & PERF_ATTACH_TASK)
		return "counts for a CPU (-a, -C), not for a task";
	/* For a sibling, perf holds ctx->mutex, under which no probe may be attached. */
	if (event->group_leader != event)
		return "leads its group, or has none";
	return pmukit_sampling_wrong(attr);
}

static int cache_qos_stream_begin(struct cache_qos_live *live, struct cache_qos_stream *stream,
				  struct perf_event *event)
{
	int ret;

	ret = cache_qos_users_get(live);
	if (ret)
		return ret;
	ret = pmukit_event_open(&live->aux_pp, &stream->pev, event);
	if (ret)
		cache_qos_users_put(live);
	return ret;
}

static int cache_qos_aux_event_init(struct perf_event *event)
{
	struct cache_qos_stream *stream;
	const char *wrong;
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	/* The values show what other users have in the cache. */
	if (!perfmon_capable())
		return -EACCES;
	wrong = cache_qos_aux_wrong(event);
	if (wrong) {
		pr_debug("cache_qos_aux: %s\n", wrong);
		return -EINVAL;
	}

	stream = kzalloc_obj(*stream);
	if (!stream)
		return -ENOMEM;
	stream->period_ns = FIELD_GET(CACHE_QOS_AUX_PERIOD_MS, event->attr.config1) * NSEC_PER_MSEC;
	ret = cache_qos_stream_begin(cache_qos_live_of_stream(event), stream, event);
	if (ret) {
		kfree(stream);
		return ret;
	}
	pmukit_sampling_prepare(&stream->pev);
	return 0;
}

static void cache_qos_aux_event_free(struct pmukit_event *pev)
{
	struct cache_qos_live *live = cache_qos_live_of_stream(pev->event);

	kfree(container_of(pev, struct cache_qos_stream, pev));
	cache_qos_users_put(live);
}

/* sysfs */

PMU_FORMAT_ATTR(event,		"config:0-7");
PMU_FORMAT_ATTR(period_ms,	"config1:0-31");
PMU_EVENT_ATTR_STRING(snapshot, cache_qos_event_snapshot, "event=0x01");

static struct attribute *cache_qos_aux_format_attrs[] = {
	&format_attr_event.attr,
	&format_attr_period_ms.attr,
	NULL
};

static const struct attribute_group cache_qos_aux_format_group = {
	.name = "format",
	.attrs = cache_qos_aux_format_attrs,
};

static struct attribute *cache_qos_aux_event_attrs[] = {
	&cache_qos_event_snapshot.attr.attr,
	NULL
};

static const struct attribute_group cache_qos_aux_event_group = {
	.name = "events",
	.attrs = cache_qos_aux_event_attrs,
};

static int cache_qos_aux_emit_source(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, cache_qos_is_model(cache_qos_live_of_aux(pp)) ? "model" :
										      "hardware");
}

static int cache_qos_aux_emit_backend(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%s", cache_qos_live_of_aux(pp)->backend_name);
}

PMUKIT_CAP(source, cache_qos_aux_emit_source);
PMUKIT_CAP(backend, cache_qos_aux_emit_backend);

static struct attribute *cache_qos_aux_caps_attrs[] = {
	&source.attr.attr,
	&backend.attr.attr,
	NULL
};

static const struct attribute_group cache_qos_aux_caps_group = {
	.name = "caps",
	.attrs = cache_qos_aux_caps_attrs,
};

static const struct attribute_group *cache_qos_aux_groups[] = {
	&cache_qos_aux_format_group,
	&cache_qos_aux_event_group,
	&cache_qos_aux_caps_group,
	&pmukit_cpumask_group,
	NULL
};

/* Registration */

static bool cache_qos_aux_same_group(struct pmukit_pmu *pp, unsigned int a, unsigned int b)
{
	struct cache_qos_live *live = cache_qos_live_of_aux(pp);
	u16 domain = READ_ONCE(per_cpu_ptr(live->cpus, a)->domain);

	return domain != CACHE_QOS_NONE && domain == READ_ONCE(per_cpu_ptr(live->cpus, b)->domain);
}

static void cache_qos_aux_release(struct pmukit_pmu *pp)
{
	cache_qos_live_put(cache_qos_live_of_aux(pp));
}

static const struct pmukit_pmu_ops cache_qos_aux_ops = {
	.release	= cache_qos_aux_release,
	.event_free	= cache_qos_aux_event_free,
	.same_group	= cache_qos_aux_same_group,
};

/**
 * cache_qos_aux_fill - prepare the PMU; the caller owns its first reference
 * @live: driver state
 */
void cache_qos_aux_fill(struct cache_qos_live *live)
{
	struct pmu *pmu = &live->aux_pp.pmu;

	pmukit_pmu_init(&live->aux_pp, &cache_qos_aux_ops, THIS_MODULE);
	live->aux_pp.scope = PMUKIT_SCOPE_GROUPS;
	live->aux_pp.max_events = UINT_MAX;
	strscpy(live->aux_pp.name, "cache_qos_aux", sizeof(live->aux_pp.name));

	pmu->task_ctx_nr = perf_invalid_context;
	pmu->capabilities = PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_AUX_PREFER_LARGE;
	pmu->attr_groups = cache_qos_aux_groups;
	pmu->event_init = cache_qos_aux_event_init;
	pmu->add = cache_qos_aux_add;
	pmu->del = cache_qos_aux_del;
	pmu->start = cache_qos_aux_start;
	pmu->stop = cache_qos_aux_stop;
	pmu->read = cache_qos_aux_read;
	pmu->setup_aux = cache_qos_aux_setup;
	pmu->free_aux = pmukit_free_aux;
	pmu->check_period = pmukit_check_period;
}
