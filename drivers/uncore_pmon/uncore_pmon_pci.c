// SPDX-License-Identifier: GPL-2.0-only
/*
 * uncore_pmon: the PCI function that has the discovery table, one in each package or die.
 *
 * Each unit of the table that can be used becomes a PMU. Those that are MSRs or lie in
 * configuration space are only listed unless a parameter says otherwise; what is refused is listed
 * with its reason. The kernel's intel_uncore drives the same units, so this module stays out where
 * that one is, also unless told.
 *
 * The table is read once and then let go: its memory stays free for readers in user space.
 */

#include <linux/bitfield.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/topology.h>

#if defined(CONFIG_X86)
#include <asm/cpufeature.h>
#include <asm/processor.h>
#endif

#include "uncore_pmon.h"

#define UNCORE_PMON_LINES_SHOWN		8

static bool program_msr;
module_param(program_msr, bool, 0444);
MODULE_PARM_DESC(program_msr, "make PMUs of units that are MSRs as well");

static bool program_pci;
module_param(program_pci, bool, 0444);
MODULE_PARM_DESC(program_pci, "make PMUs of units in PCI configuration space as well, where an access takes no lock");

static bool beside_intel_uncore;
module_param(beside_intel_uncore, bool, 0444);
MODULE_PARM_DESC(beside_intel_uncore, "also where the kernel's own driver has PMUs: both program the same units");

static char *platform = "auto";
module_param(platform, charp, 0444);
MODULE_PARM_DESC(platform, "whose named events are meant: auto (by the CPU), spr or gnr");

static DEFINE_IDA(uncore_pmon_dies);

/**
 * struct uncore_pmon - one function with a table
 * @pdev: the function
 * @die: number of its package or die, in the order in which they are found
 * @platform: whose events its units have
 * @global: the first entry of the table
 * @entries: the others
 * @nr_entries: how many
 * @boxes: struct uncore_pmon_box, those that are PMUs
 */
struct uncore_pmon {
	struct pci_dev *pdev;
	int die;
	enum uncore_pmon_platform platform;
	struct uncore_pmon_global global;
	struct uncore_pmon_entry *entries;
	u32 nr_entries;
	struct list_head boxes;
};

/* Where we are */

#if defined(CONFIG_X86)
/* Models of family 6 */
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

/* A guest's CPU says nothing of the uncore it is given; the first that had a table is meant. */
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
#else
static enum uncore_pmon_platform uncore_pmon_platform_of_cpu(void)
{
	return UNCORE_PMON_UNKNOWN;
}
#endif

static enum uncore_pmon_platform uncore_pmon_platform_wanted(const struct pci_dev *pdev)
{
	if (!strcmp(platform, "spr"))
		return UNCORE_PMON_SPR;
	if (!strcmp(platform, "gnr"))
		return UNCORE_PMON_GNR;
	if (pdev->device == UNCORE_PMON_PCI_DEVICE_DMR)
		return UNCORE_PMON_DMR;
	return uncore_pmon_platform_of_cpu();
}

/* The kernel's own driver */

/* Of all devices only PMUs whose name begins so are of interest, and among them those of others. */
static bool uncore_pmon_is_foreign(struct kobject *kobj)
{
	struct device *dev = kobj_to_dev(kobj);
	struct pmu *pmu;

	if (!dev->bus || strcmp(dev->bus->name, "event_source") ||
	    strncmp(dev_name(dev), "uncore_", strlen("uncore_")))
		return false;
	pmu = dev_get_drvdata(dev);
	return pmu && pmu->module != THIS_MODULE;
}

/*
 * perf offers no list of its PMUs. All devices stand in one set, in which ours is as well; those of
 * other PMUs are looked for there by their bus and name.
 */
static bool uncore_pmon_foreign_pmus(struct pci_dev *pdev)
{
	struct kset *devices = pdev->dev.kobj.kset;
	struct kobject *kobj;
	bool found = false;

	spin_lock(&devices->list_lock);
	list_for_each_entry(kobj, &devices->list, entry)
		found = found || (kobj->ktype == pdev->dev.kobj.ktype &&
				  uncore_pmon_is_foreign(kobj));
	spin_unlock(&devices->list_lock);
	return found;
}

