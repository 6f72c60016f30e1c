// SPDX-License-Identifier: GPL-2.0-only
/*
 * uncore_pmon: register access and state of a unit.
 *
 *   box control + 0                 box control: freeze, reset
 *               + counter_offset    counter 0, 1, ...
 *               + control_offset    control 0, 1, ...
 *
 * The table entry has the address of a unit. The address need not be in a BAR: on real machines the
 * registers of memory controllers are in no BAR, and those of CXL units are in the BAR of a port.
 * The driver maps the registers without requesting the region, so that other drivers can still
 * request it. The driver guards against a wrong address in two ways: it rejects RAM and BARs that
 * cannot have units, and it uses a unit only if the freeze bit reads back as written.
 */

#include <linux/bitfield.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/topology.h>

#include <asm/msr.h>

#include "uncore_pmon.h"

/* MMIO */

/* Returns true for Intel bridges (CXL ports), system peripherals and performance counters. */
static bool uncore_pmon_may_have_units(const struct pci_dev *pdev)
{
	switch (pdev->class >> 16) {
	case PCI_BASE_CLASS_BRIDGE:
	case PCI_BASE_CLASS_SYSTEM:
	case PCI_BASE_CLASS_SIGNAL_PROCESSING:
		return pdev->vendor == PCI_VENDOR_ID_INTEL;
	}
	return false;
}

static const char *uncore_pmon_bar_check(const struct pci_dev *pdev, struct resource *place)
{
	const struct resource *bar;
	int i;

	for (i = 0; i < PCI_BRIDGE_RESOURCES; i++) {
		bar = &pdev->resource[i];
		if (resource_type(bar) != IORESOURCE_MEM || bar->flags & IORESOURCE_UNSET ||
		    !resource_overlaps((struct resource *)bar, place))
			continue;
		if (!uncore_pmon_may_have_units(pdev))
			return "its registers are in a BAR of another device";
		/* The BAR may be a window of a non-transparent bridge to another host's memory. */
		if (bar->flags & IORESOURCE_PREFETCH)
			return "its registers are in a BAR of prefetchable memory";
		if (!resource_contains((struct resource *)bar, place))
			return "its registers reach beyond their BAR";
	}
	return NULL;
}

static bool uncore_pmon_meets(u64 address, u64 bytes, unsigned long flags, unsigned long desc)
{
	return region_intersects(address, bytes, flags, desc) != REGION_DISJOINT;
}

/* Returns true for memory that is not System RAM, although it may become System RAM later. */
static bool uncore_pmon_is_memory(u64 address, u64 bytes)
{
	static const u8 descs[] = {
		IORES_DESC_ACPI_TABLES, IORES_DESC_ACPI_NV_STORAGE, IORES_DESC_PERSISTENT_MEMORY,
		IORES_DESC_PERSISTENT_MEMORY_LEGACY, IORES_DESC_SOFT_RESERVED, IORES_DESC_CXL,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(descs); i++) {
		if (uncore_pmon_meets(address, bytes, IORESOURCE_MEM, descs[i]))
			return true;
	}
	return false;
}

/* Return: why these bytes cannot be registers of a unit, or NULL. */
static const char *uncore_pmon_mmio_check(u64 address, u64 bytes)
{
	struct resource place = DEFINE_RES_MEM(address, bytes);
	const char *wrong = NULL;
	struct pci_dev *pdev = NULL;

	if (uncore_pmon_meets(address, bytes, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE))
		return "its registers are RAM";
	if (uncore_pmon_is_memory(address, bytes))
		return "its registers are memory";
	if (uncore_pmon_meets(address, bytes, IORESOURCE_MEM | IORESOURCE_BUSY, IORES_DESC_NONE))
		return "its registers are another driver's";
	while (!wrong && (pdev = pci_get_device(PCI_ANY_ID, PCI_ANY_ID, pdev)))
		wrong = uncore_pmon_bar_check(pdev, &place);
	pci_dev_put(pdev);
	return wrong;
}

static u64 uncore_pmon_free_address(const struct uncore_pmon_box *box)
{
	return (box->unit.box_control & ~UNCORE_PMON_MC_MASK) + UNCORE_PMON_MC_DCLK;
}

#define UNCORE_PMON_MC_BYTES	(UNCORE_PMON_MC_WPQ_CYCLES + sizeof(u64) - UNCORE_PMON_MC_DCLK)

