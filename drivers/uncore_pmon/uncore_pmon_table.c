// SPDX-License-Identifier: GPL-2.0-only
/*
 * uncore_pmon: finds and reads discovery tables.
 *
 * A DVSEC of an Intel PCI function has the location of a table. The function is usually bound to
 * intel_vsec, and may have several tables. This driver neither binds nor enables the function, and
 * requests none of its regions. It maps a table, reads the table once and unmaps it.
 *
 * Context: process context, under the mutex of uncore_pmon_main.c.
 */

#include <linux/bitfield.h>
#include <linux/cpumask.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include <asm/msr.h>

#include "uncore_pmon.h"

#define UNCORE_PMON_LINES_SHOWN		8

/* Packages */

/**
 * uncore_pmon_cpu_of - an online CPU of a package
 * @package: the package
 *
 * Return: the CPU, or nr_cpu_ids if none is online.
 */
unsigned int uncore_pmon_cpu_of(int package)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		if (topology_physical_package_id(cpu) == package)
			return cpu;
	}
	return nr_cpu_ids;
}

static bool uncore_pmon_package_taken(int package, const struct list_head *tables)
{
	const struct uncore_pmon_table *table;

	list_for_each_entry(table, tables, node) {
		if (!table->package_known && table->package == package)
			return true;
	}
	return false;
}

/*
 * Finds the package of a PCI function by its NUMA node. If the node is unknown and there are
 * several packages, PCI functions are assigned to packages in the order in which they are found;
 * intel_uncore does the same. Returns false if the package was assigned in this way.
 */
static bool uncore_pmon_place(struct pci_dev *pdev, const struct list_head *tables, int *package)
{
	int node = dev_to_node(&pdev->dev);
	unsigned int cpu = nr_cpu_ids;

	if (node != NUMA_NO_NODE)
		cpu = cpumask_any_and(cpumask_of_node(node), cpu_online_mask);
	if (cpu >= nr_cpu_ids && topology_max_packages() == 1)
		cpu = cpumask_any(cpu_online_mask);
	if (cpu < nr_cpu_ids) {
		*package = topology_physical_package_id(cpu);
		return true;
	}
	*package = -1;
	for_each_online_cpu(cpu) {
		if (uncore_pmon_package_taken(topology_physical_package_id(cpu), tables))
			continue;
		*package = topology_physical_package_id(cpu);
		break;
	}
	return false;
}

/* Reading */

/* Returns the offset of the next DVSEC that locates a table, or 0. */
static int uncore_pmon_dvsec(struct pci_dev *pdev, int at)
{
	u32 header, entry;

	while ((at = pci_find_next_ext_capability(pdev, at, UNCORE_PMON_DVSEC))) {
		if (pci_read_config_dword(pdev, at + UNCORE_PMON_DVSEC_HEADER, &header) ||
		    pci_read_config_dword(pdev, at + UNCORE_PMON_DVSEC_ENTRY, &entry))
			return 0;
		if (FIELD_GET(UNCORE_PMON_DVSEC_HEADER_VENDOR, header) == PCI_VENDOR_ID_INTEL &&
		    FIELD_GET(UNCORE_PMON_DVSEC_ENTRY_ID, entry) == UNCORE_PMON_DVSEC_ENTRY_PMON)
			return at;
	}
	return 0;
}

static const char *uncore_pmon_find_bar(struct pci_dev *pdev, int dvsec, int *bar)
{
	unsigned long flags;
	u32 place;
	u16 command;

	if (pci_read_config_dword(pdev, dvsec + UNCORE_PMON_DVSEC_PLACE, &place) ||
	    place & ~UNCORE_PMON_DVSEC_PLACE_BIR)
		return "the table is not at the beginning of its BAR";

	*bar = FIELD_GET(UNCORE_PMON_DVSEC_PLACE_BIR, place);
	if (*bar >= PCI_STD_NUM_BARS)
		return "its DVSEC names a BAR number that does not exist";
	flags = pci_resource_flags(pdev, *bar);
	if (!(flags & IORESOURCE_MEM) || flags & (IORESOURCE_PREFETCH | IORESOURCE_UNSET))
		return "the BAR of the table is not plain memory";
	if (pci_resource_len(pdev, *bar) < UNCORE_PMON_ENTRY_WORDS * sizeof(u64))
		return "the BAR is too small for a table";
	if (pci_read_config_word(pdev, PCI_COMMAND, &command) || !(command & PCI_COMMAND_MEMORY))
		return "the function does not decode its BARs";
	return NULL;
}

/* Copies the first words of a BAR; the caller frees the copy. Returns NULL if out of memory. */
static u64 *uncore_pmon_copy(struct pci_dev *pdev, int bar, u64 bytes)
{
	void __iomem *base = ioremap(pci_resource_start(pdev, bar), bytes);
	u64 *words = base ? kvmalloc(bytes, GFP_KERNEL) : NULL;
	u64 i;

	for (i = 0; words && i < bytes / sizeof(u64); i++)
		words[i] = readq(base + i * sizeof(u64));
	if (base)
		iounmap(base);
	return words;
}

