/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface between imc.ko, which implements all perf PMUs of In-Memory Collection, and a back-end
 * that replaces hardware and firmware. The interface is like that of the hardware: the driver
 * passes memory to the engine and reads all results from that memory. The back-end never calls the
 * driver.
 *
 * The driver allocates the memory for cores and CPUs: pages of the linear map, so that
 * phys_to_virt() works, aligned to 8 KiB. The back-end allocates the memory of chips. The content
 * of both is big-endian.
 * Documentation/devices/imc.rst describes the registers, the control block and the trace record.
 */
#ifndef PMUKIT_IMC_BACKEND_H
#define PMUKIT_IMC_BACKEND_H

#include <linux/types.h>

struct module;

/* Engine types, with the values of OPAL_IMC_COUNTERS_* of OPAL */
enum pmukit_imc_type {
	PMUKIT_IMC_NEST		= 1,
	PMUKIT_IMC_CORE		= 2,
	PMUKIT_IMC_TRACE	= 3,
};

/**
 * struct pmukit_imc_chip - a chip with a nest engine
 * @chip_id: number of the chip; the property chip-id of skiboot's device tree
 * @homer: physical address of the chip's HOMER; the property base-addr of skiboot's device tree.
 *	The counters of a nest unit are at @homer + the property offset of its node, the control
 *	block is cb_offset bytes after the start of the counters.
 * @bytes: size of the HOMER; the driver skips a unit whose memory extends past its end
 */
struct pmukit_imc_chip {
	u32 chip_id;
	phys_addr_t homer;
	u64 bytes;
};

/**
 * struct pmukit_imc_backend - operations on the engines
 * @name: shown in the log and in sysfs
 * @catalog: file name of the catalogue, a flattened device tree, for the firmware loader
 * @owner: module of the back-end; the driver holds a reference while events are open
 * @init: prepare the engine of @cpu and leave it stopped. NEST: nothing to do. CORE: accumulate at
 *	@address. TRACE: select the events that are sampled; @set_ldbar sets the address. May sleep.
 * @start: start the engine; called in any context and on any CPU, perhaps with interrupts off
 * @stop: stop the engine; called in the contexts of @start. After the return, the engine of @cpu
 *	may still finish one record, or one round of counts.
 * @set_ldbar: write LDBAR of @cpu; called on that CPU with interrupts off. After the return the
 *	engine no longer writes to the previous address.
 * @chips: fill in up to @max chips; return the number of all chips, which may be more than @max
 * @chip_of: return the chip_id of a CPU, or a negative value if it has none
 * @get: prepare for events, for example by attaching tracepoint probes; called before the first
 *	event that needs an engine of this type is opened. CORE includes events of threads. May
 *	sleep and take cpu_hotplug_lock; calls of @get and @put are serialized. May be NULL.
 * @put: undo @get, some time after the last of these events is closed; NULL if @get is NULL. The
 *	periods between @get and @put of CORE and TRACE may overlap.
 *
 * A CPU represents its core in CORE and TRACE, and its chip in NEST. Counters of a thread belong to
 * the core engine too, which writes them to the address in LDBAR. Functions that return int return
 * 0 or -errno, except @chip_of.
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
