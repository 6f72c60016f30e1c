// SPDX-License-Identifier: GPL-2.0-only
/*
 * uncore_pmon: the module. Registers a PMU for each usable unit of the discovery tables, and
 * unregisters the PMU when the PCI function with the table is removed or intel_uncore loads.
 *
 * Units accessed through MSRs or PCI configuration space are only listed (in debugfs) unless
 * program_msr or program_pci is set. The in-tree intel_uncore programs the same units. Unless
 * beside_intel_uncore is set, this module does not load while intel_uncore uses the units, and
 * unregisters its PMUs before intel_uncore initializes.
 *
 * Locking: uncore_pmon_mutex protects the lists of tables and PMUs. It is taken inside
 * pci_lock_rescan_remove(), and outside all locks of perf and pmukit_common.
 */

#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include <asm/cpufeature.h>
#include <asm/processor.h>

#include "uncore_pmon.h"

static bool program_msr;
module_param(program_msr, bool, 0444);
MODULE_PARM_DESC(program_msr, "register PMUs of units that are MSRs as well");

static bool program_pci;
module_param(program_pci, bool, 0444);
MODULE_PARM_DESC(program_pci, "register PMUs of units in PCI configuration space as well, where an access takes no lock");

static bool beside_intel_uncore;
module_param(beside_intel_uncore, bool, 0444);
MODULE_PARM_DESC(beside_intel_uncore, "also units that the kernel's own driver or another program uses: both program them, and counts are wrong while both do");

static char *platform = "auto";
module_param(platform, charp, 0444);
MODULE_PARM_DESC(platform, "whose named events are meant: auto (by the CPU), spr or gnr");

static DEFINE_MUTEX(uncore_pmon_mutex);
static LIST_HEAD(uncore_pmon_tables);
static LIST_HEAD(uncore_pmon_pmus);
static bool uncore_pmon_yielded;	/* intel_uncore is loaded: no PMUs */
static bool uncore_pmon_started;	/* the scan at load is complete */
static struct platform_device *uncore_pmon_parent;
static struct dentry *uncore_pmon_debugfs;

/* Platform */

/* CPU models of family 6 */
static const struct {
	u8 model;
	enum uncore_pmon_platform platform;
} uncore_pmon_models[] = {
	{ 0x8f, UNCORE_PMON_SPR },	/* Sapphire Rapids */
	{ 0xcf, UNCORE_PMON_SPR },	/* Emerald Rapids */
	{ 0xad, UNCORE_PMON_GNR },	/* Granite Rapids */
	{ 0xae, UNCORE_PMON_GNR },	/* Granite Rapids D */
	{ 0xaf, UNCORE_PMON_GNR },	/* Sierra Forest */
	{ 0xb6, UNCORE_PMON_GNR },	/* Grand Ridge */
	{ 0xdd, UNCORE_PMON_GNR },	/* Clearwater Forest */
};

/*
 * A guest's CPU model need not match the uncore that the hypervisor emulates: for an unknown CPU,
 * assume the first platform that has discovery tables.
 */
static enum uncore_pmon_platform uncore_pmon_platform_of_cpu(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(uncore_pmon_models); i++) {
		if (boot_cpu_data.x86_vendor == X86_VENDOR_INTEL && boot_cpu_data.x86 == 6 &&
		    boot_cpu_data.x86_model == uncore_pmon_models[i].model)
			return uncore_pmon_models[i].platform;
	}
	return boot_cpu_has(X86_FEATURE_HYPERVISOR) ? UNCORE_PMON_SPR : UNCORE_PMON_UNKNOWN;
}

/**
 * uncore_pmon_platform_of - platform that defines the events of a function's units
 * @pdev: the function
 *
 * Return: the platform.
 */
enum uncore_pmon_platform uncore_pmon_platform_of(const struct pci_dev *pdev)
{
	if (!strcmp(platform, "spr"))
		return UNCORE_PMON_SPR;
	if (!strcmp(platform, "gnr"))
		return UNCORE_PMON_GNR;
	if (pdev->device == UNCORE_PMON_PCI_DEVICE_DMR)
		return UNCORE_PMON_DMR;
	return uncore_pmon_platform_of_cpu();
}

/**
 * uncore_pmon_programs - test for units that the driver programs
 * @access: UNCORE_PMON_ACCESS_*
 *
 * Return: false if units with this access are only listed.
 */
