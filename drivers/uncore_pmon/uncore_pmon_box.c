// SPDX-License-Identifier: GPL-2.0-only
/*
 * uncore_pmon: the registers of a unit.
 *
 *   box control + 0                 box control: freeze, reset
 *               + counter_offset    counter 0, 1, ...
 *               + control_offset    control 0, 1, ...
 *
 * A unit is where its entry says, which need not be in a BAR of any function: on real machines
 * memory controllers have their registers elsewhere. What keeps a wrong address from doing harm
 * is that it must not be in a BAR of another function, whether that has a driver or not; that the
 * memory is claimed, which fails for RAM, for what another driver has and for what another unit
 * has; and that a unit must keep the freeze bit as it is written.
 */

#include <linux/bitfield.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/pci.h>
#include <linux/printk.h>
#include <linux/string.h>

#if defined(CONFIG_X86)
#include <asm/msr.h>
#endif

#include "uncore_pmon.h"

/* MMIO */

static void uncore_pmon_mmio_unmap(void __iomem **base, u64 address, u64 bytes)
{
	if (!*base)
		return;
	iounmap(*base);
	release_mem_region(address, bytes);
	*base = NULL;
}

static bool uncore_pmon_has_bar_at(struct pci_dev *pdev, struct resource *place)
{
	struct resource *bar;
	int i;

	for (i = 0; i < PCI_BRIDGE_RESOURCES; i++) {
		bar = &pdev->resource[i];
		if (resource_type(bar) == IORESOURCE_MEM && !(bar->flags & IORESOURCE_UNSET) &&
		    resource_overlaps(bar, place))
			return true;
	}
	return false;
}

static bool uncore_pmon_is_foreign_bar(const struct pci_dev *function, u64 address, u64 bytes)
{
	struct resource place = DEFINE_RES_MEM(address, bytes);
	struct pci_dev *pdev = NULL;

	for_each_pci_dev(pdev) {
		if (pdev != function && uncore_pmon_has_bar_at(pdev, &place)) {
			pci_dev_put(pdev);
			return true;
		}
	}
	return false;
}

static void __iomem *uncore_pmon_mmio_map(struct uncore_pmon_box *box, u64 address, u64 bytes)
{
	void __iomem *base;

	if (!request_mem_region(address, bytes, box->pp.name))
		return NULL;
	base = ioremap(address, bytes);
	if (!base)
		release_mem_region(address, bytes);
	return base;
}

static u64 uncore_pmon_free_address(const struct uncore_pmon_box *box)
{
	return (box->unit.box_control & ~UNCORE_PMON_MC_MASK) + UNCORE_PMON_MC_DCLK;
}

#define UNCORE_PMON_MC_BYTES	(UNCORE_PMON_MC_WPQ_CYCLES + sizeof(u64) - UNCORE_PMON_MC_DCLK)

static const char *uncore_pmon_mmio_claim(struct uncore_pmon_box *box)
{
	u32 bytes = uncore_pmon_unit_bytes(&box->unit, box->kinds);

	if (uncore_pmon_is_foreign_bar(box->function, box->unit.box_control, bytes))
		return "its registers are in a BAR of another function";
	box->base = uncore_pmon_mmio_map(box, box->unit.box_control, bytes);
	if (!box->base)
		return "its registers are RAM or somebody else's";

	/* Where they are somebody else's there are none. */
	if (uncore_pmon_has_free(&box->unit, box->platform) &&
	    !uncore_pmon_is_foreign_bar(box->function, uncore_pmon_free_address(box),
					UNCORE_PMON_MC_BYTES))
		box->free_base = uncore_pmon_mmio_map(box, uncore_pmon_free_address(box),
						      UNCORE_PMON_MC_BYTES);
	if (box->free_base)
		box->kinds |= BIT(UNCORE_PMON_FREE);
	return NULL;
}