static const char *uncore_pmon_mmio_claim(struct uncore_pmon_box *box)
{
	u32 bytes = uncore_pmon_unit_bytes(&box->unit, box->kinds);
	const char *wrong = uncore_pmon_mmio_check(box->unit.box_control, bytes);

	if (wrong)
		return wrong;
	box->base = ioremap(box->unit.box_control, bytes);
	if (!box->base)
		return "its registers cannot be mapped";

	if (uncore_pmon_has_free(&box->unit, box->pmu->platform) &&
	    !uncore_pmon_mmio_check(uncore_pmon_free_address(box), UNCORE_PMON_MC_BYTES))
		box->free_base = ioremap(uncore_pmon_free_address(box), UNCORE_PMON_MC_BYTES);
	if (box->free_base)
		box->kinds |= BIT(UNCORE_PMON_FREE);
	return NULL;
}

static void uncore_pmon_mmio_release(struct uncore_pmon_box *box)
{
	iounmap(box->base);
	if (box->free_base)
		iounmap(box->free_base);
}

static u32 uncore_pmon_mmio_read32(const struct uncore_pmon_box *box, u32 offset)
{
	return readl(box->base + offset);
}

static void uncore_pmon_mmio_write(const struct uncore_pmon_box *box, u32 offset, u64 value)
{
	writel(value, box->base + offset);
}

static u64 uncore_pmon_mmio_read(const struct uncore_pmon_box *box, u32 offset)
{
	return readq(box->base + offset);
}

/**
 * uncore_pmon_global_run - clear the global freeze of a package
 * @address: MMIO address of the global control
 *
 * Return: error text, or NULL.
 */
const char *uncore_pmon_global_run(u64 address)
{
	void __iomem *base;
	u32 control;

	if (uncore_pmon_mmio_check(address, sizeof(u32)))
		return "there is no global control at its address";
	base = ioremap(address, sizeof(u32));
	if (!base)
		return "the global control cannot be mapped";
	control = readl(base);
	if (control & UNCORE_PMON_GLOBAL_FREEZE) {
		writel(0, base);
		control = readl(base);
	}
	iounmap(base);
	return control & UNCORE_PMON_GLOBAL_FREEZE ? "the global control keeps all units frozen" :
						     NULL;
}

static const struct uncore_pmon_access uncore_pmon_mmio = {
	.claim = uncore_pmon_mmio_claim,
	.release = uncore_pmon_mmio_release,
	.read32 = uncore_pmon_mmio_read32,
	.write = uncore_pmon_mmio_write,
	.read = uncore_pmon_mmio_read,
};

/*
 * PCI configuration space. perf may read a counter from within any traced code, even while this CPU
 * holds the lock of configuration accesses, so a read must not take that lock. So the driver uses
 * only units whose registers are accessed through ECAM, which needs no lock.
 */

static void uncore_pmon_pci_release(struct uncore_pmon_box *box)
{
	pci_dev_put(box->pdev);
	box->pdev = NULL;
}

static const char *uncore_pmon_pci_claim(struct uncore_pmon_box *box)
{
	u64 address = box->unit.box_control;
	const char *wrong = NULL;

	box->pdev = pci_get_domain_bus_and_slot(FIELD_GET(UNCORE_PMON_PCI_DOMAIN, address),
						FIELD_GET(UNCORE_PMON_PCI_BUS, address),
						FIELD_GET(UNCORE_PMON_PCI_DEVFN, address));
	if (!box->pdev)
		return "there is no such PCI function";
	if (box->pdev->vendor != PCI_VENDOR_ID_INTEL)
		wrong = "the PCI function is not Intel's";
	else if (!uncore_pmon_pci_is_memory(&box->unit))
		wrong = "accesses to its registers take a lock";
	if (wrong)
		uncore_pmon_pci_release(box);
	return wrong;
}

static u32 uncore_pmon_pci_read32(const struct uncore_pmon_box *box, u32 offset)
{
	u32 at = FIELD_GET(UNCORE_PMON_PCI_OFFSET, box->unit.box_control) + offset;
	u32 value;

	return pci_read_config_dword(box->pdev, at, &value) ? U32_MAX : value;
}