/* perf would complain of a second PMU of the same name at length. */
static bool uncore_pmon_name_taken(struct pci_dev *pdev, const char *name)
{
	struct kobject *taken = kset_find_obj(pdev->dev.kobj.kset, name);

	kobject_put(taken);
	return taken;
}

/* The table */

/* The capability that leads to it, 0 when there is none. */
static int uncore_pmon_dvsec(struct pci_dev *pdev)
{
	int at = 0;
	u32 entry;

	while ((at = pci_find_next_ext_capability(pdev, at, UNCORE_PMON_DVSEC))) {
		if (pci_read_config_dword(pdev, at + UNCORE_PMON_DVSEC_ENTRY, &entry))
			return 0;
		if (FIELD_GET(UNCORE_PMON_DVSEC_ENTRY_ID, entry) == UNCORE_PMON_DVSEC_ENTRY_PMON)
			return at;
	}
	return 0;
}

/* Number of the BAR that begins with the table, or -errno. */
static int uncore_pmon_find_bar(struct pci_dev *pdev)
{
	int at = uncore_pmon_dvsec(pdev);
	unsigned long flags;
	u32 place;
	int bar;

	if (!at)
		return dev_err_probe(&pdev->dev, -ENODEV, "no discovery table\n");
	if (pci_read_config_dword(pdev, at + UNCORE_PMON_DVSEC_PLACE, &place) ||
	    place & ~UNCORE_PMON_DVSEC_PLACE_BIR)
		return dev_err_probe(&pdev->dev, -ENODEV,
				     "the table is not at the beginning of its BAR\n");

	bar = FIELD_GET(UNCORE_PMON_DVSEC_PLACE_BIR, place);
	if (bar >= PCI_STD_NUM_BARS)
		return dev_err_probe(&pdev->dev, -ENODEV, "there is no BAR %d\n", bar);
	flags = pci_resource_flags(pdev, bar);
	if (!(flags & IORESOURCE_MEM) || flags & IORESOURCE_PREFETCH)
		return dev_err_probe(&pdev->dev, -ENODEV, "BAR %d is not plain memory\n", bar);
	return bar;
}

static void uncore_pmon_read_words(const void __iomem *from, u64 *words, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		words[i] = readq(from + i * sizeof(u64));
}

/* Copies the first words of a BAR; the caller frees them. NULL: no memory. */
static u64 *uncore_pmon_copy(struct pci_dev *pdev, int bar, u64 bytes)
{
	void __iomem *base = ioremap(pci_resource_start(pdev, bar), bytes);
	u64 *words = kvmalloc(bytes, GFP_KERNEL);

	if (base && words)
		uncore_pmon_read_words(base, words, bytes / sizeof(u64));
	if (base)
		iounmap(base);
	if (base)
		return words;
	kvfree(words);
	return NULL;
}

static int uncore_pmon_read_global(struct pci_dev *pdev, int bar, struct uncore_pmon_global *global)
{
	u64 bytes = UNCORE_PMON_ENTRY_WORDS * sizeof(u64);
	const char *wrong;
	u64 *words;

	if (pci_resource_len(pdev, bar) < bytes)
		return dev_err_probe(&pdev->dev, -ENODEV, "the BAR is too small for a table\n");
	words = uncore_pmon_copy(pdev, bar, bytes);
	if (!words)
		return -ENOMEM;
	wrong = uncore_pmon_global_decode(words, pci_resource_len(pdev, bar), global);
	kvfree(words);
	return wrong ? dev_err_probe(&pdev->dev, -ENODEV, "%s\n", wrong) : 0;
}

static int uncore_pmon_read_table(struct uncore_pmon *up)
{
	struct uncore_pmon_global global;
	int bar = uncore_pmon_find_bar(up->pdev);
	u64 *words;
	int ret;

	if (bar < 0)
		return bar;
	ret = uncore_pmon_read_global(up->pdev, bar, &global);
	if (ret)
		return ret;

	up->entries = kvcalloc(global.max_units, sizeof(*up->entries), GFP_KERNEL);
	words = uncore_pmon_copy(up->pdev, bar, uncore_pmon_table_bytes(&global));
	if (up->entries && words) {
		up->nr_entries = global.max_units;
		up->global = global;
		uncore_pmon_table_decode(words, &global, up->entries);
	} else {
		ret = -ENOMEM;
	}
	kvfree(words);
	return ret;
}

