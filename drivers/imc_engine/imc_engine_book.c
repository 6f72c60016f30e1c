// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc_engine: its book in sysfs, below /sys/devices/imc_engine: what the engine itself says it did,
 * to hold against what the driver says. One file each for a CPU, a core and a chip; lines of a word
 * and a value. In debugfs how many probes it has attached, and a failure to order.
 * Documentation/ABI/testing/sysfs-devices-imc_engine is the promise.
 */

#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include <pmukit/imc_backend.h>

#include "imc_engine.h"

/* A file of a CPU, core or chip */
struct imc_engine_page {
	struct device_attribute attr;
	char name[16];
	unsigned int number;
};

static struct dentry *imc_engine_debugfs;
static u32 imc_engine_fail_probes;
static struct device *imc_engine_device;
static struct imc_engine_page *imc_engine_book_pages;

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

static int imc_engine_emit_slots(char *buf, int at, const u64 *book)
{
	unsigned int i;

	for (i = 0; i < IMC_ENGINE_NR_SLOTS; i++)
		at += sysfs_emit_at(buf, at, "%s %llu\n", imc_engine_slots[i].name, book[i]);
	return at;
}

/* A CPU that was never online has nothing to say. */
static ssize_t imc_engine_cpu_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	unsigned int cpu = container_of(attr, struct imc_engine_page, attr)->number;
	struct imc_engine_thread *thread = imc_engine_thread_of(cpu);
	struct imc_engine_core *core = READ_ONCE(thread->core);
	u64 book[IMC_ENGINE_NR_SLOTS], records, ticks, late, blind, ldbar;
	unsigned int number;
	u32 chip;
	int at;

	if (!core)
		return 0;
	raw_spin_lock_irq(&core->lock);
	memcpy(book, thread->book, sizeof(book));
	records = thread->trace.records;
	ticks = thread->ticks;
	late = thread->late;
	blind = thread->blind;
	ldbar = thread->ldbar;
	chip = thread->chip;
	raw_spin_unlock_irq(&core->lock);
	number = core - imc_engine_core_by_number(0);
	at = sysfs_emit(buf, "core %u\nchip %u\nldbar %s\nrecords %llu\nticks %llu\nlate %llu\n"
			"blind %llu\n", number, chip, imc_engine_ldbar_name(ldbar), records, ticks,
			late, blind);
	return imc_engine_emit_slots(buf, at, book);
}

static ssize_t imc_engine_core_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	unsigned int number = container_of(attr, struct imc_engine_page, attr)->number;
	struct imc_engine_core *core = imc_engine_core_by_number(number);
	u64 book[IMC_ENGINE_NR_SLOTS], rounds, period_ns;
	u32 mode;
	int at;

	if (cpumask_empty(core->cpus))
		return 0;
	raw_spin_lock_irq(&core->lock);
	memcpy(book, core->book, sizeof(book));
	rounds = core->rounds;
	mode = core->mode;
	period_ns = imc_engine_period_ns(core->scom);
	raw_spin_unlock_irq(&core->lock);
	at = sysfs_emit(buf, "mode %s\nrounds %llu\nperiod_ns %llu\n", imc_engine_mode_name(mode),
			rounds, period_ns);
	return imc_engine_emit_slots(buf, at, book);
}

static ssize_t imc_engine_chip_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	static const char * const statuses[] = { "initialising", "running", "paused" };
	unsigned int number = container_of(attr, struct imc_engine_page, attr)->number;
	struct imc_engine_chip_book book;
	unsigned int i;
	int at;

	if (!imc_engine_chip_read(number, &book))
		return 0;
	at = sysfs_emit(buf, "id %u\nstatus %s\nspeed %llu\nrounds %llu\n", book.id,
			statuses[book.status], book.speed, book.rounds);
	for (i = 0; i < IMC_ENGINE_NR_NEST_SLOTS; i++)
		at += sysfs_emit_at(buf, at, "%s %llu\n", imc_engine_nest_slots[i].name,
				    book.slots[i]);
	return at;
}

static ssize_t model_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "software engine: stands for In-Memory Collection hardware\n");
}
static DEVICE_ATTR_RO(model);

/* Probes */

static int imc_engine_probes_get(void *data, u64 *value)
{
	*value = imc_engine_probe_count();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(imc_engine_probes_fops, imc_engine_probes_get, NULL, "%llu\n");

/* The error that attaching probes is to fail with, once: for tests of who asks for them. */
int imc_engine_fail_once(void)
{
	return -(int)min_t(u32, xchg(&imc_engine_fail_probes, 0), MAX_ERRNO);
}

static void imc_engine_debugfs_add(void)
{
	imc_engine_debugfs = debugfs_create_dir("imc_engine", NULL);
	debugfs_create_file_unsafe("probes", 0400, imc_engine_debugfs, NULL,
				   &imc_engine_probes_fops);
	debugfs_create_u32("fail_probes", 0600, imc_engine_debugfs, &imc_engine_fail_probes);
}

/* Files */

static int imc_engine_page_add(struct imc_engine_page *page, const char *kind, unsigned int number,
			       ssize_t (*show)(struct device *dev, struct device_attribute *attr,
					       char *buf))
{
	snprintf(page->name, sizeof(page->name), "%s%u", kind, number);
	sysfs_attr_init(&page->attr.attr);
	page->attr.attr.name = page->name;
	page->attr.attr.mode = 0400;
	page->attr.show = show;
	page->number = number;
	return device_create_file(imc_engine_device, &page->attr);
}

static int imc_engine_pages_add(void)
{
	struct imc_engine_page *page = imc_engine_book_pages;
	unsigned int cpu, chip, nr_chips = imc_engine_chips(NULL, 0);
	int err = device_create_file(imc_engine_device, &dev_attr_model);

	for_each_possible_cpu(cpu) {
		err = err ?: imc_engine_page_add(page++, "cpu", cpu, imc_engine_cpu_show);
		err = err ?: imc_engine_page_add(page++, "core", cpu, imc_engine_core_show);
	}
	for (chip = 0; chip < nr_chips; chip++)
		err = err ?: imc_engine_page_add(page++, "chip", chip, imc_engine_chip_show);
	return err;
}

/* Chips and cores are known. The files go with the device. */
int imc_engine_book_prepare(void)
{
	unsigned int nr = 2 * num_possible_cpus() + imc_engine_chips(NULL, 0);
	int err;

	imc_engine_book_pages = kcalloc(nr, sizeof(*imc_engine_book_pages), GFP_KERNEL);
	if (!imc_engine_book_pages)
		return -ENOMEM;
	imc_engine_device = root_device_register("imc_engine");
	if (IS_ERR(imc_engine_device)) {
		err = PTR_ERR(imc_engine_device);
		goto free_pages;
	}
	err = imc_engine_pages_add();
	if (err)
		goto unregister;
	imc_engine_debugfs_add();
	return 0;

unregister:
	root_device_unregister(imc_engine_device);
free_pages:
	kfree(imc_engine_book_pages);
	return err;
}

void imc_engine_book_finish(void)
{
	debugfs_remove(imc_engine_debugfs);
	root_device_unregister(imc_engine_device);
	kfree(imc_engine_book_pages);
}