/* Writes the low half last, because its event field starts the counter. */
static void uncore_pmon_pci_write(const struct uncore_pmon_box *box, u32 offset, u64 value)
{
	u32 at = FIELD_GET(UNCORE_PMON_PCI_OFFSET, box->unit.box_control) + offset;

	if (offset != UNCORE_PMON_BOX)
		pci_write_config_dword(box->pdev, at + sizeof(u32), upper_32_bits(value));
	pci_write_config_dword(box->pdev, at, lower_32_bits(value));
}

/*
 * Reads both halves, and reads the low one again if the high one has changed meanwhile. Returns all
 * ones if either half did not respond.
 */
static u64 uncore_pmon_pci_read(const struct uncore_pmon_box *box, u32 offset)
{
	u32 high = uncore_pmon_pci_read32(box, offset + sizeof(u32));
	u32 low = uncore_pmon_pci_read32(box, offset);
	u32 again = uncore_pmon_pci_read32(box, offset + sizeof(u32));

	if (again != high)
		low = uncore_pmon_pci_read32(box, offset);
	return low == U32_MAX || again == U32_MAX ? U64_MAX : (u64)again << 32 | low;
}

static const struct uncore_pmon_access uncore_pmon_pci = {
	.claim = uncore_pmon_pci_claim,
	.release = uncore_pmon_pci_release,
	.read32 = uncore_pmon_pci_read32,
	.write = uncore_pmon_pci_write,
	.read = uncore_pmon_pci_read,
};

/* MSRs: a CPU accesses the MSRs of its own package. */

static const char *uncore_pmon_msr_claim(struct uncore_pmon_box *box)
{
	return NULL;
}

static void uncore_pmon_msr_release(struct uncore_pmon_box *box)
{
}

static u64 uncore_pmon_msr_read(const struct uncore_pmon_box *box, u32 offset)
{
	u64 value;

	return rdmsrq_safe(box->unit.box_control + offset, &value) ? U64_MAX : value;
}

static u32 uncore_pmon_msr_read32(const struct uncore_pmon_box *box, u32 offset)
{
	return uncore_pmon_msr_read(box, offset);
}

static void uncore_pmon_msr_write(const struct uncore_pmon_box *box, u32 offset, u64 value)
{
	/*
	 * A failed write needs no error: if the MSR does not exist, the freeze bit does not read
	 * back as written, and the unit is rejected.
	 */
	wrmsrq_safe(box->unit.box_control + offset, value);
}

static const struct uncore_pmon_access uncore_pmon_msr = {
	.claim = uncore_pmon_msr_claim,
	.release = uncore_pmon_msr_release,
	.read32 = uncore_pmon_msr_read32,
	.write = uncore_pmon_msr_write,
	.read = uncore_pmon_msr_read,
};

static const struct uncore_pmon_access *const uncore_pmon_accesses[] = {
	[UNCORE_PMON_ACCESS_MSR]	= &uncore_pmon_msr,
	[UNCORE_PMON_ACCESS_MMIO]	= &uncore_pmon_mmio,
	[UNCORE_PMON_ACCESS_PCI]	= &uncore_pmon_pci,
};

/* The box */

/* irq_work handler; no locks are held. */
static void uncore_pmon_print_warnings(struct irq_work *work)
{
	static const char *const texts[UNCORE_PMON_NR_WARNINGS] = {
		[UNCORE_PMON_SILENT]	= "the unit does not answer: its counts may be too low",
		[UNCORE_PMON_BACKWARDS]	= "a counter went backwards: the difference is not counted",
	};
	struct uncore_pmon_box *box = container_of(work, struct uncore_pmon_box, print_warnings);
	int what;

	for (what = 0; what < UNCORE_PMON_NR_WARNINGS; what++) {
		if (test_and_clear_bit(what, &box->pending_warnings))
			pr_warn("uncore_pmon: %s: package %d: %s\n", box->pmu->pp.name,
				box->package, texts[what]);
	}
}

/**
 * uncore_pmon_warn - count a rejected value, and print the warning once
 * @box: the box; its lock is held
 * @what: the warning
 *
 * perf starts and stops events under the run queue lock. printk() could deadlock there, because the
 * console wakes tasks. So an irq_work prints the warning.
 */
void uncore_pmon_warn(struct uncore_pmon_box *box, enum uncore_pmon_warning what)
{
	pmukit_stat_inc(&box->pmu->pp, PMUKIT_STAT_REJECTED);
	if (__test_and_set_bit(what, &box->warned))
		return;
	set_bit(what, &box->pending_warnings);
	irq_work_queue(&box->print_warnings);
}