/* Units */

/* A CPU of the package; nr_cpu_ids: there are several, and nobody says which it is in. */
static unsigned int uncore_pmon_cpu_near(const struct uncore_pmon *up)
{
	int node = dev_to_node(&up->pdev->dev);
	unsigned int cpu = nr_cpu_ids;

	if (node != NUMA_NO_NODE)
		cpu = cpumask_any_and(cpumask_of_node(node), cpu_online_mask);
	if (cpu >= nr_cpu_ids && uncore_pmon_nr_packages() == 1)
		cpu = cpumask_any(cpu_online_mask);
	return cpu;
}

static bool uncore_pmon_is_wanted(const struct uncore_pmon *up,
				  const struct uncore_pmon_unit *unit)
{
	if (uncore_pmon_is_misplaced(unit, up->platform))
		return false;
	if (unit->access == UNCORE_PMON_ACCESS_MSR)
		return program_msr;
	if (unit->access == UNCORE_PMON_ACCESS_PCI)
		return program_pci;
	return true;
}

/* uncore_imc_0, of the second package uncore_imc_0_die1; without a name uncore_type_99_0. */
static void uncore_pmon_names(const struct uncore_pmon *up, struct uncore_pmon_box *box)
{
	const struct uncore_pmon_type *type = uncore_pmon_type_find(box->unit.type);
	char suffix[16] = "";

	if (up->die)
		snprintf(suffix, sizeof(suffix), "_die%d", up->die);
	snprintf(box->alias, sizeof(box->alias), "uncore_type_%u_%u%s", box->unit.type,
		 box->unit.id, suffix);
	if (type) {
		snprintf(box->pp.name, sizeof(box->pp.name), "uncore_%s_%u%s", type->name,
			 box->unit.id, suffix);
		return;
	}
	strscpy(box->pp.name, box->alias, sizeof(box->pp.name));
	*box->alias = '\0';
}

struct uncore_pmon_preparation {
	struct uncore_pmon_box *box;
	const char *wrong;
};

static void uncore_pmon_prepare_here(void *data)
{
	struct uncore_pmon_preparation *preparation = data;

	preparation->box->package = topology_physical_package_id(smp_processor_id());
	preparation->wrong = uncore_pmon_box_prepare(preparation->box);
}

/* Of MSRs a CPU reaches those of its own package only. */
static const char *uncore_pmon_prepare(const struct uncore_pmon *up, struct uncore_pmon_box *box)
{
	struct uncore_pmon_preparation preparation = { .box = box };
	unsigned int cpu;

	if (box->unit.access != UNCORE_PMON_ACCESS_MSR)
		return uncore_pmon_box_prepare(box);
	cpu = uncore_pmon_cpu_near(up);
	if (cpu >= nr_cpu_ids)
		return "no CPU of its package is known";
	if (smp_call_function_single(cpu, uncore_pmon_prepare_here, &preparation, true))
		return "the CPU of its package went offline";
	return preparation.wrong;
}

static bool uncore_pmon_is_taken(const struct uncore_pmon *up, const struct uncore_pmon_unit *unit)
{
	const struct uncore_pmon_box *box;

	list_for_each_entry(box, &up->boxes, node) {
		if (uncore_pmon_units_collide(&box->unit, unit))
			return true;
	}
	return false;
}

static const char *uncore_pmon_claim(const struct uncore_pmon *up, struct uncore_pmon_box *box)
{
	const char *wrong = uncore_pmon_is_taken(up, &box->unit) ?
			    "its registers are another unit's" : box->access->claim(box);

	if (wrong)
		return wrong;
	box->claimed = true;
	return uncore_pmon_prepare(up, box);
}

