// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc_engine: reference counters in debugfs, imc_engine/. They record what the engine did, and
 * tests compare them with the driver's counts. There is one file per CPU, core and chip, with a
 * name and a value per line; the values of a file are consistent. Other files have the number of
 * attached probes and inject faults when probes are attached
 * (Documentation/ABI/testing/debugfs-imc_engine). A file in sysfs shows that the engine is a model.
 */

#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>

#include <pmukit/imc_backend.h>

#include "imc_engine.h"

static struct dentry *imc_engine_debugfs;
static u32 imc_engine_fail_probes;
static struct device *imc_engine_device;

static const char *imc_engine_mode_name(u32 mode)
{
	switch (mode) {
	case PMUKIT_IMC_CORE:
		return "accumulate";
	case PMUKIT_IMC_TRACE:
		return "trace";
	default:
		return "off";
	}
}

static const char *imc_engine_ldbar_name(u64 ldbar)
{
	if (ldbar & IMC_ENGINE_LDBAR_TRACE)
		return "trace";
	return ldbar & IMC_ENGINE_LDBAR_ENABLE ? "accumulate" : "off";
}

static void imc_engine_show_slots(struct seq_file *file, const u64 *reference)
{
	unsigned int i;

	for (i = 0; i < IMC_ENGINE_NR_SLOTS; i++)
		seq_printf(file, "%s %llu\n", imc_engine_slots[i].name, reference[i]);
}

/* Number of the CPU, core or chip that the file describes */
static unsigned int imc_engine_number(const struct seq_file *file)
{
	return (unsigned long)file->private;
}

/* The file is empty for a CPU that was never online. */
static int imc_engine_cpu_show(struct seq_file *file, void *unused)
{
	struct imc_engine_thread *thread = imc_engine_thread_of(imc_engine_number(file));
	struct imc_engine_core *core = READ_ONCE(thread->core);
	u64 reference[IMC_ENGINE_NR_SLOTS], records, ticks, late, blind, ldbar;
	unsigned int number;
	u32 chip;

	if (!core)
		return 0;
	raw_spin_lock_irq(&core->lock);
	memcpy(reference, thread->reference, sizeof(reference));
	records = thread->trace.records;
	ticks = thread->ticks;
	late = thread->late;
	blind = thread->blind;
	ldbar = thread->ldbar;
	chip = thread->chip;
	raw_spin_unlock_irq(&core->lock);
	number = core - imc_engine_core_by_number(0);
	seq_printf(file, "core %u\nchip %u\nldbar %s\nrecords %llu\nticks %llu\nlate %llu\n",
		   number, chip, imc_engine_ldbar_name(ldbar), records, ticks, late);
	seq_printf(file, "blind %llu\n", blind);
	imc_engine_show_slots(file, reference);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(imc_engine_cpu);

static int imc_engine_core_show(struct seq_file *file, void *unused)
{
	struct imc_engine_core *core = imc_engine_core_by_number(imc_engine_number(file));
	u64 reference[IMC_ENGINE_NR_SLOTS], rounds, period_ns;
	u32 mode;

	if (cpumask_empty(core->cpus))
		return 0;
	raw_spin_lock_irq(&core->lock);
	memcpy(reference, core->reference, sizeof(reference));
	rounds = core->rounds;
	mode = core->mode;
	period_ns = imc_engine_period_ns(core->scom);
	raw_spin_unlock_irq(&core->lock);
	seq_printf(file, "mode %s\nrounds %llu\nperiod_ns %llu\n", imc_engine_mode_name(mode),
		   rounds, period_ns);
	imc_engine_show_slots(file, reference);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(imc_engine_core);

static int imc_engine_chip_show(struct seq_file *file, void *unused)
{
	static const char * const statuses[] = { "initialising", "running", "paused" };
	struct imc_engine_chip_reference reference;
	unsigned int i;

	if (!imc_engine_chip_read(imc_engine_number(file), &reference))
		return 0;
	seq_printf(file, "id %u\nstatus %s\nspeed %llu\nrounds %llu\n", reference.id,
		   statuses[reference.status], reference.speed, reference.rounds);
	for (i = 0; i < IMC_ENGINE_NR_NEST_SLOTS; i++)
		seq_printf(file, "%s %llu\n", imc_engine_nest_slots[i].name, reference.slots[i]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(imc_engine_chip);

/* Probes */

static int imc_engine_probes_get(void *data, u64 *value)
{
	*value = imc_engine_probe_count();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(imc_engine_probes_fops, imc_engine_probes_get, NULL, "%llu\n");

/* Fault injection: returns the error in fail_probes as -errno, and resets fail_probes to 0. */
int imc_engine_fail_once(void)
{
	return -(int)min_t(u32, xchg(&imc_engine_fail_probes, 0), MAX_ERRNO);
}

/* sysfs */

static ssize_t model_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "software engine: stands for In-Memory Collection hardware\n");
}
static DEVICE_ATTR_RO(model);

/* Files */

static void imc_engine_page_add(const char *kind, unsigned int number,
				const struct file_operations *fops)
{
	char name[16];

	snprintf(name, sizeof(name), "%s%u", kind, number);
	debugfs_create_file(name, 0400, imc_engine_debugfs, (void *)(unsigned long)number, fops);
}

static void imc_engine_debugfs_add(void)
{
	unsigned int cpu, chip, nr_chips = imc_engine_chips(NULL, 0);

	imc_engine_debugfs = debugfs_create_dir("imc_engine", NULL);
	debugfs_create_file_unsafe("probes", 0400, imc_engine_debugfs, NULL,
				   &imc_engine_probes_fops);
	debugfs_create_u32("fail_probes", 0600, imc_engine_debugfs, &imc_engine_fail_probes);
	for_each_possible_cpu(cpu) {
		imc_engine_page_add("cpu", cpu, &imc_engine_cpu_fops);
		imc_engine_page_add("core", cpu, &imc_engine_core_fops);
	}
	for (chip = 0; chip < nr_chips; chip++)
		imc_engine_page_add("chip", chip, &imc_engine_chip_fops);
}

/* Called once chips and cores are known. */
int imc_engine_debugfs_prepare(void)
{
	int err;

	imc_engine_device = root_device_register("imc_engine");
	if (IS_ERR(imc_engine_device))
		return PTR_ERR(imc_engine_device);
	err = device_create_file(imc_engine_device, &dev_attr_model);
	if (err) {
		root_device_unregister(imc_engine_device);
		return err;
	}
	imc_engine_debugfs_add();
	return 0;
}

/* On return no file is being read, and none can be read again. */
void imc_engine_debugfs_finish(void)
{
	debugfs_remove(imc_engine_debugfs);
	root_device_unregister(imc_engine_device);
}