/**
 * uncore_pmon_box_freeze - freeze or unfreeze all counters of a unit
 * @box: the unit; its lock is held
 * @freeze: true to freeze
 */
void uncore_pmon_box_freeze(struct uncore_pmon_box *box, bool freeze)
{
	box->access->write(box, UNCORE_PMON_BOX, freeze ? UNCORE_PMON_BOX_FREEZE : 0);
	box->frozen = freeze;
}

/**
 * uncore_pmon_box_reset - set controls and counters of a unit to 0, and freeze the unit
 * @box: the unit; its lock is held
 */
void uncore_pmon_box_reset(struct uncore_pmon_box *box)
{
	box->access->write(box, UNCORE_PMON_BOX,
			   UNCORE_PMON_BOX_RESET_CONTROLS | UNCORE_PMON_BOX_RESET_COUNTERS);
	memset(box->controls, 0, sizeof(box->controls));
	uncore_pmon_box_freeze(box, true);
	box->reset = true;
}

/* Reads a control; retries, because on real machines a read occasionally fails. */
static u32 uncore_pmon_box_ask(const struct uncore_pmon_box *box, u32 offset)
{
	u32 value = U32_MAX;
	int i;

	for (i = 0; value == U32_MAX && i < UNCORE_PMON_TRIES; i++)
		value = box->access->read32(box, offset);
	return value;
}

static bool uncore_pmon_box_is_frozen(const struct uncore_pmon_box *box)
{
	return uncore_pmon_box_ask(box, UNCORE_PMON_BOX) & UNCORE_PMON_BOX_FREEZE;
}

/*
 * Returns true if a user program uses the unit, through /dev/mem or MSRs. A unit that is not frozen
 * and has a control set is in use by a program, not by a driver: a driver freezes a unit when it
 * stops using the unit.
 */
static bool uncore_pmon_box_counts(const struct uncore_pmon_box *box)
{
	int slot;

	if (uncore_pmon_box_is_frozen(box))
		return false;
	for (slot = 0; slot < box->unit.counters; slot++) {
		if (uncore_pmon_box_ask(box, uncore_pmon_control_offset(&box->unit, slot)))
			return true;
	}
	return box->kinds & BIT(UNCORE_PMON_FIXED) &&
	       uncore_pmon_box_ask(box, UNCORE_PMON_IMC_FIXED_CONTROL);
}

/*
 * Resets a unit unless it does not respond or is in use, and checks its freeze bit. Runs on a CPU
 * that can access the unit.
 */
static void uncore_pmon_box_prepare(void *data)
{
	struct uncore_pmon_box *box = data;
	unsigned long flags;

	flags = pmukit_lock(&box->lock);
	if (uncore_pmon_box_ask(box, UNCORE_PMON_BOX) == U32_MAX)
		box->unused = "does not answer";
	else if (uncore_pmon_looks_for_programs() && uncore_pmon_box_counts(box))
		box->unused = "another program counts with it";
	if (!box->unused) {
		uncore_pmon_box_reset(box);
		box->dead = !uncore_pmon_box_is_frozen(box);
		uncore_pmon_box_freeze(box, false);
		box->dead = box->dead || uncore_pmon_box_is_frozen(box);
		uncore_pmon_box_freeze(box, true);
	}
	pmukit_unlock(&box->lock, flags);
}

/*
 * Freezes the unit, because perf may have enabled an event again since the PMU was removed, and
 * ends all accesses.
 */
static void uncore_pmon_box_kill(void *data)
{
	struct uncore_pmon_box *box = data;
	unsigned long flags;

	flags = pmukit_lock(&box->lock);
	if (box->reset && !box->dead)
		uncore_pmon_box_freeze(box, true);
	box->dead = true;
	pmukit_unlock(&box->lock, flags);
}

/*
 * Calls a function that accesses the unit; for MSRs, on a CPU of the package. Returns false if no
 * such CPU is online.
 */
static bool uncore_pmon_box_call(struct uncore_pmon_box *box, void (*call)(void *data))
{
	if (box->unit.access != UNCORE_PMON_ACCESS_MSR) {
		call(box);
		return true;
	}
	return !smp_call_function_single(uncore_pmon_cpu_of(box->package), call, box, true);
}

