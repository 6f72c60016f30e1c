// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: sysfs files of the PMU: format/, events/, caps/, and files that only this PMU has.
 * Documentation/ABI/testing documents the files.
 *
 * There is no cpumask file, because perf would take the PMU for a system-wide one, and events have
 * no .per-pkg file, because perf would drop all but one L3 of a package.
 */

#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/perf_event.h>
#include <linux/sysfs.h>

#include "cache_qos.h"

static struct cache_qos_live *cache_qos_of_dev(struct device *dev)
{
	struct pmu *pmu = dev_get_drvdata(dev);

	return to_cache_qos_live(to_pmukit_pmu(pmu));
}

/* format/ */

PMU_FORMAT_ATTR(event,	"config:0-7");
PMU_FORMAT_ATTR(domain,	"config:8-23");
PMU_FORMAT_ATTR(share,	"config1:0-31");

static struct attribute *cache_qos_format_attrs[] = {
	&format_attr_event.attr,
	&format_attr_domain.attr,
	&format_attr_share.attr,
	NULL
};

static const struct attribute_group cache_qos_format_group = {
	.name = "format",
	.attrs = cache_qos_format_attrs,
};

/* events/: events that the hardware supports */

struct cache_qos_event_attr {
	struct device_attribute attr;
	u32 event;
	const char *text;
};

static ssize_t cache_qos_event_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct cache_qos_event_attr *ea = container_of(attr, struct cache_qos_event_attr, attr);

	return sysfs_emit(buf, "%s\n", ea->text);
}

#define CACHE_QOS_FILE(_id, _name, _event, _text)				\
	static struct cache_qos_event_attr cache_qos_file_##_id = {		\
		.attr = { .attr = { .name = _name, .mode = 0444 },		\
			  .show = cache_qos_event_show },			\
		.event = _event,						\
		.text = _text,							\
	}

CACHE_QOS_FILE(occupancy, "llc_occupancy", PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, "event=0x01");
CACHE_QOS_FILE(occupancy_unit, "llc_occupancy.unit", PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, "Bytes");
CACHE_QOS_FILE(occupancy_scale, "llc_occupancy.scale", PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, "1");
CACHE_QOS_FILE(occupancy_snapshot, "llc_occupancy.snapshot", PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, "1");
CACHE_QOS_FILE(total_bytes, "total_bytes", PMUKIT_CACHE_QOS_EVENT_TOTAL, "event=0x02");
CACHE_QOS_FILE(total_bytes_unit, "total_bytes.unit", PMUKIT_CACHE_QOS_EVENT_TOTAL, "MB");
CACHE_QOS_FILE(total_bytes_scale, "total_bytes.scale", PMUKIT_CACHE_QOS_EVENT_TOTAL, "1e-6");
CACHE_QOS_FILE(local_bytes, "local_bytes", PMUKIT_CACHE_QOS_EVENT_LOCAL, "event=0x03");
CACHE_QOS_FILE(local_bytes_unit, "local_bytes.unit", PMUKIT_CACHE_QOS_EVENT_LOCAL, "MB");
CACHE_QOS_FILE(local_bytes_scale, "local_bytes.scale", PMUKIT_CACHE_QOS_EVENT_LOCAL, "1e-6");
CACHE_QOS_FILE(remote_bytes, "remote_bytes", PMUKIT_CACHE_QOS_EVENT_REMOTE, "event=0x04");
CACHE_QOS_FILE(remote_bytes_unit, "remote_bytes.unit", PMUKIT_CACHE_QOS_EVENT_REMOTE, "MB");
CACHE_QOS_FILE(remote_bytes_scale, "remote_bytes.scale", PMUKIT_CACHE_QOS_EVENT_REMOTE, "1e-6");

static struct attribute *cache_qos_event_attrs[] = {
	&cache_qos_file_occupancy.attr.attr,
	&cache_qos_file_occupancy_unit.attr.attr,
	&cache_qos_file_occupancy_scale.attr.attr,
	&cache_qos_file_occupancy_snapshot.attr.attr,
	&cache_qos_file_total_bytes.attr.attr,
	&cache_qos_file_total_bytes_unit.attr.attr,
	&cache_qos_file_total_bytes_scale.attr.attr,
	&cache_qos_file_local_bytes.attr.attr,
	&cache_qos_file_local_bytes_unit.attr.attr,
	&cache_qos_file_local_bytes_scale.attr.attr,
	&cache_qos_file_remote_bytes.attr.attr,
	&cache_qos_file_remote_bytes_unit.attr.attr,
	&cache_qos_file_remote_bytes_scale.attr.attr,
	NULL
};

static umode_t cache_qos_event_visible(struct kobject *kobj, struct attribute *attr, int nr)
{
	struct cache_qos_live *live = cache_qos_of_dev(kobj_to_dev(kobj));
	struct cache_qos_event_attr *ea = container_of(attr, struct cache_qos_event_attr,
						       attr.attr);

	return cache_qos_event_there(&live->core.hw, ea->event) ? attr->mode : 0;
}

static const struct attribute_group cache_qos_event_group = {
	.name = "events",
	.attrs = cache_qos_event_attrs,
	.is_visible = cache_qos_event_visible,
};

/* caps/: constant while the PMU is registered */

static int cache_qos_emit_source(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, cache_qos_is_model(to_cache_qos_live(pp)) ? "model" :
										  "hardware");
}

static int cache_qos_emit_backend(struct pmukit_pmu *pp, char *buf, int at)
{
	return sysfs_emit_at(buf, at, "%s", to_cache_qos_live(pp)->backend_name);
}

