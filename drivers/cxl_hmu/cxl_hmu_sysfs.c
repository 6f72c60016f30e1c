// SPDX-License-Identifier: GPL-2.0-only
/*
 * cxl_hmu: format/ and caps/ of a PMU. caps/ says what the instance can do in the words and units
 * of the event terms; Documentation/ABI/testing has the promise.
 *
 * Context: process context; what is shown never changes while the PMU is registered.
 */

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

static int cxl_hmu_emit_epoch(char *buf, int at, struct cxl_hmu_epoch epoch)
{
	return sysfs_emit_at(buf, at, "epoch_scale=%u,epoch_multiplier=%u",
			     epoch.scale, epoch.value);
}

static int cxl_hmu_emit_epoch_min(struct pmukit_pmu *pp, char *buf, int at)
{
	return cxl_hmu_emit_epoch(buf, at, cxl_hmu_caps_of(pp)->epoch_min);
}

PMUKIT_CAP(epoch_min, cxl_hmu_emit_epoch_min);

static int cxl_hmu_emit_epoch_max(struct pmukit_pmu *pp, char *buf, int at)
{
	return cxl_hmu_emit_epoch(buf, at, cxl_hmu_caps_of(pp)->epoch_max);
}

PMUKIT_CAP(epoch_max, cxl_hmu_emit_epoch_max);

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
	u32 mask = cxl_hmu_caps_of(pp)->downsampling_mask;
	int len = 0;
	u32 bit;

	for (bit = 0; bit < 16; bit++) {
		if (mask & BIT(bit))
			len += sysfs_emit_at(buf, at + len, "%s%lu", len ? " " : "", BIT(bit));
	}
	return len;
}

PMUKIT_CAP(downsampling_factor, cxl_hmu_emit_downsampling);

static int cxl_hmu_emit_granual(struct pmukit_pmu *pp, char *buf, int at)
{
	return pmukit_emit_bits(buf, at, cxl_hmu_caps_of(pp)->unit_mask);
}

PMUKIT_CAP(hotness_granual, cxl_hmu_emit_granual);

/* What depends on the unit size is shown as granual=value. */
static int cxl_hmu_emit_by_unit(struct pmukit_pmu *pp, char *buf, int at,
				u64 (*value)(u32 counter_width))
{
	const struct cxl_hmu_caps *caps = cxl_hmu_caps_of(pp);
	int len = 0;
	u32 unit;

	for (unit = 0; unit < ARRAY_SIZE(caps->counter_width); unit++) {
		if (caps->unit_mask & BIT(unit))
			len += sysfs_emit_at(buf, at + len, "%s%u=%llu", len ? " " : "", unit,
					     value(caps->counter_width[unit]));
	}
	return len;
}

static u64 cxl_hmu_width_itself(u32 counter_width)
{
	return counter_width;
}

static int cxl_hmu_emit_counter_width(struct pmukit_pmu *pp, char *buf, int at)
{
	return cxl_hmu_emit_by_unit(pp, buf, at, cxl_hmu_width_itself);
}

PMUKIT_CAP(counter_width, cxl_hmu_emit_counter_width);

static u64 cxl_hmu_width_to_threshold(u32 counter_width)
{
	return min_t(u64, BIT_ULL(counter_width) - 1, U32_MAX);
}

static int cxl_hmu_emit_threshold(struct pmukit_pmu *pp, char *buf, int at)
{
	return cxl_hmu_emit_by_unit(pp, buf, at, cxl_hmu_width_to_threshold);
}

PMUKIT_CAP(hotness_threshold, cxl_hmu_emit_threshold);

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

/* What is in use, not only what the device offers: without a vector the list is polled. */
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

static struct attribute *cxl_hmu_caps_attrs[] = {
	&epoch_type.attr.attr,
	&access_type.attr.attr,
	&epoch_min.attr.attr,
	&epoch_max.attr.attr,
	&epoch_scope.attr.attr,
	&randomized_downsampling.attr.attr,
	&downsampling_factor.attr.attr,
	&hotness_granual.attr.attr,
	&hotness_threshold.attr.attr,
	&counter_width.attr.attr,
	&range_size.attr.attr,
	&range_overlap.attr.attr,
	&hot_list_size.attr.attr,
	&postponed_insertion.attr.attr,
	&interrupts.attr.attr,
	NULL
};

static const struct attribute_group cxl_hmu_caps_group = {
	.name = "caps",
	.attrs = cxl_hmu_caps_attrs,
};

const struct attribute_group *cxl_hmu_attr_groups[] = {
	&pmukit_cpumask_group,
	&pmukit_stats_group,
	&cxl_hmu_format_group,
	&cxl_hmu_caps_group,
	NULL
};
