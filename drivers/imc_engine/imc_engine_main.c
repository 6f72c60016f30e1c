// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc_engine: a software engine in place of the hardware and firmware of In-Memory Collection
 * (Documentation/devices/imc_engine-model.rst). Users load this module explicitly, after imc.ko;
 * the log and sysfs show that it is loaded. Once registered, the engine does not call imc.ko; it
 * only writes to memory, as the hardware does.
 *
 * The engine registers as the last step of load and unregisters as the first step of unload: when
 * pmukit_imc_unregister_backend() returns, no register holds an address of the driver's memory.
 */

#include <linux/cpuhotplug.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>

#include <pmukit/imc_backend.h>

#include "imc_engine.h"

/* 31991 cycles of 32 MHz: about 1 ms, but not synchronous with the kernel's ticks */
static unsigned int cpmc_load = 0xffff8309;
module_param(cpmc_load, uint, 0444);
MODULE_PARM_DESC(cpmc_load, "CPMC_LOAD of TRACE_IMC_SCOM: a sample every 2^32 - CPMC_LOAD cycles of 32 MHz");

static enum cpuhp_state imc_engine_hotplug;

/* Back-end */

static int imc_engine_init(u32 type, phys_addr_t address, unsigned int cpu)
{
	switch (type) {
	case PMUKIT_IMC_NEST:
		return imc_engine_chip_of(cpu) < 0 ? -EINVAL : 0;
	case PMUKIT_IMC_CORE:
	case PMUKIT_IMC_TRACE:
		return imc_engine_htm_init(type, address, cpu);
	default:
		return -EINVAL;
	}
}

static int imc_engine_start(u32 type, unsigned int cpu)
{
	switch (type) {
	case PMUKIT_IMC_NEST:
		return imc_engine_nest_command(cpu, IMC_ENGINE_COMMAND_RESUME);
	case PMUKIT_IMC_CORE:
	case PMUKIT_IMC_TRACE:
		return imc_engine_htm_start(type, cpu);
	default:
		return -EINVAL;
	}
}

static int imc_engine_stop(u32 type, unsigned int cpu)
{
	switch (type) {
	case PMUKIT_IMC_NEST:
		return imc_engine_nest_command(cpu, IMC_ENGINE_COMMAND_PAUSE);
	case PMUKIT_IMC_CORE:
	case PMUKIT_IMC_TRACE:
		return imc_engine_htm_stop(cpu);
	default:
		return -EINVAL;
	}
}

static const struct pmukit_imc_backend imc_engine_backend = {
	.name		= "software engine",
	.catalog	= "pmukit/imc-power9.dtb",
	.owner		= THIS_MODULE,
	.init		= imc_engine_init,
	.start		= imc_engine_start,
	.stop		= imc_engine_stop,
	.set_ldbar	= imc_engine_set_ldbar,
	.chips		= imc_engine_chips,
	.chip_of	= imc_engine_chip_of,
	.get		= imc_engine_probe_get,
	.put		= imc_engine_probe_put,
};

/* Load and unload */

static int __init imc_engine_load(void)
{
	u64 period_ns = imc_engine_period_ns(imc_engine_scom(cpmc_load));
	int err;

	if (period_ns < IMC_ENGINE_PERIOD_MIN_NS) {
		pr_err("imc_engine: cpmc_load=%#x: a sample every %llu ns is more often than POWER's firmware takes one: at most 0xffffff05\n",
		       cpmc_load, period_ns);
		return -EINVAL;
	}
	err = imc_engine_probe_find();
	if (err)
		return err;
	err = imc_engine_htm_prepare(cpmc_load);
	if (err)
		return err;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "pmukit/imc_engine:online",
				imc_engine_cpu_online, imc_engine_cpu_offline);
	if (err < 0)
		goto finish_htm;
	imc_engine_hotplug = err;
	err = imc_engine_nest_prepare();
	if (err)
		goto remove_hotplug;
	err = imc_engine_debugfs_prepare();
	if (err)
		goto finish_nest;
	err = pmukit_imc_register_backend(&imc_engine_backend);
	if (err)
		goto finish_debugfs;
	pr_info("imc_engine: a software engine stands for the hardware, a sample every %llu ns\n",
		period_ns);
	return 0;

finish_debugfs:
	imc_engine_debugfs_finish();
finish_nest:
	imc_engine_nest_finish();
remove_hotplug:
	cpuhp_remove_state(imc_engine_hotplug);
finish_htm:
	imc_engine_htm_finish();
	return err;
}
module_init(imc_engine_load);

static void __exit imc_engine_unload(void)
{
	pmukit_imc_unregister_backend(&imc_engine_backend);
	imc_engine_debugfs_finish();
	imc_engine_nest_finish();
	cpuhp_remove_state(imc_engine_hotplug);
	imc_engine_htm_finish();
}
module_exit(imc_engine_unload);

MODULE_DESCRIPTION("Software engine in place of In-Memory Collection hardware");
MODULE_LICENSE("GPL");
MODULE_VERSION(PMUKIT_VERSION);
MODULE_AUTHOR("pmukit developers");
MODULE_FIRMWARE("pmukit/imc-power9.dtb");
