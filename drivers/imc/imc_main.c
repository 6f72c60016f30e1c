// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc: registration of a back-end and its PMUs.
 *
 * In-Memory Collection of POWER9 and later: engines count and trace into memory. This driver has
 * the perf side, and a back-end (<pmukit/imc_backend.h>) drives the engines. Without a back-end
 * there is no PMU. Only one back-end can be registered, because its PMUs have fixed names.
 *
 * Open events hold a reference to the back-end's module (imc_event.c), so no event is open when it
 * unregisters.
 */

#include <linux/cpu.h>
#include <linux/firmware.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "imc.h"

static DEFINE_MUTEX(imc_backend_lock);	/* imc_registered */
static struct imc *imc_registered;

/* References */

static void imc_release(struct kref *ref)
{
	struct imc *imc = container_of(ref, struct imc, ref);

	imc_cpus_free(imc);
	kvfree(imc->catalog.events);
	kvfree(imc->catalog.units);
	kvfree(imc->blob);
	kfree(imc);
}

/**
 * imc_get - take a reference
 * @imc: driver state
 */
void imc_get(struct imc *imc)
{
	kref_get(&imc->ref);
}

/**
 * imc_put - drop a reference
 * @imc: driver state
 *
 * Context: may sleep.
 */
void imc_put(struct imc *imc)
{
	kref_put(&imc->ref, imc_release);
}

/* Catalog */

static const struct imc_unit *imc_unit_find(const struct imc *imc, u32 type)
{
	u32 i;

	for (i = 0; i < imc->catalog.nr_units; i++) {
		if (imc->catalog.units[i].type == type)
			return &imc->catalog.units[i];
	}
	return NULL;
}

static void imc_catalog_warn_skipped(const struct imc *imc)
{
	const struct imc_catalog *catalog = &imc->catalog;
	u32 shown = min_t(u32, catalog->nr_skipped, IMC_MAX_SKIPPED), i;

	for (i = 0; i < shown; i++)
		dev_warn(&imc->parent->dev, "catalogue %s: %s: %s; unit skipped\n",
			 imc->backend->catalog, catalog->skipped[i].path, catalog->skipped[i].why);
	if (shown < catalog->nr_skipped)
		dev_warn(&imc->parent->dev, "catalogue %s: %u more units skipped\n",
			 imc->backend->catalog, catalog->nr_skipped - shown);
}

static int imc_catalog_read(struct imc *imc, size_t bytes)
{
	struct imc_catalog *catalog = &imc->catalog;
	const char *wrong;

	catalog->units = kvcalloc(IMC_MAX_UNITS, sizeof(*catalog->units), GFP_KERNEL);
	catalog->events = kvcalloc(IMC_MAX_EVENTS, sizeof(*catalog->events), GFP_KERNEL);
	if (!catalog->units || !catalog->events)
		return -ENOMEM;

	wrong = imc_catalog_parse(imc->blob, bytes, catalog);
	imc_catalog_warn_skipped(imc);
	if (wrong) {
		dev_err(&imc->parent->dev, "catalogue %s: %s: %s\n", imc->backend->catalog,
			catalog->path, wrong);
		return -EINVAL;
	}
	imc->core = imc_unit_find(imc, IMC_TYPE_CORE);
	imc->thread = imc_unit_find(imc, IMC_TYPE_THREAD);
	imc->trace = imc_unit_find(imc, IMC_TYPE_TRACE);
	return 0;
}

static int imc_catalog_load(struct imc *imc)
{
	const struct firmware *firmware;
	int ret;

	ret = request_firmware(&firmware, imc->backend->catalog, &imc->parent->dev);
	if (ret)
		return dev_err_probe(&imc->parent->dev, ret, "no catalogue %s\n",
				     imc->backend->catalog);
	/* Allocate one byte more than the file has: an empty file needs a valid blob, too. */
	imc->blob = kvmalloc(firmware->size + 1, GFP_KERNEL);
	ret = -ENOMEM;
	if (imc->blob) {
		memcpy(imc->blob, firmware->data, firmware->size);
		ret = imc_catalog_read(imc, firmware->size);
	}
	release_firmware(firmware);
	return ret;
}

/* PMUs */

/**
 * imc_pmu_free - free a PMU whose last reference was dropped
 * @ipmu: the PMU
 */
void imc_pmu_free(struct imc_pmu *ipmu)
{
	struct imc *imc = ipmu->imc;

	imc_sysfs_free(ipmu);
	kfree(ipmu);
	imc_put(imc);
}

