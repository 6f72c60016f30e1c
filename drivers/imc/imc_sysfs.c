// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc: format/, events/, caps/ and alias of a PMU. Documentation/ABI/testing defines the files.
 *
 * Context: process context. The contents never change while the PMU is registered.
 */

#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "imc.h"

static struct imc_pmu *imc_pmu_of_dev(struct device *dev)
{
	struct pmu *pmu = dev_get_drvdata(dev);

	return to_imc_pmu(to_pmukit_pmu(pmu));
}

/* format/, with the names of the in-tree driver */

PMU_FORMAT_ATTR(event,			"config:0-61");
PMU_FORMAT_ATTR(offset,			"config:0-31");
PMU_FORMAT_ATTR(rvalue,			"config:32");
PMU_FORMAT_ATTR(mode,			"config:33-40");
PMU_FORMAT_ATTR(cpmc_reserved,		"config:0-19");
PMU_FORMAT_ATTR(cpmc_event,		"config:20-27");
PMU_FORMAT_ATTR(cpmc_samplesel,		"config:28-29");
PMU_FORMAT_ATTR(cpmc_load,		"config:30-61");

static struct attribute *imc_format_attrs[] = {
	&format_attr_event.attr,
	&format_attr_offset.attr,
	&format_attr_rvalue.attr,
	&format_attr_mode.attr,
	NULL
};

static const struct attribute_group imc_format_group = {
	.name = "format",
	.attrs = imc_format_attrs,
};

static struct attribute *imc_format_trace_attrs[] = {
	&format_attr_event.attr,
	&format_attr_cpmc_reserved.attr,
	&format_attr_cpmc_event.attr,
	&format_attr_cpmc_samplesel.attr,
	&format_attr_cpmc_load.attr,
	NULL
};

static const struct attribute_group imc_format_trace_group = {
	.name = "format",
	.attrs = imc_format_trace_attrs,
};

/* events/: NAME, and NAME.scale and NAME.unit if the catalog has them */

static const struct imc_event_desc *imc_desc_of(struct device_attribute *attr)
{
	return container_of(attr, struct imc_event_file, attr)->event;
}

static ssize_t imc_event_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "event=0x%x\n", imc_desc_of(attr)->value);
}

static ssize_t imc_scale_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", imc_desc_of(attr)->scale);
}

static ssize_t imc_unit_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", imc_desc_of(attr)->unit);
}

static void imc_event_file_fill(struct imc_pmu *ipmu, u32 *nr, const struct imc_event_desc *event,
				const char *suffix,
				ssize_t (*show)(struct device *dev, struct device_attribute *attr,
						char *buf))
{
	struct imc_event_file *file = &ipmu->event_files[*nr];

	snprintf(file->name, sizeof(file->name), "%s%s", event->name, suffix);
	file->event = event;
	sysfs_attr_init(&file->attr.attr);
	file->attr.attr.name = file->name;
	file->attr.attr.mode = 0444;
	file->attr.show = show;
	ipmu->event_attrs[(*nr)++] = &file->attr.attr;
}

static int imc_events_fill(struct imc_pmu *ipmu)
{
	const struct imc_event_desc *event =
		ipmu->imc->catalog.events + ipmu->unit->first_event;
	const struct imc_event_desc *end = event + ipmu->unit->nr_events;
	u32 room = 3 * ipmu->unit->nr_events + 1, nr = 0;

	ipmu->event_files = kvcalloc(room, sizeof(*ipmu->event_files), GFP_KERNEL);
	ipmu->event_attrs = kvcalloc(room, sizeof(*ipmu->event_attrs), GFP_KERNEL);
	if (!ipmu->event_files || !ipmu->event_attrs)
		return -ENOMEM;

	for (; event < end; event++) {
		imc_event_file_fill(ipmu, &nr, event, "", imc_event_show);
		if (event->scale)
			imc_event_file_fill(ipmu, &nr, event, ".scale", imc_scale_show);
		if (event->unit)
			imc_event_file_fill(ipmu, &nr, event, ".unit", imc_unit_show);
	}
	ipmu->events_group.name = "events";
	ipmu->events_group.attrs = ipmu->event_attrs;
	return 0;
}

/* alias: name of the PMU in old documents, if different */

static ssize_t alias_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", imc_pmu_of_dev(dev)->alias);
}
static DEVICE_ATTR_RO(alias);

static struct attribute *imc_alias_attrs[] = {
	&dev_attr_alias.attr,
	NULL
};

static const struct attribute_group imc_alias_group = {
	.attrs = imc_alias_attrs,
};

/* caps/ */

/* Every back-end that is a module is a model: Documentation/decisions/0007-imc-backends.rst */
static int imc_emit_source(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "model");
}

PMUKIT_CAP(source, imc_emit_source);

static ssize_t imc_backend_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", imc_pmu_of_dev(dev)->imc->backend_name);
}

static struct device_attribute imc_backend_attr = __ATTR(backend, 0444, imc_backend_show, NULL);

static struct attribute *imc_caps_attrs[] = {
	&imc_backend_attr.attr,
	&source.attr.attr,
	NULL
};

static const struct attribute_group imc_caps_group = {
	.name = "caps",
	.attrs = imc_caps_attrs,
};

/**
 * imc_sysfs_fill - build the attribute groups of a PMU
 * @ipmu: a PMU whose names are set
 *
 * Return: 0 or -ENOMEM.
 */
int imc_sysfs_fill(struct imc_pmu *ipmu)
{
	const struct attribute_group **group = ipmu->groups;

	*group++ = ipmu->unit->type == IMC_TYPE_TRACE ? &imc_format_trace_group : &imc_format_group;
	*group++ = &imc_caps_group;
	if (ipmu->unit->nr_events) {
		int ret = imc_events_fill(ipmu);

		if (ret)
			return ret;
		*group++ = &ipmu->events_group;
	}
	if (ipmu->pp.scope == PMUKIT_SCOPE_GROUPS)
		*group++ = &pmukit_cpumask_group;
	if (*ipmu->alias)
		*group++ = &imc_alias_group;
	return 0;
}

/**
 * imc_sysfs_free - free what imc_sysfs_fill() allocated, even if it failed
 * @ipmu: the PMU
 */
void imc_sysfs_free(struct imc_pmu *ipmu)
{
	kvfree(ipmu->event_attrs);
	kvfree(ipmu->event_files);
}
