/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The seam between imc.ko, which is all that perf sees of In-Memory Collection, and what stands in
 * for the hardware and its firmware. It is at the hardware's own level: memory is handed over, and
 * everything else is learnt from that memory. There is no call back to the driver.
 *
 * Memory of cores and CPUs belongs to the driver: pages of the linear map, so that phys_to_virt()
 * finds them, aligned to 8 KiB. Memory of chips belongs to the back-end. All of it is big-endian.
 * Documentation/devices/imc.rst has the registers, the control block and the trace record.
 */
#ifndef PMUKIT_IMC_BACKEND_H
#define PMUKIT_IMC_BACKEND_H

#include <linux/types.h>

struct module;

/* Engines; the numbers of OPAL's OPAL_IMC_COUNTERS_* */
enum pmukit_imc_type {
	PMUKIT_IMC_NEST		= 1,
	PMUKIT_IMC_CORE		= 2,
	PMUKIT_IMC_TRACE	= 3,
};

/**
 * struct pmukit_imc_chip - a chip with a nest engine
 * @chip_id: its number; what skiboot writes into chip-id
 * @homer: where its HOMER begins; what skiboot writes into base-addr. A nest unit's counters lie
 *	at this + the offset property of its node, the control block at that + cb_offset.
 * @bytes: how much of it there is; a catalogue with a unit beyond is refused
 */
struct pmukit_imc_chip {
	u32 chip_id;
	phys_addr_t homer;
	u64 bytes;
};

/**
 * struct pmukit_imc_backend - what drives the engines
 * @name: for people: in the log and in sysfs
 * @catalog: the catalogue, a flattened device tree, as the firmware loader finds it
 * @owner: kept in memory while events are open
 * @init: prepare the engine of @cpu and leave it stopped. NEST: nothing to do. CORE: accumulate at
 *	@address. TRACE: choose what is sampled; the address comes by @set_ldbar. May sleep.
 * @start: let the engine run; any context, interrupts may be off, on any CPU
 * @stop: halt it; the same. @cpu may still finish one record, or one round of counts, after it
 *	returns.
 * @set_ldbar: write LDBAR of @cpu; on that CPU, interrupts off. Once it has returned nothing is
 *	written through the value before.
 * @chips: fill in up to @max chips and return how many there are
 * @chip_of: chip_id of a CPU, negative: none
 * @get: NULL, or before the first event that needs the engine of this type is open, and before its
 *	@start: learn what there is to know of the machine. CORE is for threads as well. May sleep
 *	and take cpu_hotplug_lock; one call of this and the next at a time.
 * @put: the opposite, some time after the last of them is closed; NULL when @get is. CORE and TRACE
 *	may overlap.
 *
 * A CPU stands for its core in CORE and TRACE and for its chip in NEST. Counters of a thread are
 * the core engine's too, written where LDBAR says. Return: 0 or -errno.
 */
struct pmukit_imc_backend {
	const char *name;
	const char *catalog;
	struct module *owner;
	int (*init)(u32 type, phys_addr_t address, unsigned int cpu);
	int (*start)(u32 type, unsigned int cpu);
	int (*stop)(u32 type, unsigned int cpu);
	void (*set_ldbar)(unsigned int cpu, u64 value);
	unsigned int (*chips)(struct pmukit_imc_chip *chips, unsigned int max);
	int (*chip_of)(unsigned int cpu);
	int (*get)(u32 type);
	void (*put)(u32 type);
};

int pmukit_imc_register_backend(const struct pmukit_imc_backend *backend);
void pmukit_imc_unregister_backend(const struct pmukit_imc_backend *backend);

#endif /* PMUKIT_IMC_BACKEND_H */