bool uncore_pmon_programs(u8 access)
{
	if (access == UNCORE_PMON_ACCESS_MSR)
		return program_msr;
	return access != UNCORE_PMON_ACCESS_PCI || program_pci;
}

/**
 * uncore_pmon_looks_for_programs - test if units that a user program uses are skipped
 *
 * Return: true only while the module loads. Later, a unit that is not frozen may still count for
 * events of this driver that ended when the unit's function was removed.
 */
bool uncore_pmon_looks_for_programs(void)
{
	return !beside_intel_uncore && !uncore_pmon_started;
}

/* Entries; under uncore_pmon_mutex */

/* Returns the reason why a unit is only listed, or NULL if the driver may use the unit. */
static const char *uncore_pmon_unused(const struct uncore_pmon_table *table,
				      const struct uncore_pmon_entry *entry)
{
	const struct uncore_pmon_unit *unit = &entry->unit;

	if (entry->unused)
		return entry->unused;
	if (table->dvsec && uncore_pmon_is_misplaced(unit, uncore_pmon_platform_of(table->pdev)))
		return "its place in the table is wrong";
	if (unit->access == UNCORE_PMON_ACCESS_MSR && !program_msr)
		return "used with program_msr=1";
	if (unit->access == UNCORE_PMON_ACCESS_PCI && !program_pci)
		return "used with program_pci=1";
	return NULL;
}

static bool uncore_pmon_is_wanted(const struct uncore_pmon_table *table,
				  const struct uncore_pmon_entry *entry)
{
	return entry->used && !entry->wrong && !uncore_pmon_unused(table, entry);
}

static bool uncore_pmon_is_unit_of(const struct uncore_pmon_pmu *pmu,
				   const struct uncore_pmon_unit *unit)
{
	return pmu->unit.type == unit->type && pmu->unit.id == unit->id;
}

static struct uncore_pmon_pmu *uncore_pmon_pmu_find(const struct uncore_pmon_unit *unit)
{
	struct uncore_pmon_pmu *pmu;

	list_for_each_entry(pmu, &uncore_pmon_pmus, node) {
		if (uncore_pmon_is_unit_of(pmu, unit))
			return pmu;
	}
	return NULL;
}

static struct uncore_pmon_box *uncore_pmon_box_find(const struct uncore_pmon_entry *entry)
{
	struct uncore_pmon_pmu *pmu = uncore_pmon_pmu_find(&entry->unit);
	struct uncore_pmon_box *box;

	if (!pmu)
		return NULL;
	list_for_each_entry(box, &pmu->boxes, node) {
		if (box->entry == entry)
			return box;
	}
	return NULL;
}

/* intel_uncore; under uncore_pmon_mutex */

/*
 * Returns true if a PMU of this name is registered. The driver checks this before it registers its
 * own PMU, because sysfs warns about a duplicate name. The bus of PMUs is not exported, but each
 * device on the bus refers to it. The PMU "software" is registered at boot, before another device
 * could have its name, so the driver finds it in the kset of all devices; kset_find_obj() takes a
 * reference. An in-tree driver would not need this check: perf_pmu_register() could be changed to
 * fail without the warning.
 */
static bool uncore_pmon_is_pmu(const char *name)
{
	struct kobject *kobj = kset_find_obj(uncore_pmon_parent->dev.kobj.kset, "software");
	struct device *software = kobj ? kobj_to_dev(kobj) : NULL, *found = NULL;

	if (software && software->bus && !strcmp(software->bus->name, "event_source"))
		found = bus_find_device_by_name(software->bus, NULL, name);
	put_device(found);
	kobject_put(kobj);
	return found;
}

/*
 * Returns true while the init function of intel_uncore runs. The module notifier is not called if
 * intel_uncore began to load before the notifier was registered. The reference to the module's
 * kobject keeps struct module in memory.
 */
static bool uncore_pmon_others_load(void)
{
	struct kobject *kobj = kset_find_obj(THIS_MODULE->mkobj.kobj.kset, "intel_uncore");
	const struct module *module =
		kobj ? container_of(kobj, struct module_kobject, kobj)->mod : NULL;
	bool loads = module && READ_ONCE(module->state) == MODULE_STATE_COMING;

	kobject_put(kobj);
	return loads;
}

/*
 * Returns true if intel_uncore has a PMU for the unit. intel_uncore omits the id if the type has
 * only one unit, and uses the type's number if it knows no name for the type.
 */