static struct uncore_pmon_box *uncore_pmon_box_new(const struct uncore_pmon *up,
						   const struct uncore_pmon_unit *unit)
{
	struct uncore_pmon_box *box;

	box = kzalloc_obj(*box);
	if (!box)
		return NULL;
	box->unit = *unit;
	box->function = up->pdev;
	box->platform = up->platform;
	box->kinds = BIT(UNCORE_PMON_GENERAL);
	if (uncore_pmon_has_fixed(unit, up->platform))
		box->kinds |= BIT(UNCORE_PMON_FIXED);
	box->access = uncore_pmon_accesses[unit->access];
	uncore_pmon_names(up, box);
	uncore_pmon_pmu_fill(box);
	return box;
}

/* The end of a box whose PMU was removed, or never registered. */
static void uncore_pmon_box_drop(struct uncore_pmon_box *box)
{
	uncore_pmon_pmu_kill(box);
	if (box->claimed)
		box->access->release(box);
	pmukit_pmu_put(&box->pp);
}

/* What is wrong with the unit goes to its entry; an errno is for the surroundings. */
static int uncore_pmon_box_up(struct uncore_pmon *up, struct uncore_pmon_entry *entry)
{
	struct uncore_pmon_box *box = uncore_pmon_box_new(up, &entry->unit);
	int ret;

	if (!box)
		return -ENOMEM;
	entry->wrong = uncore_pmon_name_taken(up->pdev, box->pp.name) ?
		       "another driver has a PMU of its name" : uncore_pmon_claim(up, box);
	ret = entry->wrong ? 0 : uncore_pmon_sysfs_fill(box);
	if (!ret && !entry->wrong)
		ret = pmukit_pmu_register(&box->pp, &up->pdev->dev);
	if (ret || entry->wrong) {
		uncore_pmon_box_drop(box);
		return ret;
	}
	list_add_tail(&box->node, &up->boxes);
	return 0;
}

static void uncore_pmon_boxes_down(struct uncore_pmon *up)
{
	struct uncore_pmon_box *box, *next;

	list_for_each_entry_safe(box, next, &up->boxes, node) {
		list_del(&box->node);
		pmukit_pmu_remove(&box->pp);
		uncore_pmon_box_drop(box);
	}
}

static int uncore_pmon_boxes_up(struct uncore_pmon *up)
{
	int ret;
	u32 i;

	for (i = 0; i < up->nr_entries; i++) {
		struct uncore_pmon_entry *entry = &up->entries[i];

		if (!entry->used || entry->wrong || !uncore_pmon_is_wanted(up, &entry->unit))
			continue;
		ret = uncore_pmon_box_up(up, entry);
		if (ret) {
			uncore_pmon_boxes_down(up);
			return dev_err_probe(&up->pdev->dev, ret,
					     "the PMU of entry %u cannot be registered\n", i + 1);
		}
	}
	return 0;
}

/* One line for each refused entry, but not a thousand; and one for all. */
static void uncore_pmon_say(const struct uncore_pmon *up)
{
	struct device *dev = &up->pdev->dev;
	u32 refused = 0, listed = 0, pmus = 0;
	u32 i;

	for (i = 0; i < up->nr_entries; i++) {
		const struct uncore_pmon_entry *entry = &up->entries[i];

		if (!entry->used)
			continue;
		if (!entry->wrong) {
			pmus += uncore_pmon_is_wanted(up, &entry->unit);
			listed += !uncore_pmon_is_wanted(up, &entry->unit);
		} else if (refused++ < UNCORE_PMON_LINES_SHOWN) {
			dev_warn(dev, "entry %u: %s\n", i + 1, entry->wrong);
		}
	}
	if (refused > UNCORE_PMON_LINES_SHOWN)
		dev_warn(dev, "%u more entries are refused\n", refused - UNCORE_PMON_LINES_SHOWN);
	dev_info(dev, "%u PMUs, %u units only listed, %u refused\n", pmus, listed, refused);
}

/* uncore_pmon/ of the function: all units by their access, and what was refused */

#define UNCORE_PMON_LONGEST_LINE	128

/* Lines for which a page has no room are counted in its last one. */
static bool uncore_pmon_line_fits(int at, u32 *more)
{
	bool fits = at < PAGE_SIZE - 2 * UNCORE_PMON_LONGEST_LINE;

	*more += !fits;
	return fits;
}