#define CACHE_QOS_HW_CAP(_name, _field)							\
	static int cache_qos_emit_##_name(struct pmukit_pmu *pp, char *buf, int at)	\
	{										\
		return sysfs_emit_at(buf, at, "%u",					\
				     (u32)to_cache_qos_live(pp)->core.hw._field);	\
	}										\
	PMUKIT_CAP(_name, cache_qos_emit_##_name)

CACHE_QOS_HW_CAP(nr_rmid, nr_rmid);
CACHE_QOS_HW_CAP(scale, scale);
CACHE_QOS_HW_CAP(width, width);

static int cache_qos_emit_quirks(struct pmukit_pmu *pp, char *buf, int at)
{
	const struct cache_qos_hw *hw = &to_cache_qos_live(pp)->core.hw;

	return sysfs_emit_at(buf, at, "%s%s%s", hw->factor ? "correction " : "",
			     hw->restarts ? "restarts " : "", hw->abmc ? "abmc " : "");
}

PMUKIT_CAP(source, cache_qos_emit_source);
PMUKIT_CAP(backend, cache_qos_emit_backend);
PMUKIT_CAP(quirks, cache_qos_emit_quirks);

static struct attribute *cache_qos_caps_attrs[] = {
	&source.attr.attr,
	&backend.attr.attr,
	&nr_rmid.attr.attr,
	&scale.attr.attr,
	&width.attr.attr,
	&quirks.attr.attr,
	NULL
};

static const struct attribute_group cache_qos_caps_group = {
	.name = "caps",
	.attrs = cache_qos_caps_attrs,
};

/* domains: one line per domain that has ever been online */

static ssize_t domains_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct cache_qos_live *live = cache_qos_of_dev(dev);
	u32 d, nr = cache_qos_nr_domains(&live->core);
	int len = 0;

	for (d = 0; d < nr; d++) {
		const struct cache_qos_domain *domain = &live->core.domains[d];

		len += sysfs_emit_at(buf, len, "%u %u %llu %u %u %u\n", domain->is.id,
				     domain->is.package, domain->is.bytes,
				     READ_ONCE(domain->nr_cpus), domain->is.l3, domain->is.node);
	}
	return len;
}
static DEVICE_ATTR_RO(domains);

/**
 * cache_qos_emit_holder - write which software has the registers
 * @live: driver state
 * @buf: buffer of the file
 * @at: bytes written so far
 *
 * Return: bytes written.
 */
int cache_qos_emit_holder(const struct cache_qos_live *live, char *buf, int at)
{
	unsigned int cpu = cache_qos_foreign_cpu(live);

	if (!cache_qos_registers_taken(&live->core))
		return sysfs_emit_at(buf, at, "cache_qos\n");
	if (READ_ONCE(live->core.claimed))
		return sysfs_emit_at(buf, at, "resctrl\n");
	if (cpu >= nr_cpu_ids)
		return sysfs_emit_at(buf, at, "another tool\n");
	return sysfs_emit_at(buf, at, "cpu %u rmid %u\n", cpu,
			     READ_ONCE(per_cpu_ptr(live->cpus, cpu)->foreign));
}

static ssize_t registers_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return cache_qos_emit_holder(cache_qos_of_dev(dev), buf, 0);
}
static DEVICE_ATTR_RO(registers);

/* Writable files */

static ssize_t sample_ms_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(cache_qos_of_dev(dev)->sample_ms));
}

static ssize_t sample_ms_store(struct device *dev, struct device_attribute *attr, const char *buf,
			       size_t count)
{
	struct cache_qos_live *live = cache_qos_of_dev(dev);
	unsigned int ms;
	int ret;

	ret = kstrtouint(buf, 0, &ms);
	if (ret)
		return ret;
	if (ms < CACHE_QOS_SAMPLE_MS_MIN || ms > CACHE_QOS_SAMPLE_MS_MAX)
		return -EINVAL;
	WRITE_ONCE(live->sample_ms, ms);
	return count;
}
static DEVICE_ATTR_RW(sample_ms);

static ssize_t threshold_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct cache_qos_live *live = cache_qos_of_dev(dev);

	return sysfs_emit(buf, "%llu\n", READ_ONCE(live->core.threshold) * live->core.hw.scale);
}

static ssize_t threshold_store(struct device *dev, struct device_attribute *attr, const char *buf,
			       size_t count)
{
	struct cache_qos_live *live = cache_qos_of_dev(dev);
	u64 bytes;
	int ret;

	ret = kstrtou64(buf, 0, &bytes);
	if (ret)
		return ret;
	raw_spin_lock_irq(&live->lock);
	ret = cache_qos_set_threshold(&live->core, bytes);
	raw_spin_unlock_irq(&live->lock);
	return ret ?: count;
}
static DEVICE_ATTR_RW(threshold);

static ssize_t alloc_dirty_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(cache_qos_of_dev(dev)->core.alloc_dirty));
}

static ssize_t alloc_dirty_store(struct device *dev, struct device_attribute *attr,
				 const char *buf, size_t count)
{
	struct cache_qos_live *live = cache_qos_of_dev(dev);
	bool on;
	int ret;

	ret = kstrtobool(buf, &on);
	if (ret)
		return ret;
	WRITE_ONCE(live->core.alloc_dirty, on);
	return count;
}
static DEVICE_ATTR_RW(alloc_dirty);

static struct attribute *cache_qos_attrs[] = {
	&dev_attr_domains.attr,
	&dev_attr_registers.attr,
	&dev_attr_sample_ms.attr,
	&dev_attr_threshold.attr,
	&dev_attr_alloc_dirty.attr,
	NULL
};

static const struct attribute_group cache_qos_group = {
	.attrs = cache_qos_attrs,
};

const struct attribute_group *cache_qos_groups[] = {
	&cache_qos_format_group,
	&cache_qos_event_group,
	&cache_qos_caps_group,
	&cache_qos_group,
	NULL
};
