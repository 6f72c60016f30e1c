// SPDX-License-Identifier: GPL-2.0-only
/*
 * sysfs groups that all drivers share: cpumask and the files of caps/.
 *
 * Context: read callbacks, process context, no locks. perf sets the device's driver data to the
 * struct pmu. The values shown are in the pmukit_pmu, not in registers, so the files can be read
 * while the hardware is removed.
 */

#include <linux/bitmap.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include <pmukit/pmu.h>

static struct pmukit_pmu *pmukit_dev_to_pmu(struct device *dev)
{
	return to_pmukit_pmu(dev_get_drvdata(dev));
}

/*
 * cpumask: the CPU of the PMU, or with PMUKIT_SCOPE_GROUPS one CPU per group, so that
 * "perf record -a" opens one event on each of these CPUs
 */

/* Replaces cpumap_print_to_pagebuf(), which Linux 7.3 removed. */
static ssize_t pmukit_emit_cpus(char *buf, const struct cpumask *cpus)
{
	return sysfs_emit(buf, "%*pbl\n", cpumask_pr_args(cpus));
}

static ssize_t pmukit_servers_show(struct pmukit_pmu *pp, char *buf)
{
	cpumask_var_t servers;
	ssize_t len;

	if (!alloc_cpumask_var(&servers, GFP_KERNEL))
		return -ENOMEM;
	pmukit_pmu_servers(pp, servers);
	len = pmukit_emit_cpus(buf, servers);
	free_cpumask_var(servers);
	return len;
}

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct pmukit_pmu *pp = pmukit_dev_to_pmu(dev);

	if (pp->scope == PMUKIT_SCOPE_GROUPS)
		return pmukit_servers_show(pp, buf);
	return pmukit_emit_cpus(buf, cpumask_of(READ_ONCE(pp->cpu)));
}
static DEVICE_ATTR_RO(cpumask);

static struct attribute *pmukit_cpumask_attrs[] = {
	&dev_attr_cpumask.attr,
	NULL
};

const struct attribute_group pmukit_cpumask_group = {
	.attrs = pmukit_cpumask_attrs,
};
EXPORT_SYMBOL_GPL(pmukit_cpumask_group);

/* caps/ */

/**
 * pmukit_cap_show - the show callback of a struct pmukit_cap
 * @dev: the PMU's device
 * @attr: part of a struct pmukit_cap
 * @buf: one page
 *
 * Return: the length of the file.
 */
ssize_t pmukit_cap_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct pmukit_cap *cap = container_of(attr, struct pmukit_cap, attr);
	int len = cap->emit(pmukit_dev_to_pmu(dev), buf, 0);

	return len + sysfs_emit_at(buf, len, "\n");
}
EXPORT_SYMBOL_GPL(pmukit_cap_show);

/**
 * pmukit_emit_bits - print the numbers of the set bits, separated by spaces
 * @buf: the page of a sysfs file
 * @at: offset in the page
 * @mask: the bits
 *
 * Return: number of characters written.
 */
int pmukit_emit_bits(char *buf, int at, u64 mask)
{
	/* unsigned long has 64 bits, because the modules need a 64-bit kernel. */
	unsigned long bits = mask;
	unsigned int bit;
	int len = 0;

	for_each_set_bit(bit, &bits, BITS_PER_LONG)
		len += sysfs_emit_at(buf, at + len, "%s%u", len ? " " : "", bit);
	return len;
}
EXPORT_SYMBOL_GPL(pmukit_emit_bits);