/*
 * The names are those of the in-tree driver, such as nest_mcs01_imc and core_imc. Old documents
 * call the nest PMUs nest_mcs01, without _imc: alias has this name.
 */
static void imc_pmu_name(struct imc_pmu *ipmu)
{
	const struct imc_unit *unit = ipmu->unit;
	bool nest = unit->type == IMC_TYPE_CHIP;

	snprintf(ipmu->pp.name, sizeof(ipmu->pp.name), "%s%s_imc", nest ? "nest_" : "", unit->name);
	if (nest)
		snprintf(ipmu->alias, sizeof(ipmu->alias), "nest_%s", unit->name);
}

static int imc_pmu_add(struct imc *imc, const struct imc_unit *unit)
{
	struct imc_pmu *ipmu = kzalloc_obj(*ipmu);
	int ret;

	if (!ipmu)
		return -ENOMEM;
	imc_get(imc);
	ipmu->imc = imc;
	ipmu->unit = unit;
	if (unit->type == IMC_TYPE_TRACE)
		imc_trace_fill(ipmu);
	else
		imc_counter_fill(ipmu);
	ipmu->pp.max_events = UINT_MAX;
	ipmu->pp.pmu.event_init = imc_event_init;
	ipmu->pp.pmu.attr_groups = ipmu->groups;
	imc_pmu_name(ipmu);

	ret = imc_sysfs_fill(ipmu);
	if (!ret)
		ret = pmukit_pmu_register(&ipmu->pp, &imc->parent->dev);
	if (ret) {
		dev_err(&imc->parent->dev, "%s: not registered: %d\n", ipmu->pp.name, ret);
		pmukit_pmu_put(&ipmu->pp);
		return ret;
	}
	imc->pmus[imc->nr_pmus] = ipmu;
	WRITE_ONCE(imc->nr_pmus, imc->nr_pmus + 1);
	return 0;
}

/* A chip may have less memory than the 4 MiB that the parser allows. */
static bool imc_unit_lies_in_chips(const struct imc *imc, const struct imc_unit *unit)
{
	u32 i;

	for (i = 0; i < imc->nr_chips; i++) {
		const struct imc_chip *chip = &imc->chips[i];

		if (imc_unit_lies_in(unit, chip->bytes))
			continue;
		dev_warn(&imc->parent->dev,
			 "catalogue %s: %s: counters or control block lie beyond the %#llx bytes of chip %u; unit skipped\n",
			 imc->backend->catalog, unit->name, chip->bytes, chip->id);
		return false;
	}
	return true;
}

/* The core's engine writes the thread counters, and is prepared only if there is a core unit. */
static bool imc_unit_usable(const struct imc *imc, const struct imc_unit *unit)
{
	if (unit->type == IMC_TYPE_CHIP)
		return imc_unit_lies_in_chips(imc, unit);
	if (unit->type != IMC_TYPE_THREAD || imc->core)
		return true;
	dev_warn(&imc->parent->dev, "%s: no thread events without a core unit\n", unit->name);
	return false;
}

static void imc_pmus_remove(struct imc *imc)
{
	while (imc->nr_pmus) {
		struct imc_pmu *ipmu = imc->pmus[imc->nr_pmus - 1];

		WRITE_ONCE(imc->nr_pmus, imc->nr_pmus - 1);
		pmukit_pmu_remove(&ipmu->pp);
		pmukit_pmu_put(&ipmu->pp);
	}
}

static int imc_pmus_add(struct imc *imc)
{
	u32 i;
	int ret;

	for (i = 0; i < imc->catalog.nr_units; i++) {
		if (!imc_unit_usable(imc, &imc->catalog.units[i]))
			continue;
		ret = imc_pmu_add(imc, &imc->catalog.units[i]);
		if (ret)
			return ret;
	}
	if (!imc->nr_pmus)
		dev_err(&imc->parent->dev, "catalogue %s: no unit can be used\n",
			imc->backend->catalog);
	return imc->nr_pmus ? 0 : -EINVAL;
}

/* Back-ends */

static int imc_chips_prepare(struct imc *imc)
{
	unsigned long done = 0;
	unsigned int cpu;
	int ret = 0;

	imc_chips_find(imc);
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		struct imc_chip *chip = imc_chip_of(imc, cpu);

		if (!chip || test_and_set_bit(chip - imc->chips, &done))
			continue;
		ret = imc->backend->init(PMUKIT_IMC_NEST, 0, cpu);
		if (ret)
			break;
	}
	cpus_read_unlock();
	return ret;
}

