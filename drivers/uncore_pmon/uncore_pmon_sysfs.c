// SPDX-License-Identifier: GPL-2.0-only
/*
 * uncore_pmon: format/, events/, caps/ and alias of a PMU, as documented in
 * Documentation/ABI/testing.
 *
 * Context: process context. Nothing here accesses the unit, and no value changes while the PMU is
 * registered.
 */

#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "uncore_pmon.h"

static struct uncore_pmon_pmu *uncore_pmon_of_dev(struct device *dev)
{
	struct pmu *pmu = dev_get_drvdata(dev);

	return to_uncore_pmon_pmu(to_pmukit_pmu(pmu));
}

/* format/: the bits of a control that the unit supports */

PMU_FORMAT_ATTR(event,		"config:0-7");
PMU_FORMAT_ATTR(umask,		"config:8-15");
PMU_FORMAT_ATTR(edge,		"config:18");
PMU_FORMAT_ATTR(inv,		"config:23");
PMU_FORMAT_ATTR(thresh,		"config:24-31");
PMU_FORMAT_ATTR(ch_mask,	"config:36-47");
PMU_FORMAT_ATTR(fc_mask,	"config:48-50");

/* Wider umask and thresh of some units, under the same file names */

static ssize_t uncore_pmon_umask_ext_show(struct device *dev, struct device_attribute *attr,
					  char *buf)
{
	return sysfs_emit(buf, "config:8-15,32-55\n");
}

static struct device_attribute format_attr_umask_ext =
	__ATTR(umask, 0444, uncore_pmon_umask_ext_show, NULL);

static ssize_t uncore_pmon_umask_cha_show(struct device *dev, struct device_attribute *attr,
					  char *buf)
{
	return sysfs_emit(buf, "config:8-15,32-63\n");
}

static struct device_attribute format_attr_umask_cha =
	__ATTR(umask, 0444, uncore_pmon_umask_cha_show, NULL);

static ssize_t uncore_pmon_thresh_iio_show(struct device *dev, struct device_attribute *attr,
					   char *buf)
{
	return sysfs_emit(buf, "config:24-35\n");
}

static struct device_attribute format_attr_thresh_iio =
	__ATTR(thresh, 0444, uncore_pmon_thresh_iio_show, NULL);

static struct attribute *uncore_pmon_format_attrs[] = {
	&format_attr_event.attr,
	&format_attr_umask.attr,
	&format_attr_edge.attr,
	&format_attr_inv.attr,
	&format_attr_thresh.attr,
	NULL
};

static const struct attribute_group uncore_pmon_format_group = {
	.name = "format",
	.attrs = uncore_pmon_format_attrs,
};

static struct attribute *uncore_pmon_format_ext_attrs[] = {
	&format_attr_event.attr,
	&format_attr_umask_ext.attr,
	&format_attr_edge.attr,
	&format_attr_inv.attr,
	&format_attr_thresh.attr,
	NULL
};

static const struct attribute_group uncore_pmon_format_ext_group = {
	.name = "format",
	.attrs = uncore_pmon_format_ext_attrs,
};

static struct attribute *uncore_pmon_format_cha_attrs[] = {
	&format_attr_event.attr,
	&format_attr_umask_cha.attr,
	&format_attr_edge.attr,
	&format_attr_inv.attr,
	&format_attr_thresh.attr,
	NULL
};

static const struct attribute_group uncore_pmon_format_cha_group = {
	.name = "format",
	.attrs = uncore_pmon_format_cha_attrs,
};

static struct attribute *uncore_pmon_format_iio_attrs[] = {
	&format_attr_event.attr,
	&format_attr_umask.attr,
	&format_attr_edge.attr,
	&format_attr_inv.attr,
	&format_attr_thresh_iio.attr,
	&format_attr_ch_mask.attr,
	&format_attr_fc_mask.attr,
	NULL
};

static const struct attribute_group uncore_pmon_format_iio_group = {
	.name = "format",
	.attrs = uncore_pmon_format_iio_attrs,
};

static const struct attribute_group *uncore_pmon_format(const struct uncore_pmon_unit *unit)
{
	switch (uncore_pmon_config_mask(unit) & UNCORE_PMON_CONTROL_UMASK_CHA) {
	case UNCORE_PMON_CONTROL_UMASK_CHA:
		return &uncore_pmon_format_cha_group;
	case UNCORE_PMON_CONTROL_UMASK_EXT:
		return &uncore_pmon_format_ext_group;
	case UNCORE_PMON_CONTROL_IIO:
		return &uncore_pmon_format_iio_group;
	}
	return &uncore_pmon_format_group;
}

/* events/: NAME; also NAME.scale and NAME.unit if the event counts lines of 64 bytes */

static ssize_t uncore_pmon_event_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct uncore_pmon_named_event *event =
		container_of(attr, struct uncore_pmon_event_file, attr)->event;

	return sysfs_emit(buf, "event=0x%02x,umask=0x%02llx\n", event->event, event->umask);
}

/* A line of 64 bytes in MiB: exactly 2^-14 */
static ssize_t uncore_pmon_scale_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "6.103515625e-5\n");
}

static ssize_t uncore_pmon_unit_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "MiB\n");
}

static const struct {
	const char *suffix;
	ssize_t (*show)(struct device *dev, struct device_attribute *attr, char *buf);
} uncore_pmon_event_kinds[] = {
	{ "",		uncore_pmon_event_show },
	{ ".scale",	uncore_pmon_scale_show },
	{ ".unit",	uncore_pmon_unit_show },
};