static int uncore_pmon_read_global(struct uncore_pmon_table *table, int bar)
{
	u64 *words = uncore_pmon_copy(table->pdev, bar, UNCORE_PMON_ENTRY_WORDS * sizeof(u64));

	if (!words)
		return -ENOMEM;
	table->wrong = uncore_pmon_global_decode(words, pci_resource_len(table->pdev, bar),
						 &table->global);
	kvfree(words);
	return 0;
}

static int uncore_pmon_read_entries(struct uncore_pmon_table *table, int bar)
{
	u64 *words = uncore_pmon_copy(table->pdev, bar, uncore_pmon_table_bytes(&table->global));

	if (!words)
		return -ENOMEM;
	table->entries = kvcalloc(table->global.max_units, sizeof(*table->entries), GFP_KERNEL);
	if (table->entries) {
		table->nr_entries = table->global.max_units;
		uncore_pmon_table_decode(words, &table->global, table->entries);
	}
	kvfree(words);
	return table->entries ? 0 : -ENOMEM;
}

/* A rejected table stays in the list, without entries, so that it is reported only once. */
static int uncore_pmon_read(struct uncore_pmon_table *table)
{
	int ret, bar;

	table->wrong = uncore_pmon_find_bar(table->pdev, table->dvsec, &bar);
	if (table->wrong)
		return 0;
	ret = uncore_pmon_read_global(table, bar);
	if (ret || table->wrong)
		return ret;
	return uncore_pmon_read_entries(table, bar);
}

/* The package */

static const char *uncore_pmon_unfreeze_by_msr(const struct uncore_pmon_table *table)
{
	unsigned int cpu = uncore_pmon_cpu_of(table->package);
	bool may_write = uncore_pmon_programs(UNCORE_PMON_ACCESS_MSR) &&
			 uncore_pmon_platform_of(table->pdev) == UNCORE_PMON_GNR;
	u64 control;

	if (!uncore_pmon_global_is_msr(&table->global))
		return may_write ? "the global control is not an MSR of the uncore" : NULL;
	if (!table->package_known || rdmsrq_safe_on_cpu(cpu, table->global.control, &control))
		return may_write ? "the global control MSR cannot be read" : NULL;
	if (!(control & UNCORE_PMON_GLOBAL_FREEZE))
		return NULL;
	if (!may_write)
		return "the global control MSR keeps all units frozen: they count 0";
	return wrmsrq_safe_on_cpu(cpu, table->global.control, 0) ?
	       "the global control MSR cannot be written" : NULL;
}

/**
 * uncore_pmon_table_begin - clear the global freeze of a package
 * @table: the table of the package
 *
 * Called after the first unit of the table has responded. On Granite Rapids and similar processors
 * all units may be frozen at boot; if they are not, nothing is written. If the global control is an
 * MSR, it is written only on Granite Rapids and similar processors, and only if the module
 * parameter program_msr is set. On Sapphire Rapids the global control is an MSR, too, but neither
 * this driver nor intel_uncore ever writes it.
 */
void uncore_pmon_table_begin(struct uncore_pmon_table *table)
{
	const char *wrong = NULL;

	if (table->begun || !table->dvsec)
		return;
	table->begun = true;
	if (uncore_pmon_global_is_mmio(&table->global))
		wrong = uncore_pmon_global_run(table->global.control);
	else if (table->global.access == UNCORE_PMON_ACCESS_MSR)
		wrong = uncore_pmon_unfreeze_by_msr(table);
	if (wrong)
		pr_warn("uncore_pmon: %s: %s: %#llx\n", pci_name(table->pdev), wrong,
			table->global.control);
}

/*
 * On some Sapphire Rapids processors, the table has entries for caching agents (CHAs) that do not
 * exist. The driver rejects these entries.
 */
static void uncore_pmon_limit_chas(struct uncore_pmon_table *table)
{
	unsigned int cpu = uncore_pmon_cpu_of(table->package);
	u64 chas;

	if (!uncore_pmon_programs(UNCORE_PMON_ACCESS_MSR) || !table->package_known ||
	    cpu >= nr_cpu_ids ||
	    uncore_pmon_platform_of(table->pdev) != UNCORE_PMON_SPR ||
	    rdmsrq_safe_on_cpu(cpu, UNCORE_PMON_MSR_CHAS, &chas))
		return;
	if (chas)
		uncore_pmon_table_limit_chas(table->entries, table->nr_entries, chas);
}

/**
 * uncore_pmon_report_entry - log an entry that is not used; at most a few lines per table
 * @table: the table
 * @entry: the entry; logged as a warning if it is rejected, otherwise at the info level
 */
void uncore_pmon_report_entry(struct uncore_pmon_table *table,
			      const struct uncore_pmon_entry *entry)
{
	if (table->nr_reported++ >= UNCORE_PMON_LINES_SHOWN)
		return;
	if (entry->wrong)
		pr_warn("uncore_pmon: %s: entry %td: %s\n", pci_name(table->pdev),
			entry - table->entries + 1, entry->wrong);
	else
		pr_info("uncore_pmon: %s: entry %td: %s\n", pci_name(table->pdev),
			entry - table->entries + 1, entry->unused);
}