static bool uncore_pmon_is_served(const struct uncore_pmon_unit *unit)
{
	const struct uncore_pmon_type *type = uncore_pmon_type_find(unit->type);
	char names[4][32] = {};
	u32 i;

	snprintf(names[0], sizeof(names[0]), "uncore_type_%u_%u", unit->type, unit->id);
	snprintf(names[1], sizeof(names[1]), "uncore_type_%u", unit->type);
	if (type) {
		snprintf(names[2], sizeof(names[2]), "uncore_%s_%u", type->name, unit->id);
		snprintf(names[3], sizeof(names[3]), "uncore_%s", type->name);
	}
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (*names[i] && uncore_pmon_is_pmu(names[i]))
			return true;
	}
	return false;
}

/* Returns true if another driver has a PMU for a unit for which this driver has none. */
static bool uncore_pmon_others_serve(void)
{
	const struct uncore_pmon_table *table;
	u32 i;

	list_for_each_entry(table, &uncore_pmon_tables, node) {
		for (i = 0; i < table->nr_entries; i++) {
			const struct uncore_pmon_entry *entry = &table->entries[i];

			if (entry->used && !entry->wrong && !uncore_pmon_pmu_find(&entry->unit) &&
			    uncore_pmon_is_served(&entry->unit))
				return true;
		}
	}
	return false;
}

/* PMUs; under uncore_pmon_mutex */

/*
 * A PMU is named uncore_imc_0, for example, with the alias uncore_type_6_0. If its type has no
 * name, the PMU is named uncore_type_<type>_<id> and has no alias. With beside_intel_uncore the
 * name is uncore_pmon_imc_0, without an alias, because intel_uncore may register the other names.
 */
static void uncore_pmon_names(struct uncore_pmon_pmu *pmu)
{
	const struct uncore_pmon_type *type = uncore_pmon_type_find(pmu->unit.type);
	const char *prefix = beside_intel_uncore ? "uncore_pmon" : "uncore";
	char number[16];

	snprintf(number, sizeof(number), "type_%u", pmu->unit.type);
	snprintf(pmu->pp.name, sizeof(pmu->pp.name), "%s_%s_%u", prefix,
		 type ? type->name : number, pmu->unit.id);
	if (type && !beside_intel_uncore)
		snprintf(pmu->alias, sizeof(pmu->alias), "uncore_%s_%u", number, pmu->unit.id);
}

static bool uncore_pmon_is_taken(const struct uncore_pmon_box *new)
{
	const struct uncore_pmon_pmu *pmu;
	const struct uncore_pmon_box *box;

	list_for_each_entry(pmu, &uncore_pmon_pmus, node) {
		list_for_each_entry(box, &pmu->boxes, node) {
			if (box->unit.access == UNCORE_PMON_ACCESS_MSR &&
			    box->package != new->package)
				continue;
			if (uncore_pmon_units_collide(&box->unit, &new->unit))
				return true;
		}
	}
	return false;
}

static const char *uncore_pmon_box_check(const struct uncore_pmon_table *table,
					 const struct uncore_pmon_box *box)
{
	if (box->unit.access == UNCORE_PMON_ACCESS_MSR && !table->package_known)
		return "no CPU of its package is known";
	if (!uncore_pmon_units_alike(&box->pmu->unit, &box->unit))
		return "not as the unit of another package";
	if (uncore_pmon_is_taken(box))
		return "its registers are another unit's";
	return NULL;
}

/*
 * Adds a box for the unit of an entry, or stores in the entry why the unit gets no box. Returns 0
 * or -ENOMEM.
 */
static int uncore_pmon_box_add(struct uncore_pmon_pmu *pmu, struct uncore_pmon_table *table,
			       struct uncore_pmon_entry *entry)
{
	struct uncore_pmon_box *box = uncore_pmon_box_new(pmu, table, entry);

	if (!box)
		return -ENOMEM;
	entry->wrong = uncore_pmon_box_check(table, box);
	if (!entry->wrong)
		entry->wrong = uncore_pmon_box_up(box);
	entry->unused = box->unused;
	if (entry->wrong || entry->unused) {
		uncore_pmon_box_down(box);
		kfree(box);
		uncore_pmon_report_entry(table, entry);
		return 0;
	}
	uncore_pmon_table_begin(table);
	pmu->kinds &= box->kinds;
	list_add_tail(&box->node, &pmu->boxes);
	return 0;
}