static void imc_set_serving(struct imc *imc, bool serving)
{
	spin_lock(&imc->claim_lock);
	imc->serving = serving;
	spin_unlock(&imc->claim_lock);
}

/*
 * Makes new events fail first, then waits for everything that may still call the back-end.
 */
static void imc_bring_down(struct imc *imc)
{
	imc_set_serving(imc, false);
	imc_pmus_remove(imc);
	imc_debugfs_remove(imc);
	imc_cpus_stop(imc);
	imc_probes_stop(imc);
}

static int imc_bring_up(struct imc *imc)
{
	int ret;

	ret = imc_catalog_load(imc);
	if (ret)
		return ret;
	ret = imc_chips_prepare(imc);
	if (ret)
		return ret;
	ret = imc_cpus_alloc(imc);
	if (ret)
		return ret;
	ret = imc_cpus_start(imc);
	if (ret)
		return ret;

	imc_debugfs_add(imc);
	ret = imc_pmus_add(imc);
	if (ret) {
		imc_bring_down(imc);
		return ret;
	}
	/*
	 * Allow events as the last step: if a later step failed, the back-end would be unregistered
	 * although events may be open.
	 */
	imc_set_serving(imc, true);
	return 0;
}

static struct imc *imc_create(const struct pmukit_imc_backend *backend)
{
	struct imc *imc = kzalloc_obj(*imc);

	if (!imc)
		return ERR_PTR(-ENOMEM);
	kref_init(&imc->ref);
	spin_lock_init(&imc->claim_lock);
	imc_probes_init(imc);
	imc->backend = backend;
	strscpy(imc->backend_name, backend->name, sizeof(imc->backend_name));

	imc->parent = platform_device_register_simple("imc", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(imc->parent)) {
		void *failed = ERR_CAST(imc->parent);

		kfree(imc);
		return failed;
	}
	return imc;
}

static void imc_destroy(struct imc *imc)
{
	platform_device_unregister(imc->parent);
	imc_put(imc);
}

/**
 * pmukit_imc_register_backend - register a back-end and its PMUs
 * @backend: the back-end; used until pmukit_imc_unregister_backend() returns
 *
 * Loads the catalog, prepares the engines of all online CPUs, registers the PMUs.
 *
 * Context: may sleep. The back-end may be called before this function returns, and events may be
 * opened as soon as it returns: call this function as the last step of a module's init.
 *
 * Return: 0, -EBUSY if a back-end is already registered, another -errno if the catalog or memory
 * is missing.
 */
int pmukit_imc_register_backend(const struct pmukit_imc_backend *backend)
{
	struct imc *imc;
	int ret = -EBUSY;

	mutex_lock(&imc_backend_lock);
	if (imc_registered)
		goto unlock;
	imc = imc_create(backend);
	ret = PTR_ERR_OR_ZERO(imc);
	if (ret)
		goto unlock;
	ret = imc_bring_up(imc);
	if (ret) {
		imc_destroy(imc);
		goto unlock;
	}
	imc_registered = imc;
	dev_info(&imc->parent->dev, "%u PMUs, driven by: %s\n", imc->nr_pmus, backend->name);
unlock:
	mutex_unlock(&imc_backend_lock);
	return ret;
}
EXPORT_SYMBOL_GPL(pmukit_imc_register_backend);

/**
 * pmukit_imc_unregister_backend - unregister a back-end
 * @backend: a registered back-end
 *
 * On return the driver does not call the back-end any more, and the back-end must not write to the
 * driver's memory any more. Open events hold a reference to the back-end's module; if the back-end
 * unregisters nevertheless, these events count nothing from then on.
 *
 * Context: may sleep.
 */
void pmukit_imc_unregister_backend(const struct pmukit_imc_backend *backend)
{
	mutex_lock(&imc_backend_lock);
	if (imc_registered && imc_registered->backend == backend) {
		imc_bring_down(imc_registered);
		imc_destroy(imc_registered);
		imc_registered = NULL;
	}
	mutex_unlock(&imc_backend_lock);
}
EXPORT_SYMBOL_GPL(pmukit_imc_unregister_backend);

/* Module */

static int __init imc_init(void)
{
	return imc_hotplug_register();
}
module_init(imc_init);

static void __exit imc_exit(void)
{
	imc_hotplug_unregister();
	pmukit_pmu_flush();
}
module_exit(imc_exit);

MODULE_DESCRIPTION("In-Memory Collection PMUs: nest, core, thread and trace");
MODULE_AUTHOR("pmukit developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(PMUKIT_VERSION);