static void uncore_pmon_report_table(struct uncore_pmon_table *table)
{
	u32 i;

	if (table->wrong)
		pr_warn("uncore_pmon: %s: %s\n", pci_name(table->pdev), table->wrong);
	for (i = 0; i < table->nr_entries; i++) {
		if (table->entries[i].wrong)
			uncore_pmon_report_entry(table, &table->entries[i]);
	}
}

/* Tables of a PCI function */

/**
 * uncore_pmon_table_free - free a table
 * @table: the table, in no list; no box refers to it
 */
void uncore_pmon_table_free(struct uncore_pmon_table *table)
{
	kvfree(table->entries);
	pci_dev_put(table->pdev);
	kfree(table);
}

static struct uncore_pmon_table *uncore_pmon_table_new(struct pci_dev *pdev, int dvsec,
						       const struct list_head *tables)
{
	struct uncore_pmon_table *table = kzalloc_obj(*table);

	if (!table)
		return NULL;
	table->pdev = pci_dev_get(pdev);
	table->dvsec = dvsec;
	table->package_known = uncore_pmon_place(pdev, tables, &table->package);
	return table;
}

static int uncore_pmon_table_add(struct pci_dev *pdev, int dvsec, struct list_head *tables,
				 const struct list_head *others)
{
	struct uncore_pmon_table *table = uncore_pmon_table_new(pdev, dvsec, others);
	int ret;

	if (!table)
		return -ENOMEM;
	ret = uncore_pmon_read(table);
	if (ret) {
		uncore_pmon_table_free(table);
		return ret;
	}
	if (!table->wrong && table->package < 0)
		table->wrong = "there are more functions with tables than packages";
	if (table->wrong)
		table->nr_entries = 0;
	uncore_pmon_limit_chas(table);
	uncore_pmon_report_table(table);
	list_add_tail(&table->node, tables);
	return 0;
}

static bool uncore_pmon_has_function(const struct uncore_pmon_entry *entry)
{
	u64 address = entry->unit.box_control;
	struct pci_dev *pdev;

	pdev = pci_get_domain_bus_and_slot(FIELD_GET(UNCORE_PMON_PCI_DOMAIN, address),
					   FIELD_GET(UNCORE_PMON_PCI_BUS, address),
					   FIELD_GET(UNCORE_PMON_PCI_DEVFN, address));
	pci_dev_put(pdev);
	return pdev;
}

/*
 * Adds UPI and M3UPI links of Sapphire Rapids, whose entries in the tables are wrong. The PCI
 * function of the first link gives the addresses of all links.
 */
static int uncore_pmon_links_add(struct pci_dev *pdev, struct list_head *tables,
				 const struct list_head *others)
{
	struct uncore_pmon_entry entries[UNCORE_PMON_MAX_LINKS] = {};
	struct uncore_pmon_table *table;
	int ret;
	u32 i;

	if (uncore_pmon_platform_of(pdev) != UNCORE_PMON_SPR || pci_domain_nr(pdev->bus) < 0 ||
	    !uncore_pmon_links(pdev->device, pci_domain_nr(pdev->bus), pdev->bus->number,
			       pdev->devfn, entries))
		return 0;
	table = uncore_pmon_table_new(pdev, 0, others);
	if (!table)
		return -ENOMEM;
	table->entries = kvcalloc(UNCORE_PMON_MAX_LINKS, sizeof(*entries), GFP_KERNEL);
	if (!table->entries || !table->package_known) {
		ret = table->package_known ? -ENOMEM : 0;
		uncore_pmon_table_free(table);
		return ret;
	}
	for (i = 0; i < UNCORE_PMON_MAX_LINKS; i++) {
		entries[i].used = uncore_pmon_has_function(&entries[i]);
		table->entries[i] = entries[i];
	}
	table->nr_entries = UNCORE_PMON_MAX_LINKS;
	list_add_tail(&table->node, tables);
	return 0;
}

/**
 * uncore_pmon_tables_add - read all tables of a PCI function
 * @pdev: an Intel PCI function
 * @tables: list of tables of other PCI functions; the tables of @pdev are added
 *
 * The driver writes to addresses from the table. So it ignores tables of untrusted PCI functions,
 * and of those that are not on a root bus; all uncore PCI functions are on a root bus.
 *
 * Return: 0 or -ENOMEM.
 */
int uncore_pmon_tables_add(struct pci_dev *pdev, struct list_head *tables)
{
	LIST_HEAD(found);
	int at = 0, ret;

	if (pdev->untrusted || !pci_is_root_bus(pdev->bus))
		return 0;
	ret = uncore_pmon_links_add(pdev, &found, tables);
	while (!ret && (at = uncore_pmon_dvsec(pdev, at)))
		ret = uncore_pmon_table_add(pdev, at, &found, tables);
	list_splice_tail(&found, tables);
	return ret;
}
