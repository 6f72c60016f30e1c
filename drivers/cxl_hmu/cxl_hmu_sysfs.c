// SPDX-License-Identifier: GPL-2.0-only
/*
 * cxl_hmu: format/, events/ and caps/ of a PMU. caps/ shows the capabilities of the instance under
 * the names and in the units of the event terms; Documentation/ABI/testing describes the files.
 *
 * Context: process context; the values shown do not change while the PMU is registered.
 */

#include <linux/bitmap.h>
#include <linux/device.h>
#include <linux/perf_event.h>
#include <linux/sysfs.h>

#include "cxl_hmu.h"

/* format/: the layout of CXL_HMU_EVENT_* */

PMU_FORMAT_ATTR(epoch_type,		 "config:0-1");
PMU_FORMAT_ATTR(access_type,		 "config:2-9");
PMU_FORMAT_ATTR(epoch_scale,		 "config:10-13");
PMU_FORMAT_ATTR(epoch_multiplier,	 "config:14-25");
PMU_FORMAT_ATTR(randomized_downsampling, "config:26");
PMU_FORMAT_ATTR(downsampling_factor,	 "config:27-42");
PMU_FORMAT_ATTR(hotness_threshold,	 "config1:0-31");
PMU_FORMAT_ATTR(hotness_granual,	 "config1:32-63");
PMU_FORMAT_ATTR(range_base,		 "config2:0-31");
PMU_FORMAT_ATTR(range_size,		 "config2:32-63");

static struct attribute *cxl_hmu_format_attrs[] = {
	&format_attr_epoch_type.attr,
	&format_attr_access_type.attr,
	&format_attr_epoch_scale.attr,
	&format_attr_epoch_multiplier.attr,
	&format_attr_randomized_downsampling.attr,
	&format_attr_downsampling_factor.attr,
	&format_attr_hotness_threshold.attr,
	&format_attr_hotness_granual.attr,
	&format_attr_range_base.attr,
	&format_attr_range_size.attr,
	NULL
};

static const struct attribute_group cxl_hmu_format_group = {
	.name = "format",
	.attrs = cxl_hmu_format_attrs,
};

static struct cxl_hmu *cxl_hmu_of_device(struct device *dev)
{
	return to_cxl_hmu(to_pmukit_pmu(dev_get_drvdata(dev)));
}

/* events/: common configurations that the instance supports; unlisted terms have their defaults */

struct cxl_hmu_event_attr {
	struct device_attribute attr;
	u32 access;	/* access_type; 0: the default */
	u32 unit_log2;	/* hotness_granual */
};

static ssize_t cxl_hmu_event_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct cxl_hmu_event_attr *event = container_of(attr, struct cxl_hmu_event_attr, attr);
	int len = sysfs_emit(buf, "hotness_granual=%u", event->unit_log2);

	if (event->access)
		len += sysfs_emit_at(buf, len, ",access_type=%u", event->access);
	return len + sysfs_emit_at(buf, len, "\n");
}

static umode_t cxl_hmu_events_is_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	const struct cxl_hmu_caps *caps = &cxl_hmu_of_device(kobj_to_dev(kobj))->caps;
	const struct cxl_hmu_event_attr *event =
		container_of(attr, struct cxl_hmu_event_attr, attr.attr);

	if (!(caps->unit_mask & BIT(event->unit_log2)))
		return 0;
	return !event->access || caps->access_mask & BIT(event->access) ? attr->mode : 0;
}

#define CXL_HMU_EVENT(_name, _access, _unit_log2)					\
	(&((struct cxl_hmu_event_attr) {						\
		.attr = __ATTR(_name, 0444, cxl_hmu_event_show, NULL),			\
		.access = _access,							\
		.unit_log2 = _unit_log2,						\
	}).attr.attr)

static struct attribute *cxl_hmu_events_attrs[] = {
	CXL_HMU_EVENT(hot_pages, 0, 12),
	CXL_HMU_EVENT(hot_pages_read, 4, 12),
	CXL_HMU_EVENT(hot_pages_written, 5, 12),
	CXL_HMU_EVENT(hot_huge_pages, 0, 21),
	NULL
};