static u32 uncore_pmon_event_fill(struct uncore_pmon_event_file *files,
				  const struct uncore_pmon_named_event *event)
{
	u32 nr = event->meaning == UNCORE_PMON_LINES ? ARRAY_SIZE(uncore_pmon_event_kinds) : 1;
	u32 i;

	for (i = 0; i < nr; i++) {
		snprintf(files[i].name, sizeof(files[i].name), "%s%s", event->name,
			 uncore_pmon_event_kinds[i].suffix);
		files[i].event = event;
		sysfs_attr_init(&files[i].attr.attr);
		files[i].attr.attr.name = files[i].name;
		files[i].attr.attr.mode = 0444;
		files[i].attr.show = uncore_pmon_event_kinds[i].show;
	}
	return nr;
}

static bool uncore_pmon_has_event(const struct uncore_pmon_pmu *pmu,
				  const struct uncore_pmon_named_event *event)
{
	if (event->event == UNCORE_PMON_EVENT_SPECIAL && event->umask &&
	    !(pmu->kinds & BIT(UNCORE_PMON_FREE)))
		return false;
	return uncore_pmon_event_fits(event, &pmu->unit, pmu->platform);
}

static int uncore_pmon_events_fill(struct uncore_pmon_pmu *pmu)
{
	const struct uncore_pmon_named_event *event;
	u32 room = 0, nr = 0, i;

	for (event = uncore_pmon_named_events; event->name; event++)
		room += uncore_pmon_has_event(pmu, event) ? ARRAY_SIZE(uncore_pmon_event_kinds) : 0;
	pmu->event_files = kcalloc(room + 1, sizeof(*pmu->event_files), GFP_KERNEL);
	pmu->event_attrs = kcalloc(room + 1, sizeof(*pmu->event_attrs), GFP_KERNEL);
	if (!pmu->event_files || !pmu->event_attrs)
		return -ENOMEM;

	for (event = uncore_pmon_named_events; event->name; event++) {
		if (uncore_pmon_has_event(pmu, event))
			nr += uncore_pmon_event_fill(pmu->event_files + nr, event);
	}
	for (i = 0; i < nr; i++)
		pmu->event_attrs[i] = &pmu->event_files[i].attr.attr;
	pmu->events_group.name = "events";
	pmu->events_group.attrs = pmu->event_attrs;
	return 0;
}

/* alias: the name by type number, if the PMU has another name */

static ssize_t alias_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", uncore_pmon_of_dev(dev)->alias);
}
static DEVICE_ATTR_RO(alias);

static struct attribute *uncore_pmon_alias_attrs[] = {
	&dev_attr_alias.attr,
	NULL
};

static const struct attribute_group uncore_pmon_alias_group = {
	.attrs = uncore_pmon_alias_attrs,
};

/* caps/ */

static int uncore_pmon_emit_counters(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%u", to_uncore_pmon_pmu(pp)->unit.counters);
}

PMUKIT_CAP(counters, uncore_pmon_emit_counters);

static int uncore_pmon_emit_width(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%u", to_uncore_pmon_pmu(pp)->unit.width_bits);
}

PMUKIT_CAP(counter_width, uncore_pmon_emit_width);

static int uncore_pmon_emit_fixed(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%d",
			     !!(to_uncore_pmon_pmu(pp)->kinds & BIT(UNCORE_PMON_FIXED)));
}

PMUKIT_CAP(fixed_counter, uncore_pmon_emit_fixed);

static int uncore_pmon_emit_free(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%d",
			     !!(to_uncore_pmon_pmu(pp)->kinds & BIT(UNCORE_PMON_FREE)));
}

PMUKIT_CAP(free_running, uncore_pmon_emit_free);

static int uncore_pmon_emit_fold(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%llu", to_uncore_pmon_pmu(pp)->fold_ns);
}

PMUKIT_CAP(fold_ns, uncore_pmon_emit_fold);

static int uncore_pmon_emit_access(struct pmukit_pmu *pp, char *buf, int at)
{
	static const char *const names[] = {
		[UNCORE_PMON_ACCESS_MSR]	= "msr",
		[UNCORE_PMON_ACCESS_MMIO]	= "mmio",
		[UNCORE_PMON_ACCESS_PCI]	= "pci",
	};

	return sysfs_emit_at(buf, at, "%s", names[to_uncore_pmon_pmu(pp)->unit.access]);
}

PMUKIT_CAP(access, uncore_pmon_emit_access);

static struct attribute *uncore_pmon_caps_attrs[] = {
	&counters.attr.attr,
	&counter_width.attr.attr,
	&fixed_counter.attr.attr,
	&free_running.attr.attr,
	&fold_ns.attr.attr,
	&access.attr.attr,
	NULL
};

static const struct attribute_group uncore_pmon_caps_group = {
	.name = "caps",
	.attrs = uncore_pmon_caps_attrs,
};

/**
 * uncore_pmon_sysfs_fill - create the attribute groups of a PMU
 * @pmu: a PMU with its boxes and names
 *
 * Return: 0 or -ENOMEM.
 */
int uncore_pmon_sysfs_fill(struct uncore_pmon_pmu *pmu)
{
	const struct attribute_group **group = pmu->groups;
	int ret = uncore_pmon_events_fill(pmu);

	if (ret)
		return ret;
	*group++ = &pmukit_cpumask_group;
	*group++ = uncore_pmon_format(&pmu->unit);
	*group++ = &pmu->events_group;
	*group++ = &uncore_pmon_caps_group;
	if (*pmu->alias)
		*group++ = &uncore_pmon_alias_group;
	return 0;
}

/**
 * uncore_pmon_sysfs_free - undo uncore_pmon_sysfs_fill(), even if it failed
 * @pmu: the PMU
 */
void uncore_pmon_sysfs_free(struct uncore_pmon_pmu *pmu)
{
	kfree(pmu->event_attrs);
	kfree(pmu->event_files);
}