static void uncore_pmon_mmio_release(struct uncore_pmon_box *box)
{
	uncore_pmon_mmio_unmap(&box->free_base, uncore_pmon_free_address(box),
			       UNCORE_PMON_MC_BYTES);
	uncore_pmon_mmio_unmap(&box->base, box->unit.box_control,
			       uncore_pmon_unit_bytes(&box->unit, box->kinds));
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
 * uncore_pmon_global_run - let all units of a package count that are not frozen by themselves
 * @function: where the table is
 * @address: of a global control that is MMIO
 *
 * Return: what is wrong, or NULL.
 */
const char *uncore_pmon_global_run(const struct pci_dev *function, u64 address)
{
	const char *wrong = "the global control cannot be mapped";
	void __iomem *base;

	if (uncore_pmon_is_foreign_bar(function, address, sizeof(u32)))
		return "the global control is in a BAR of another function";
	if (!request_mem_region(address, sizeof(u32), "uncore_pmon"))
		return "the global control is RAM or somebody else's";
	base = ioremap(address, sizeof(u32));
	if (base) {
		writel(0, base);
		wrong = readl(base) & UNCORE_PMON_GLOBAL_FREEZE ?
			"the global control keeps all units frozen" : NULL;
		iounmap(base);
	}
	release_mem_region(address, sizeof(u32));
	return wrong;
}

static const struct uncore_pmon_access uncore_pmon_mmio = {
	.claim = uncore_pmon_mmio_claim,
	.release = uncore_pmon_mmio_release,
	.read32 = uncore_pmon_mmio_read32,
	.write = uncore_pmon_mmio_write,
	.read = uncore_pmon_mmio_read,
};

/*
 * PCI configuration space. A counter may be read from within whatever is traced, also from under
 * the lock of configuration accesses, and that must not be waited for. So units are used only where
 * an access takes none: x86-64, registers that are reached as memory.
 */

static const char *uncore_pmon_pci_claim(struct uncore_pmon_box *box)
{
	u64 address = box->unit.box_control;

	box->pdev = pci_get_domain_bus_and_slot(FIELD_GET(UNCORE_PMON_PCI_DOMAIN, address),
						FIELD_GET(UNCORE_PMON_PCI_BUS, address),
						FIELD_GET(UNCORE_PMON_PCI_DEVFN, address));
	if (!box->pdev)
		return "there is no such PCI function";
	if (box->pdev->vendor != UNCORE_PMON_PCI_VENDOR)
		return "the PCI function is not Intel's";
	if (!IS_ENABLED(CONFIG_X86_64) || !uncore_pmon_pci_is_memory(&box->unit))
		return "accesses to its registers take a lock";
	return NULL;
}

static void uncore_pmon_pci_release(struct uncore_pmon_box *box)
{
	pci_dev_put(box->pdev);
	box->pdev = NULL;
}

static u32 uncore_pmon_pci_read32(const struct uncore_pmon_box *box, u32 offset)
{
	u32 at = FIELD_GET(UNCORE_PMON_PCI_OFFSET, box->unit.box_control) + offset;
	u32 value;

	return pci_read_config_dword(box->pdev, at, &value) ? U32_MAX : value;
}

/* The half with the enabled event last. */
static void uncore_pmon_pci_write(const struct uncore_pmon_box *box, u32 offset, u64 value)
{
	u32 at = FIELD_GET(UNCORE_PMON_PCI_OFFSET, box->unit.box_control) + offset;

	if (offset != UNCORE_PMON_BOX)
		pci_write_config_dword(box->pdev, at + sizeof(u32), upper_32_bits(value));
	pci_write_config_dword(box->pdev, at, lower_32_bits(value));
}

/* The halves are read apart: once more when the upper one has moved meanwhile. */
static u64 uncore_pmon_pci_read(const struct uncore_pmon_box *box, u32 offset)
{
	u32 high = uncore_pmon_pci_read32(box, offset + sizeof(u32));
	u32 low = uncore_pmon_pci_read32(box, offset);
	u32 again = uncore_pmon_pci_read32(box, offset + sizeof(u32));

	if (again != high)
		low = uncore_pmon_pci_read32(box, offset);
	return (u64)again << 32 | low;
}

static const struct uncore_pmon_access uncore_pmon_pci = {
	.claim = uncore_pmon_pci_claim,
	.release = uncore_pmon_pci_release,
	.read32 = uncore_pmon_pci_read32,
	.write = uncore_pmon_pci_write,
	.read = uncore_pmon_pci_read,
};

/* MSR: registers of the package of the CPU that reads them */

static const char *uncore_pmon_msr_claim(struct uncore_pmon_box *box)
{
	return IS_ENABLED(CONFIG_X86) ? NULL : "there are no MSRs";
}

static void uncore_pmon_msr_release(struct uncore_pmon_box *box)
{
}

#if defined(CONFIG_X86)
/**
 * uncore_pmon_nr_packages - how many processors with MSRs of their own the machine may have
 *
 * Return: 1 or more; 1 where there are no MSRs.
 */
unsigned int uncore_pmon_nr_packages(void)
{
	return topology_max_packages();
}

/**
 * uncore_pmon_msr_get - read an MSR that is no unit's
 * @cpu: of the package
 * @msr: the MSR
 * @value: filled in
 *
 * Return: 0 or -errno.
 */
int uncore_pmon_msr_get(unsigned int cpu, u32 msr, u64 *value)
{
	return rdmsrq_safe_on_cpu(cpu, msr, value);
}

/**
 * uncore_pmon_msr_set - write an MSR that is no unit's
 * @cpu: of the package
 * @msr: the MSR
 * @value: what to write
 *
 * Return: 0 or -errno.
 */
int uncore_pmon_msr_set(unsigned int cpu, u32 msr, u64 value)
{
	return wrmsrq_safe_on_cpu(cpu, msr, value);
}

static u64 uncore_pmon_msr_read(const struct uncore_pmon_box *box, u32 offset)
{
	u32 low, high;

	if (rdmsr_safe(box->unit.box_control + offset, &low, &high))
		return U64_MAX;
	return (u64)high << 32 | low;
}

static void uncore_pmon_msr_write(const struct uncore_pmon_box *box, u32 offset, u64 value)
{
	/* One that is not there does not keep the freeze bit either, for which it is asked. */
	wrmsr_safe(box->unit.box_control + offset, lower_32_bits(value), upper_32_bits(value));
}
#else
unsigned int uncore_pmon_nr_packages(void)
{
	return 1;
}

int uncore_pmon_msr_get(unsigned int cpu, u32 msr, u64 *value)
{
	return -ENODEV;
}

int uncore_pmon_msr_set(unsigned int cpu, u32 msr, u64 value)
{
	return -ENODEV;
}

static u64 uncore_pmon_msr_read(const struct uncore_pmon_box *box, u32 offset)
{
	return U64_MAX;
}

static void uncore_pmon_msr_write(const struct uncore_pmon_box *box, u32 offset, u64 value)
{
}
#endif

static u32 uncore_pmon_msr_read32(const struct uncore_pmon_box *box, u32 offset)
{
	return uncore_pmon_msr_read(box, offset);
}

static const struct uncore_pmon_access uncore_pmon_msr = {
	.claim = uncore_pmon_msr_claim,
	.release = uncore_pmon_msr_release,
	.read32 = uncore_pmon_msr_read32,
	.write = uncore_pmon_msr_write,
	.read = uncore_pmon_msr_read,
};

const struct uncore_pmon_access *uncore_pmon_accesses[] = {
	[UNCORE_PMON_ACCESS_MSR]	= &uncore_pmon_msr,
	[UNCORE_PMON_ACCESS_MMIO]	= &uncore_pmon_mmio,
	[UNCORE_PMON_ACCESS_PCI]	= &uncore_pmon_pci,
};

/* The box */

/**
 * uncore_pmon_print_complaints - print the complaints that are new
 * @work: @saying of the unit
 *
 * Context: the interrupt that irq_work_queue() asks for, without locks.
 */
void uncore_pmon_print_complaints(struct irq_work *work)
{
	static const char *const texts[UNCORE_PMON_NR_COMPLAINTS] = {
		[UNCORE_PMON_SILENT]	= "does not answer any more; its counts stand still",
		[UNCORE_PMON_BACKWARDS]	= "a counter went backwards; what it showed is not counted",
	};
	struct uncore_pmon_box *box = container_of(work, struct uncore_pmon_box, saying);
	int what;

	for (what = 0; what < UNCORE_PMON_NR_COMPLAINTS; what++) {
		if (test_and_clear_bit(what, &box->unsaid))
			pr_warn("uncore_pmon: %s: %s\n", box->pp.name, texts[what]);
	}
}

/**
 * uncore_pmon_complain - have it said once what is wrong with a unit
 * @box: the unit; its lock is held
 * @what: the complaint
 *
 * Who starts and stops events may have the run queue's lock, under which nobody prints: the console
 * wakes tasks.
 */
void uncore_pmon_complain(struct uncore_pmon_box *box, enum uncore_pmon_complaint what)
{
	pmukit_stat_inc(&box->pp, PMUKIT_STAT_REJECTED);
	if (__test_and_set_bit(what, &box->told))
		return;
	set_bit(what, &box->unsaid);
	irq_work_queue(&box->saying);
}

/**
 * uncore_pmon_box_freeze - stop or let run all counters of a unit
 * @box: the unit; its lock is held
 * @freeze: which of the two
 */
void uncore_pmon_box_freeze(struct uncore_pmon_box *box, bool freeze)
{
	box->access->write(box, UNCORE_PMON_BOX, freeze ? UNCORE_PMON_BOX_FREEZE : 0);
	box->frozen = freeze;
}

/**
 * uncore_pmon_box_reset - bring a unit into a known state: frozen, controls and counters 0
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

static bool uncore_pmon_box_is_frozen(const struct uncore_pmon_box *box)
{
	return box->access->read32(box, UNCORE_PMON_BOX) & UNCORE_PMON_BOX_FREEZE;
}

/**
 * uncore_pmon_box_prepare - is the unit where its entry says; if so, reset it
 * @box: a claimed unit whose registers this CPU can reach
 *
 * Return: what is wrong, or NULL.
 */
const char *uncore_pmon_box_prepare(struct uncore_pmon_box *box)
{
	unsigned long flags;
	bool keeps;

	flags = pmukit_lock(&box->lock);
	uncore_pmon_box_reset(box);
	keeps = uncore_pmon_box_is_frozen(box);
	uncore_pmon_box_freeze(box, false);
	keeps = keeps && !uncore_pmon_box_is_frozen(box);
	uncore_pmon_box_freeze(box, true);
	pmukit_unlock(&box->lock, flags);

	return keeps ? NULL : "there is no unit at its control address";
}

/**
 * uncore_pmon_box_control - write the control of a slot
 * @box: the unit; its lock is held
 * @slot: a slot of it
 * @control: what to write, 0 to stop it
 */
void uncore_pmon_box_control(struct uncore_pmon_box *box, int slot, u64 control)
{
	box->access->write(box, uncore_pmon_control_offset(&box->unit, slot), control);
	box->controls[slot] = control;
}

/* Only of all ones is it asked whether anybody answered. */
static bool uncore_pmon_box_silent(const struct uncore_pmon_box *box, u64 count)
{
	return count == U64_MAX && box->access->read32(box, UNCORE_PMON_BOX) == U32_MAX;
}

/**
 * uncore_pmon_box_count - read the counter of an event
 * @box: the unit; its lock is held
 * @uev: the event
 * @slot: the slot it has or had; of no matter when its counter always runs
 * @count: filled in
 *
 * Return: false when nobody answers, which has been said.
 */
bool uncore_pmon_box_count(struct uncore_pmon_box *box, const struct uncore_pmon_event *uev,
			   int slot, u64 *count)
{
	if (uev->cfg.kind == UNCORE_PMON_FREE)
		*count = readq(box->free_base + uev->cfg.free->offset - UNCORE_PMON_MC_DCLK);
	else
		*count = box->access->read(box, uncore_pmon_counter_offset(&box->unit, slot));
	if (!uncore_pmon_box_silent(box, *count))
		return true;
	uncore_pmon_complain(box, UNCORE_PMON_SILENT);
	return false;
}