static const struct attribute_group cxl_hmu_events_group = {
	.name = "events",
	.attrs = cxl_hmu_events_attrs,
	.is_visible = cxl_hmu_events_is_visible,
};

/* caps/ */

static const struct cxl_hmu_caps *cxl_hmu_caps_of(struct pmukit_pmu *pp)
{
	return &to_cxl_hmu(pp)->caps;
}

static int cxl_hmu_emit_epoch_type(struct pmukit_pmu *pp, char *buf, int at)
{
	const struct cxl_hmu_caps *caps = cxl_hmu_caps_of(pp);

	return pmukit_emit_bits(buf, at, (caps->epoch_mode ? BIT(0) : 0) |
					 (caps->always_on ? BIT(1) : 0));
}

PMUKIT_CAP(epoch_type, cxl_hmu_emit_epoch_type);

static int cxl_hmu_emit_access_type(struct pmukit_pmu *pp, char *buf, int at)
{
	return pmukit_emit_bits(buf, at, cxl_hmu_caps_of(pp)->access_mask);
}

PMUKIT_CAP(access_type, cxl_hmu_emit_access_type);

static int cxl_hmu_emit_epoch_min(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%llu", cxl_hmu_epoch_us(cxl_hmu_caps_of(pp)->epoch_min));
}

PMUKIT_CAP(epoch_min_us, cxl_hmu_emit_epoch_min);

static int cxl_hmu_emit_epoch_max(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%llu", cxl_hmu_epoch_us(cxl_hmu_caps_of(pp)->epoch_max));
}

PMUKIT_CAP(epoch_max_us, cxl_hmu_emit_epoch_max);

static int cxl_hmu_emit_epoch_scope(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%s",
			     cxl_hmu_caps_of(pp)->epoch_per_counter ? "counter" : "global");
}

PMUKIT_CAP(epoch_scope, cxl_hmu_emit_epoch_scope);

static int cxl_hmu_emit_randomized(struct pmukit_pmu *pp, char *buf, int at)
{
	return pmukit_emit_bits(buf, at,
				BIT(0) | (cxl_hmu_caps_of(pp)->randomized ? BIT(1) : 0));
}

PMUKIT_CAP(randomized_downsampling, cxl_hmu_emit_randomized);

static int cxl_hmu_emit_downsampling(struct pmukit_pmu *pp, char *buf, int at)
{
	unsigned long mask = cxl_hmu_caps_of(pp)->downsampling_mask;
	unsigned int bit;
	int len = 0;

	for_each_set_bit(bit, &mask, BITS_PER_LONG)
		len += sysfs_emit_at(buf, at + len, "%s%lu", len ? " " : "", BIT(bit));
	return len;
}

PMUKIT_CAP(downsampling_factor, cxl_hmu_emit_downsampling);

static int cxl_hmu_emit_granual(struct pmukit_pmu *pp, char *buf, int at)
{
	return pmukit_emit_bits(buf, at, cxl_hmu_caps_of(pp)->unit_mask);
}

PMUKIT_CAP(hotness_granual, cxl_hmu_emit_granual);

static int cxl_hmu_emit_threshold(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%u", CXL_HMU_THRESHOLD_DEFAULT);
}

PMUKIT_CAP(hotness_threshold_default, cxl_hmu_emit_threshold);

static int cxl_hmu_emit_range_size(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%u", cxl_hmu_caps_of(pp)->capacity);
}

PMUKIT_CAP(range_size, cxl_hmu_emit_range_size);

static int cxl_hmu_emit_range_overlap(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%d", cxl_hmu_caps_of(pp)->overlap);
}

PMUKIT_CAP(range_overlap, cxl_hmu_emit_range_overlap);

static int cxl_hmu_emit_list_size(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%u", cxl_hmu_caps_of(pp)->list_size);
}

PMUKIT_CAP(hot_list_size, cxl_hmu_emit_list_size);

static int cxl_hmu_emit_postponed(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%d", cxl_hmu_caps_of(pp)->postponed);
}

PMUKIT_CAP(postponed_insertion, cxl_hmu_emit_postponed);

