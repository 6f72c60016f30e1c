// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: format/, events/ and caps/ of the PMU, and its debugfs files. caps/ lists the
 * capabilities of the device by event term; Documentation/ABI/testing defines the files.
 *
 * Context: process context. No function accesses the device.
 */

#include <linux/debugfs.h>
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

/*
 * Each event in events/ has one type and one direction. For filter=? the perf tool requires a value
 * from the user, the same as for events of hv_gpci.
 */

#define HISI_PTT_EVENT(_name, _terms)							\
	PMU_EVENT_ATTR_STRING(_name, hisi_ptt_event_##_name, _terms ",format=1,filter=?")

HISI_PTT_EVENT(posted_inbound,		"type=1,direction=2");
HISI_PTT_EVENT(nonposted_inbound,	"type=2,direction=2");
HISI_PTT_EVENT(completions_inbound,	"type=4,direction=3");
HISI_PTT_EVENT(posted_outbound,		"type=1,direction=1");
HISI_PTT_EVENT(nonposted_outbound,	"type=2,direction=1");
HISI_PTT_EVENT(completions_outbound,	"type=4,direction=1");

static struct attribute *hisi_ptt_events_attrs[] = {
	&hisi_ptt_event_posted_inbound.attr.attr,
	&hisi_ptt_event_nonposted_inbound.attr.attr,
	&hisi_ptt_event_completions_inbound.attr.attr,
	&hisi_ptt_event_posted_outbound.attr.attr,
	&hisi_ptt_event_nonposted_outbound.attr.attr,
	&hisi_ptt_event_completions_outbound.attr.attr,
	NULL
};

static const struct attribute_group hisi_ptt_events_group = {
	.name = "events",
	.attrs = hisi_ptt_events_attrs,
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

/* Values that depend on the format are shown as format=value,value... */

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

static int hisi_ptt_emit_buffer(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%u", HISI_PTT_BUFFER_BYTES);
}

PMUKIT_CAP(buffer_bytes, hisi_ptt_emit_buffer);

static int hisi_ptt_emit_section(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%u", HISI_PTT_SECTION_BYTES);
}

PMUKIT_CAP(section_bytes, hisi_ptt_emit_section);

static struct attribute *hisi_ptt_caps_attrs[] = {
	&format.attr.attr,
	&type.attr.attr,
	&direction.attr.attr,
	&multitype_direction.attr.attr,
	&aux_min_bytes.attr.attr,
	&buffer_bytes.attr.attr,
	&section_bytes.attr.attr,
	NULL
};

static const struct attribute_group hisi_ptt_caps_group = {
	.name = "caps",
	.attrs = hisi_ptt_caps_attrs,
};

const struct attribute_group *hisi_ptt_attr_groups[] = {
	&pmukit_cpumask_group,
	&hisi_ptt_format_group,
	&hisi_ptt_events_group,
	&hisi_ptt_caps_group,
	&hisi_ptt_tune_group,
	&hisi_ptt_root_port_group,
	&hisi_ptt_requester_group,
	NULL
};

/* debugfs */

/**
 * hisi_ptt_debugfs_add - add the copying statistics to the PMU's debugfs directory
 * @ptt: a device with a registered PMU, whose removal also removes the files
 */
void hisi_ptt_debugfs_add(struct hisi_ptt *ptt)
{
	struct dentry *dir = ptt->pp.debugfs;

	debugfs_create_u64("runs", 0400, dir, &ptt->runs);
	debugfs_create_u64("restarts", 0400, dir, &ptt->restarts);
	debugfs_create_u64("copied_bytes", 0400, dir, &ptt->copied_bytes);
	debugfs_create_u64("sections", 0400, dir, &ptt->sections);
	debugfs_create_u64("sections_ns", 0400, dir, &ptt->sections_ns);
	debugfs_create_u64("section_max_bytes", 0400, dir, &ptt->section_max_bytes);
	debugfs_create_u64("section_max_ns", 0400, dir, &ptt->section_max_ns);
	debugfs_create_u64("last_max_ns", 0400, dir, &ptt->last_max_ns);
}