static int uncore_pmon_emit_more(char *buf, int at, u32 more)
{
	return more ? sysfs_emit_at(buf, at, "and %u more\n", more) : 0;
}

static int uncore_pmon_emit_unit(char *buf, int at, const struct uncore_pmon_unit *unit)
{
	const struct uncore_pmon_type *type = uncore_pmon_type_find(unit->type);

	if (type)
		return sysfs_emit_at(buf, at, "%s_%u\n", type->name, unit->id);
	return sysfs_emit_at(buf, at, "type_%u_%u\n", unit->type, unit->id);
}

static ssize_t uncore_pmon_emit_units(struct device *dev, char *buf, u8 access)
{
	const struct uncore_pmon *up = dev_get_drvdata(dev);
	u32 more = 0, i;
	int len = 0;

	for (i = 0; i < up->nr_entries; i++) {
		const struct uncore_pmon_entry *entry = &up->entries[i];

		if (!entry->used || entry->wrong || entry->unit.access != access)
			continue;
		if (uncore_pmon_line_fits(len, &more))
			len += uncore_pmon_emit_unit(buf, len, &entry->unit);
	}
	return len + uncore_pmon_emit_more(buf, len, more);
}

#define UNCORE_PMON_UNITS_FILE(_name, _access)						\
	static ssize_t _name##_show(struct device *dev, struct device_attribute *attr,	\
				    char *buf)						\
	{										\
		return uncore_pmon_emit_units(dev, buf, _access);			\
	}										\
	static DEVICE_ATTR_RO(_name)

UNCORE_PMON_UNITS_FILE(msr, UNCORE_PMON_ACCESS_MSR);
UNCORE_PMON_UNITS_FILE(mmio, UNCORE_PMON_ACCESS_MMIO);
UNCORE_PMON_UNITS_FILE(pci, UNCORE_PMON_ACCESS_PCI);

static ssize_t refused_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct uncore_pmon *up = dev_get_drvdata(dev);
	u32 more = 0, i;
	int len = 0;

	for (i = 0; i < up->nr_entries; i++) {
		if (up->entries[i].wrong && uncore_pmon_line_fits(len, &more))
			len += sysfs_emit_at(buf, len, "entry %u: %s\n", i + 1,
					     up->entries[i].wrong);
	}
	return len + uncore_pmon_emit_more(buf, len, more);
}
static DEVICE_ATTR_RO(refused);

static struct attribute *uncore_pmon_attrs[] = {
	&dev_attr_msr.attr,
	&dev_attr_mmio.attr,
	&dev_attr_pci.attr,
	&dev_attr_refused.attr,
	NULL
};

static const struct attribute_group uncore_pmon_group = {
	.name = "uncore_pmon",
	.attrs = uncore_pmon_attrs,
};

static const struct attribute_group *uncore_pmon_groups[] = {
	&uncore_pmon_group,
	NULL
};

/* The function */

static void uncore_pmon_free(struct uncore_pmon *up)
{
	if (up->die >= 0)
		ida_free(&uncore_pmon_dies, up->die);
	kvfree(up->entries);
	kfree(up);
}

static const char *uncore_pmon_run_all_by_msr(const struct uncore_pmon *up)
{
	if (!uncore_pmon_global_is_msr(&up->global))
		return "the global control is not an MSR of the uncore";
	if (uncore_pmon_msr_set(uncore_pmon_cpu_near(up), up->global.control, 0))
		return "the global control MSR cannot be written";
	return NULL;
}

/*
 * Granite Rapids and its like may begin with all units frozen. Sapphire Rapids, whose global
 * control is an MSR as well, is left as firmware set it, as the kernel's own driver leaves it.
 */
static void uncore_pmon_run_all(struct uncore_pmon *up)
{
	const char *wrong = NULL;

	if (uncore_pmon_global_is_mmio(&up->global))
		wrong = uncore_pmon_global_run(up->pdev, up->global.control);
	else if (program_msr && up->platform == UNCORE_PMON_GNR &&
		 up->global.access == UNCORE_PMON_ACCESS_MSR)
		wrong = uncore_pmon_run_all_by_msr(up);
	if (wrong)
		dev_warn(&up->pdev->dev, "%s: %#llx\n", wrong, up->global.control);
}