/**
 * uncore_pmon_box_new - allocate a box, without adding it to a list or accessing its registers
 * @pmu: the PMU that the box will belong to
 * @table: the table with @entry
 * @entry: the table entry of the unit
 *
 * Return: the box, or NULL if out of memory.
 */
struct uncore_pmon_box *uncore_pmon_box_new(struct uncore_pmon_pmu *pmu,
					    struct uncore_pmon_table *table,
					    struct uncore_pmon_entry *entry)
{
	struct uncore_pmon_box *box = kzalloc_obj(*box);

	if (!box)
		return NULL;
	box->pmu = pmu;
	box->unit = entry->unit;
	box->entry = entry;
	box->function = table->pdev;
	box->package = table->package;
	box->access = uncore_pmon_accesses[entry->unit.access];
	box->kinds = BIT(UNCORE_PMON_GENERAL);
	if (uncore_pmon_has_fixed(&box->unit, pmu->platform))
		box->kinds |= BIT(UNCORE_PMON_FIXED);
	pmukit_lock_init(&box->lock);
	INIT_LIST_HEAD(&box->added);
	hrtimer_setup(&box->timer, uncore_pmon_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	init_irq_work(&box->print_warnings, uncore_pmon_print_warnings);
	return box;
}

/**
 * uncore_pmon_box_up - make the registers accessible and reset the unit
 * @box: a new box
 *
 * If this function sets @box->unused, it has only read registers of the unit.
 *
 * Return: error text, or NULL; the caller calls uncore_pmon_box_down() in both cases.
 */
const char *uncore_pmon_box_up(struct uncore_pmon_box *box)
{
	const char *wrong = box->access->claim(box);

	if (wrong)
		return wrong;
	box->claimed = true;
	if (!uncore_pmon_box_call(box, uncore_pmon_box_prepare))
		return "no CPU of its package is online";
	return box->dead ? "there is no unit at its control address" : NULL;
}

/**
 * uncore_pmon_box_down - end all accesses to the registers
 * @box: a box whose PMU was removed or never registered
 */
void uncore_pmon_box_down(struct uncore_pmon_box *box)
{
	/* If no CPU of the package is online, no CPU can access its MSRs. */
	if (box->claimed && !uncore_pmon_box_call(box, uncore_pmon_box_kill))
		WRITE_ONCE(box->dead, true);
	hrtimer_cancel(&box->timer);
	irq_work_sync(&box->print_warnings);
	if (box->claimed)
		box->access->release(box);
	box->claimed = false;
}

/**
 * uncore_pmon_box_control - write the control of a slot
 * @box: the unit; its lock is held
 * @slot: a slot of the unit
 * @control: value to write; 0 stops the counter
 */
void uncore_pmon_box_control(struct uncore_pmon_box *box, int slot, u64 control)
{
	box->access->write(box, uncore_pmon_control_offset(&box->unit, slot), control);
	box->controls[slot] = control;
}

static u64 uncore_pmon_box_read(const struct uncore_pmon_box *box,
				const struct uncore_pmon_event *uev)
{
	if (uev->cfg.kind == UNCORE_PMON_FREE)
		return readq(box->free_base + uev->cfg.free->offset - UNCORE_PMON_MC_DCLK);
	return box->access->read(box, uncore_pmon_counter_offset(&box->unit, uev->slot));
}

/**
 * uncore_pmon_box_count - read the counter of an event
 * @box: the unit; its lock is held
 * @uev: the event
 * @count: filled in
 *
 * All ones mean that the unit did not respond. If all ones were the real count, nothing is lost:
 * the difference at the next read includes this count. After a failure the driver tries only once
 * per read, because each attempt costs a timeout.
 *
 * Return: true if @count is valid; false if the unit did not respond. The first such failure of a
 * unit is logged as a warning.
 */
bool uncore_pmon_box_count(struct uncore_pmon_box *box, const struct uncore_pmon_event *uev,
			   u64 *count)
{
	int tries = box->silent ? 1 : UNCORE_PMON_TRIES;

	do
		*count = uncore_pmon_box_read(box, uev);
	while (*count == U64_MAX && --tries);
	box->silent = *count == U64_MAX;
	if (box->silent)
		uncore_pmon_warn(box, UNCORE_PMON_SILENT);
	return !box->silent;
}