/*
 * Lists the interrupts that are in use. If the instance has no vector, the hot list is polled, and
 * no interrupt is in use even if the instance supports interrupts.
 */
static int cxl_hmu_emit_interrupts(struct pmukit_pmu *pp, char *buf, int at)
{
	const struct cxl_hmu *hmu = to_cxl_hmu(pp);

	if (!hmu->irq)
		return sysfs_emit_at(buf, at, "none");
	return sysfs_emit_at(buf, at, "%s%s%s", hmu->caps.int_level ? "level" : "",
			     hmu->caps.int_level && hmu->caps.int_overflow ? " " : "",
			     hmu->caps.int_overflow ? "overflow" : "");
}

PMUKIT_CAP(interrupts, cxl_hmu_emit_interrupts);

/* caps/counter_width_<hotness_granual>: one file per unit size that the instance supports */

struct cxl_hmu_width_attr {
	struct device_attribute attr;
	u32 unit_log2;
};

static ssize_t cxl_hmu_width_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct cxl_hmu_width_attr *width = container_of(attr, struct cxl_hmu_width_attr, attr);

	return sysfs_emit(buf, "%u\n",
			  cxl_hmu_of_device(dev)->caps.counter_width[width->unit_log2]);
}

static umode_t cxl_hmu_caps_is_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	const struct cxl_hmu *hmu = cxl_hmu_of_device(kobj_to_dev(kobj));
	const struct cxl_hmu_width_attr *width =
		container_of(attr, struct cxl_hmu_width_attr, attr.attr);

	if (width->attr.show != cxl_hmu_width_show)
		return attr->mode;
	return hmu->caps.unit_mask & BIT(width->unit_log2) ? attr->mode : 0;
}

#define CXL_HMU_WIDTH(_unit_log2)							\
	(&((struct cxl_hmu_width_attr) {						\
		.attr = __ATTR(counter_width_##_unit_log2, 0444, cxl_hmu_width_show, NULL), \
		.unit_log2 = _unit_log2,						\
	}).attr.attr)

static struct attribute *cxl_hmu_caps_attrs[] = {
	&epoch_type.attr.attr,
	&access_type.attr.attr,
	&epoch_min_us.attr.attr,
	&epoch_max_us.attr.attr,
	&epoch_scope.attr.attr,
	&randomized_downsampling.attr.attr,
	&downsampling_factor.attr.attr,
	&hotness_granual.attr.attr,
	&hotness_threshold_default.attr.attr,
	&range_size.attr.attr,
	&range_overlap.attr.attr,
	&hot_list_size.attr.attr,
	&postponed_insertion.attr.attr,
	&interrupts.attr.attr,
	CXL_HMU_WIDTH(8), CXL_HMU_WIDTH(9), CXL_HMU_WIDTH(10), CXL_HMU_WIDTH(11),
	CXL_HMU_WIDTH(12), CXL_HMU_WIDTH(13), CXL_HMU_WIDTH(14), CXL_HMU_WIDTH(15),
	CXL_HMU_WIDTH(16), CXL_HMU_WIDTH(17), CXL_HMU_WIDTH(18), CXL_HMU_WIDTH(19),
	CXL_HMU_WIDTH(20), CXL_HMU_WIDTH(21), CXL_HMU_WIDTH(22), CXL_HMU_WIDTH(23),
	CXL_HMU_WIDTH(24), CXL_HMU_WIDTH(25), CXL_HMU_WIDTH(26), CXL_HMU_WIDTH(27),
	CXL_HMU_WIDTH(28), CXL_HMU_WIDTH(29), CXL_HMU_WIDTH(30), CXL_HMU_WIDTH(31),
	NULL
};

static const struct attribute_group cxl_hmu_caps_group = {
	.name = "caps",
	.attrs = cxl_hmu_caps_attrs,
	.is_visible = cxl_hmu_caps_is_visible,
};

const struct attribute_group *cxl_hmu_attr_groups[] = {
	&pmukit_cpumask_group,
	&cxl_hmu_format_group,
	&cxl_hmu_events_group,
	&cxl_hmu_caps_group,
	NULL
};
