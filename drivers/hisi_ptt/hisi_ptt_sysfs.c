// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: format/, caps/ and runs/ of the PMU. caps/ says what the device can do in the words of
 * the event terms; Documentation/ABI/testing has the promise.
 *
 * Context: process context. Nothing here asks the device.
 */

#include <linux/perf_event.h>
#include <linux/sysfs.h>

#include "hisi_ptt.h"

/* format/: the layout of HISI_PTT_EVENT_* */

PMU_FORMAT_ATTR(filter,		"config:0-19");
PMU_FORMAT_ATTR(direction,	"config:20-23");
PMU_FORMAT_ATTR(type,		"config:24-31");
PMU_FORMAT_ATTR(format,		"config:32-35");

static struct attribute *hisi_ptt_format_attrs[] = {
	&format_attr_filter.attr,
	&format_attr_direction.attr,
	&format_attr_type.attr,
	&format_attr_format.attr,
	NULL
};

static const struct attribute_group hisi_ptt_format_group = {
	.name = "format",
	.attrs = hisi_ptt_format_attrs,
};

/* caps/ */

static int hisi_ptt_emit_format(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "0 1");
}

PMUKIT_CAP(format, hisi_ptt_emit_format);

static int hisi_ptt_emit_type(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "1 2 4");
}

PMUKIT_CAP(type, hisi_ptt_emit_type);

/* What depends on format is shown as format=value,value... */

static int hisi_ptt_emit_direction(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "0=0,1,2,3 1=1,2,3");
}

PMUKIT_CAP(direction, hisi_ptt_emit_direction);

static int hisi_ptt_emit_multitype(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "0=0 1=2,3");
}

PMUKIT_CAP(multitype_direction, hisi_ptt_emit_multitype);

static int hisi_ptt_emit_aux_min(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%u", HISI_PTT_AUX_BYTES_MIN);
}

PMUKIT_CAP(aux_min_bytes, hisi_ptt_emit_aux_min);

static int hisi_ptt_emit_zero_copy_max(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%u", HISI_PTT_NR_BUFFERS * HISI_PTT_BUFFER_BYTES_MAX);
}

PMUKIT_CAP(zero_copy_max_bytes, hisi_ptt_emit_zero_copy_max);

static int hisi_ptt_emit_section(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%u", HISI_PTT_SECTION_BYTES);
}

PMUKIT_CAP(section_bytes, hisi_ptt_emit_section);

/* The way of the current or last run */
static int hisi_ptt_emit_path(struct pmukit_pmu *pp, char *buf, int at)
{
	static const char *const names[] = {
		[HISI_PTT_COUNT]	= "count",
		[HISI_PTT_SAMPLE]	= "sample",
		[HISI_PTT_COPY]		= "copy",
		[HISI_PTT_ZERO_COPY]	= "zero-copy",
	};

	return sysfs_emit_at(buf, at, "%s", names[READ_ONCE(to_hisi_ptt(pp)->path)]);
}

PMUKIT_CAP(path, hisi_ptt_emit_path);

static int hisi_ptt_emit_buffer_bytes(struct pmukit_pmu *pp, char *buf, int at)
{
	struct hisi_ptt *ptt = to_hisi_ptt(pp);
	u32 bytes;

	raw_spin_lock_irq(&ptt->lock);
	bytes = ptt->ring.buffer_bytes;
	raw_spin_unlock_irq(&ptt->lock);
	return sysfs_emit_at(buf, at, "%u", bytes);
}

PMUKIT_CAP(buffer_bytes, hisi_ptt_emit_buffer_bytes);

static struct attribute *hisi_ptt_caps_attrs[] = {
	&format.attr.attr,
	&type.attr.attr,
	&direction.attr.attr,
	&multitype_direction.attr.attr,
	&aux_min_bytes.attr.attr,
	&zero_copy_max_bytes.attr.attr,
	&section_bytes.attr.attr,
	&path.attr.attr,
	&buffer_bytes.attr.attr,
	NULL
};

static const struct attribute_group hisi_ptt_caps_group = {
	.name = "caps",
	.attrs = hisi_ptt_caps_attrs,
};

/* runs/: how many went which way, and what the copying cost */

static int hisi_ptt_emit_runs(struct pmukit_pmu *pp, char *buf, int at, enum hisi_ptt_path path)
{
	return sysfs_emit_at(buf, at, "%lld", atomic64_read(&to_hisi_ptt(pp)->runs[path]));
}

#define HISI_PTT_RUNS_FILE(_name, _path)					\
	static int hisi_ptt_emit_##_name(struct pmukit_pmu *pp, char *buf, int at) \
	{									\
		return hisi_ptt_emit_runs(pp, buf, at, _path);			\
	}									\
	PMUKIT_CAP(_name, hisi_ptt_emit_##_name)

HISI_PTT_RUNS_FILE(count, HISI_PTT_COUNT);
HISI_PTT_RUNS_FILE(sample, HISI_PTT_SAMPLE);
HISI_PTT_RUNS_FILE(copy, HISI_PTT_COPY);
HISI_PTT_RUNS_FILE(zero_copy, HISI_PTT_ZERO_COPY);

static int hisi_ptt_emit_copied(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%lld", atomic64_read(&to_hisi_ptt(pp)->copied_bytes));
}

PMUKIT_CAP(copied_bytes, hisi_ptt_emit_copied);

static int hisi_ptt_emit_section_max(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%lld", atomic64_read(&to_hisi_ptt(pp)->section_max_bytes));
}

PMUKIT_CAP(section_max_bytes, hisi_ptt_emit_section_max);

static struct attribute *hisi_ptt_runs_attrs[] = {
	&count.attr.attr,
	&sample.attr.attr,
	&copy.attr.attr,
	&zero_copy.attr.attr,
	&copied_bytes.attr.attr,
	&section_max_bytes.attr.attr,
	NULL
};

static const struct attribute_group hisi_ptt_runs_group = {
	.name = "runs",
	.attrs = hisi_ptt_runs_attrs,
};

const struct attribute_group *hisi_ptt_attr_groups[] = {
	&pmukit_cpumask_group,
	&pmukit_stats_group,
	&hisi_ptt_format_group,
	&hisi_ptt_caps_group,
	&hisi_ptt_runs_group,
	&hisi_ptt_tune_group,
	&hisi_ptt_root_port_group,
	&hisi_ptt_requester_group,
	NULL
};