static int uncore_pmon_boxes_add(struct uncore_pmon_pmu *pmu)
{
	struct uncore_pmon_table *table;
	int ret;
	u32 i;

	list_for_each_entry(table, &uncore_pmon_tables, node) {
		for (i = 0; i < table->nr_entries; i++) {
			if (!uncore_pmon_is_wanted(table, &table->entries[i]) ||
			    !uncore_pmon_is_unit_of(pmu, &table->entries[i].unit) ||
			    uncore_pmon_box_of_package(pmu, table->package))
				continue;
			ret = uncore_pmon_box_add(pmu, table, &table->entries[i]);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* Releases a PMU that was removed or never registered. */
static void uncore_pmon_pmu_drop(struct uncore_pmon_pmu *pmu)
{
	struct uncore_pmon_box *box;

	list_for_each_entry(box, &pmu->boxes, node)
		uncore_pmon_box_down(box);
	pmukit_pmu_put(&pmu->pp);
}

/* On return, the PMU's name can be registered again, and the PMU's events no longer count. */
static void uncore_pmon_pmu_remove(struct uncore_pmon_pmu *pmu)
{
	list_del(&pmu->node);
	pmukit_pmu_remove(&pmu->pp);
	uncore_pmon_pmu_drop(pmu);
}

static void uncore_pmon_pmus_remove(void)
{
	struct uncore_pmon_pmu *pmu, *next;

	list_for_each_entry_safe(pmu, next, &uncore_pmon_pmus, node)
		uncore_pmon_pmu_remove(pmu);
}

static int uncore_pmon_pmu_add(const struct uncore_pmon_table *table,
			       const struct uncore_pmon_unit *unit)
{
	struct uncore_pmon_pmu *pmu = kzalloc_obj(*pmu);
	int ret;

	if (!pmu)
		return -ENOMEM;
	pmu->unit = *unit;
	pmu->platform = uncore_pmon_platform_of(table->pdev);
	pmu->kinds = ~0U;
	uncore_pmon_names(pmu);
	uncore_pmon_pmu_fill(pmu);

	ret = uncore_pmon_boxes_add(pmu);
	if (!ret && list_empty(&pmu->boxes)) {
		uncore_pmon_pmu_drop(pmu);
		return 0;
	}
	if (!ret)
		ret = uncore_pmon_sysfs_fill(pmu);
	if (!ret)
		ret = pmukit_pmu_register(&pmu->pp, &uncore_pmon_parent->dev);
	if (ret) {
		pr_err("uncore_pmon: %s cannot be registered: error %d\n", pmu->pp.name, ret);
		uncore_pmon_pmu_drop(pmu);
		return ret;
	}
	list_add_tail(&pmu->node, &uncore_pmon_pmus);
	return 0;
}

/* Returns a PMU that lacks a box in a package whose table lists its unit, or NULL. */
static struct uncore_pmon_pmu *uncore_pmon_outdated(void)
{
	struct uncore_pmon_table *table;
	struct uncore_pmon_pmu *pmu;
	u32 i;

	list_for_each_entry(table, &uncore_pmon_tables, node) {
		for (i = 0; i < table->nr_entries; i++) {
			if (!uncore_pmon_is_wanted(table, &table->entries[i]))
				continue;
			pmu = uncore_pmon_pmu_find(&table->entries[i].unit);
			if (pmu && !uncore_pmon_box_of_package(pmu, table->package))
				return pmu;
		}
	}
	return NULL;
}

static int uncore_pmon_add_missing(void)
{
	struct uncore_pmon_table *table;
	int ret;
	u32 i;

	list_for_each_entry(table, &uncore_pmon_tables, node) {
		for (i = 0; i < table->nr_entries; i++) {
			if (!uncore_pmon_is_wanted(table, &table->entries[i]) ||
			    uncore_pmon_pmu_find(&table->entries[i].unit))
				continue;
			ret = uncore_pmon_pmu_add(table, &table->entries[i].unit);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/*
 * Registers a PMU for each unit of the tables, and replaces PMUs that get a box in another package.
 * Returns 0 or -errno; -EBUSY if intel_uncore uses the units.
 */
static int uncore_pmon_pmus_update(void)
{
	struct uncore_pmon_pmu *pmu;

	if (!beside_intel_uncore && (uncore_pmon_others_serve() || uncore_pmon_others_load()))
		return -EBUSY;
	while ((pmu = uncore_pmon_outdated()))
		uncore_pmon_pmu_remove(pmu);
	return uncore_pmon_add_missing();
}

/* Functions; under uncore_pmon_mutex */

static bool uncore_pmon_is_known(const struct pci_dev *pdev)
{
	const struct uncore_pmon_table *table;

	list_for_each_entry(table, &uncore_pmon_tables, node) {
		if (table->pdev == pdev)
			return true;
	}
	return false;
}

static int uncore_pmon_scan(void)
{
	struct pci_dev *pdev = NULL;
	int ret = 0;

	while (!ret && (pdev = pci_get_device(PCI_VENDOR_ID_INTEL, PCI_ANY_ID, pdev))) {
		if (!uncore_pmon_is_known(pdev))
			ret = uncore_pmon_tables_add(pdev, &uncore_pmon_tables);
	}
	pci_dev_put(pdev);
	return ret;
}

static void uncore_pmon_tables_remove(const struct pci_dev *pdev)
{
	struct uncore_pmon_table *table, *next;

	list_for_each_entry_safe(table, next, &uncore_pmon_tables, node) {
		if (pdev && table->pdev != pdev)
			continue;
		list_del(&table->node);
		uncore_pmon_table_free(table);
	}
}

/*
 * Drops the tables of a function if all are rejected, because the function may decode its BARs now
 * that it is bound to a driver. Returns true if the function must be scanned again.
 */
static bool uncore_pmon_forget_wrong(const struct pci_dev *pdev)
{
	const struct uncore_pmon_table *table;

	list_for_each_entry(table, &uncore_pmon_tables, node) {
		if (table->pdev == pdev && !table->wrong)
			return false;
	}
	if (!uncore_pmon_is_known(pdev))
		return false;
	uncore_pmon_tables_remove(pdev);
	return true;
}

static bool uncore_pmon_depends_on(const struct uncore_pmon_pmu *pmu, const struct pci_dev *pdev)
{
	struct uncore_pmon_box *box;
	bool depends = false;

	list_for_each_entry(box, &pmu->boxes, node) {
		/* The next update must not add this unit again. */
		if (box->pdev == pdev)
			box->entry->wrong = "its PCI function was removed";
		depends = depends || box->function == pdev || box->pdev == pdev;
	}
	return depends;
}

/*
 * Called when a function is removed, while its registers can still be accessed. Removes the
 * function's PMUs and tables, then registers those PMUs again that still have boxes in other
 * packages.
 */
static void uncore_pmon_function_gone(const struct pci_dev *pdev)
{
	struct uncore_pmon_pmu *pmu, *next;

	list_for_each_entry_safe(pmu, next, &uncore_pmon_pmus, node) {
		if (uncore_pmon_depends_on(pmu, pdev))
			uncore_pmon_pmu_remove(pmu);
	}
	uncore_pmon_tables_remove(pdev);
	if (!uncore_pmon_yielded && uncore_pmon_pmus_update())
		pr_warn("uncore_pmon: not all PMUs of the other packages came back\n");
}

/* debugfs: state of each entry of each table */

static void uncore_pmon_show_entry(struct seq_file *file, const struct uncore_pmon_table *table,
				   u32 nr)
{
	static const char *const accesses[] = {
		[UNCORE_PMON_ACCESS_MSR]	= "msr",
		[UNCORE_PMON_ACCESS_MMIO]	= "mmio",
		[UNCORE_PMON_ACCESS_PCI]	= "pci",
	};
	const struct uncore_pmon_entry *entry = &table->entries[nr];
	const struct uncore_pmon_type *type = uncore_pmon_type_find(entry->unit.type);
	const struct uncore_pmon_box *box;
	const char *unused;

	seq_printf(file, "%s %u ", pci_name(table->pdev), nr + 1);
	if (entry->wrong) {
		seq_printf(file, "rejected: %s\n", entry->wrong);
		return;
	}
	if (type)
		seq_printf(file, "%s_%u ", type->name, entry->unit.id);
	else
		seq_printf(file, "type_%u_%u ", entry->unit.type, entry->unit.id);
	seq_printf(file, "%s package %d: ", accesses[entry->unit.access], table->package);
	box = uncore_pmon_box_find(entry);
	unused = uncore_pmon_unused(table, entry);
	if (box)
		seq_printf(file, "%s\n", box->pmu->pp.name);
	else if (unused)
		seq_printf(file, "listed: %s\n", unused);
	else
		seq_puts(file, uncore_pmon_yielded ? "listed: intel_uncore is loaded\n" :
						     "listed: the package has this unit already\n");
}

static int uncore_pmon_units_show(struct seq_file *file, void *data)
{
	const struct uncore_pmon_table *table;
	u32 i;

	mutex_lock(&uncore_pmon_mutex);
	list_for_each_entry(table, &uncore_pmon_tables, node) {
		if (table->wrong)
			seq_printf(file, "%s table rejected: %s\n", pci_name(table->pdev),
				   table->wrong);
		for (i = 0; i < table->nr_entries; i++) {
			if (table->entries[i].used)
				uncore_pmon_show_entry(file, table, i);
		}
	}
	mutex_unlock(&uncore_pmon_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(uncore_pmon_units);

/* Notifiers */

/*
 * Scans new functions in a work item, because a function has no BARs yet at BUS_NOTIFY_ADD_DEVICE.
 * It has BARs once this work gets the lock of pci_lock_rescan_remove().
 */
static void uncore_pmon_rescan(struct work_struct *work)
{
	int ret = 0;

	pci_lock_rescan_remove();
	mutex_lock(&uncore_pmon_mutex);
	if (!uncore_pmon_yielded) {
		ret = uncore_pmon_scan();
		ret = ret ?: uncore_pmon_pmus_update();
	}
	if (ret)
		pr_warn("uncore_pmon: no PMUs of new functions: error %d\n", ret);
	mutex_unlock(&uncore_pmon_mutex);
	pci_unlock_rescan_remove();
}

static DECLARE_WORK(uncore_pmon_rescan_work, uncore_pmon_rescan);

static int uncore_pmon_bus_event(struct notifier_block *block, unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);

	if (pdev->vendor != PCI_VENDOR_ID_INTEL)
		return NOTIFY_DONE;
	if (action == BUS_NOTIFY_ADD_DEVICE)
		schedule_work(&uncore_pmon_rescan_work);
	if (action == BUS_NOTIFY_BOUND_DRIVER) {
		mutex_lock(&uncore_pmon_mutex);
		if (uncore_pmon_forget_wrong(pdev))
			schedule_work(&uncore_pmon_rescan_work);
		mutex_unlock(&uncore_pmon_mutex);
	}
	if (action == BUS_NOTIFY_DEL_DEVICE) {
		mutex_lock(&uncore_pmon_mutex);
		uncore_pmon_function_gone(pdev);
		mutex_unlock(&uncore_pmon_mutex);
	}
	return NOTIFY_DONE;
}

static struct notifier_block uncore_pmon_bus_notifier = {
	.notifier_call = uncore_pmon_bus_event,
};

/* Called before the init function of intel_uncore. */
static void uncore_pmon_yield(void)
{
	mutex_lock(&uncore_pmon_mutex);
	uncore_pmon_yielded = true;
	if (!list_empty(&uncore_pmon_pmus))
		pr_info("uncore_pmon: intel_uncore is being loaded: PMUs are unregistered, open events end\n");
	uncore_pmon_pmus_remove();
	mutex_unlock(&uncore_pmon_mutex);
}

/* Called when intel_uncore is unloaded or fails to load. */
static void uncore_pmon_resume(void)
{
	mutex_lock(&uncore_pmon_mutex);
	uncore_pmon_yielded = false;
	mutex_unlock(&uncore_pmon_mutex);
	schedule_work(&uncore_pmon_rescan_work);
}

static int uncore_pmon_module_event(struct notifier_block *block, unsigned long action, void *data)
{
	const struct module *module = data;

	if (strcmp(module->name, "intel_uncore"))
		return NOTIFY_DONE;
	if (action == MODULE_STATE_COMING)
		uncore_pmon_yield();
	if (action == MODULE_STATE_GOING)
		uncore_pmon_resume();
	return NOTIFY_DONE;
}

static struct notifier_block uncore_pmon_module_notifier = {
	.notifier_call = uncore_pmon_module_event,
};

/* Module */

static void uncore_pmon_report(void)
{
	const struct uncore_pmon_table *table;
	u32 pmus = 0, listed = 0, rejected = 0, i;
	const struct uncore_pmon_pmu *pmu;

	list_for_each_entry(pmu, &uncore_pmon_pmus, node)
		pmus++;
	list_for_each_entry(table, &uncore_pmon_tables, node) {
		for (i = 0; i < table->nr_entries; i++) {
			const struct uncore_pmon_entry *entry = &table->entries[i];

			rejected += !!entry->wrong;
			listed += entry->used && !entry->wrong && !uncore_pmon_box_find(entry);
		}
	}
	pr_info("uncore_pmon: %u PMUs, %u units only listed, %u rejected\n", pmus, listed,
		rejected);
}

/* If no unit can be used, logs one line with the reason. */
static int uncore_pmon_start(void)
{
	int ret = uncore_pmon_scan();

	if (ret)
		return ret;
	if (list_empty(&uncore_pmon_tables)) {
		pr_err("uncore_pmon: no Intel PCI function has a discovery table\n");
		return -ENODEV;
	}
	ret = uncore_pmon_yielded ? -EBUSY : uncore_pmon_pmus_update();
	if (ret == -EBUSY)
		pr_err("uncore_pmon: the kernel's intel_uncore has these units, or is being loaded; unload it, or load with beside_intel_uncore=1\n");
	if (ret)
		return ret;
	uncore_pmon_started = true;
	uncore_pmon_report();
	if (!list_empty(&uncore_pmon_pmus))
		return 0;
	pr_err("uncore_pmon: no unit can be used\n");
	return -ENODEV;
}

static int uncore_pmon_start_locked(void)
{
	int ret;

	pci_lock_rescan_remove();
	mutex_lock(&uncore_pmon_mutex);
	ret = uncore_pmon_start();
	mutex_unlock(&uncore_pmon_mutex);
	pci_unlock_rescan_remove();
	return ret;
}

/* Undoes uncore_pmon_init() after the notifiers are registered. */
static void uncore_pmon_stop(void)
{
	if (!beside_intel_uncore)
		unregister_module_notifier(&uncore_pmon_module_notifier);
	bus_unregister_notifier(&pci_bus_type, &uncore_pmon_bus_notifier);
	cancel_work_sync(&uncore_pmon_rescan_work);
	debugfs_remove_recursive(uncore_pmon_debugfs);
	mutex_lock(&uncore_pmon_mutex);
	uncore_pmon_pmus_remove();
	uncore_pmon_tables_remove(NULL);
	mutex_unlock(&uncore_pmon_mutex);
	platform_device_unregister(uncore_pmon_parent);
	/* PMUs that are still being unregistered run code of this module. */
	pmukit_pmu_flush();
}

static int __init uncore_pmon_init(void)
{
	int ret;

	if (strcmp(platform, "auto") && strcmp(platform, "spr") && strcmp(platform, "gnr")) {
		pr_err("uncore_pmon: platform=%s is none of auto, spr and gnr\n", platform);
		return -EINVAL;
	}
	uncore_pmon_parent = platform_device_register_simple("uncore_pmon", PLATFORM_DEVID_NONE,
							     NULL, 0);
	if (IS_ERR(uncore_pmon_parent))
		return PTR_ERR(uncore_pmon_parent);
	ret = bus_register_notifier(&pci_bus_type, &uncore_pmon_bus_notifier);
	if (ret)
		goto unregister_parent;
	if (!beside_intel_uncore)
		ret = register_module_notifier(&uncore_pmon_module_notifier);
	if (ret)
		goto unregister_bus_notifier;
	ret = uncore_pmon_start_locked();
	if (ret) {
		uncore_pmon_stop();
		return ret;
	}
	uncore_pmon_debugfs = debugfs_create_dir("uncore_pmon", NULL);
	debugfs_create_file("units", 0444, uncore_pmon_debugfs, NULL, &uncore_pmon_units_fops);
	return 0;

unregister_bus_notifier:
	bus_unregister_notifier(&pci_bus_type, &uncore_pmon_bus_notifier);
unregister_parent:
	platform_device_unregister(uncore_pmon_parent);
	return ret;
}
module_init(uncore_pmon_init);

static void __exit uncore_pmon_exit(void)
{
	uncore_pmon_stop();
}
module_exit(uncore_pmon_exit);

MODULE_DESCRIPTION("Intel uncore PMUs found by self-discovery");
MODULE_AUTHOR("pmukit developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(PMUKIT_VERSION);