/* Tables of some Sapphire Rapids list more caching agents than there are. */
static void uncore_pmon_limit_chas(struct uncore_pmon *up)
{
	u64 chas;

	if (!program_msr || up->platform != UNCORE_PMON_SPR ||
	    uncore_pmon_msr_get(uncore_pmon_cpu_near(up), UNCORE_PMON_MSR_CHAS, &chas))
		return;
	if (chas)
		uncore_pmon_table_limit_chas(up->entries, up->nr_entries, chas);
}

static int uncore_pmon_bring_up(struct uncore_pmon *up)
{
	int ret;

	ret = uncore_pmon_read_table(up);
	if (ret)
		return ret;
	uncore_pmon_run_all(up);
	uncore_pmon_limit_chas(up);
	up->die = ida_alloc(&uncore_pmon_dies, GFP_KERNEL);
	if (up->die < 0)
		return up->die;
	ret = uncore_pmon_boxes_up(up);
	if (!ret)
		uncore_pmon_say(up);
	return ret;
}

static int uncore_pmon_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct uncore_pmon *up;
	int ret;

	if (!beside_intel_uncore && uncore_pmon_foreign_pmus(pdev))
		return dev_err_probe(&pdev->dev, -EBUSY,
				     "the kernel's intel_uncore has these units; unload it, or say beside_intel_uncore=1\n");
	ret = pcim_enable_device(pdev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "cannot be enabled\n");

	up = kzalloc_obj(*up);
	if (!up)
		return -ENOMEM;
	up->pdev = pdev;
	up->die = -1;
	up->platform = uncore_pmon_platform_wanted(pdev);
	INIT_LIST_HEAD(&up->boxes);
	ret = uncore_pmon_bring_up(up);
	if (ret) {
		uncore_pmon_free(up);
		return ret;
	}
	pci_set_drvdata(pdev, up);
	return 0;
}

static void uncore_pmon_remove(struct pci_dev *pdev)
{
	struct uncore_pmon *up = pci_get_drvdata(pdev);

	uncore_pmon_boxes_down(up);
	uncore_pmon_free(up);
}

/* Module */

static const struct pci_device_id uncore_pmon_ids[] = {
	{ PCI_DEVICE(UNCORE_PMON_PCI_VENDOR, UNCORE_PMON_PCI_DEVICE) },
	{ PCI_DEVICE(UNCORE_PMON_PCI_VENDOR, UNCORE_PMON_PCI_DEVICE_DMR) },
	{}
};
MODULE_DEVICE_TABLE(pci, uncore_pmon_ids);

static struct pci_driver uncore_pmon_driver = {
	.name = "uncore_pmon",
	.id_table = uncore_pmon_ids,
	.probe = uncore_pmon_probe,
	.remove = uncore_pmon_remove,
	.dev_groups = uncore_pmon_groups,
};

/* What is left when the driver is gone runs in this module. */
static void uncore_pmon_settle(void)
{
	pmukit_pmu_flush();
	ida_destroy(&uncore_pmon_dies);
}

static int __init uncore_pmon_init(void)
{
	int ret;

	if (strcmp(platform, "auto") && strcmp(platform, "spr") && strcmp(platform, "gnr")) {
		pr_err("uncore_pmon: platform=%s is none of auto, spr and gnr\n", platform);
		return -EINVAL;
	}
	ret = pci_register_driver(&uncore_pmon_driver);
	/* Devices may have been there for a moment. */
	if (ret)
		uncore_pmon_settle();
	return ret;
}
module_init(uncore_pmon_init);

static void __exit uncore_pmon_exit(void)
{
	pci_unregister_driver(&uncore_pmon_driver);
	uncore_pmon_settle();
}
module_exit(uncore_pmon_exit);

MODULE_DESCRIPTION("Intel uncore PMUs found by self-discovery");
MODULE_AUTHOR("pmukit developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(PMUKIT_VERSION);
