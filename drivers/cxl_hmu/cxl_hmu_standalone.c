// SPDX-License-Identifier: GPL-2.0-only
/*
 * cxl_hmu: a PCI driver, enabled by standalone=1, for CXL memory functions without cxl_pci.
 *
 * A function has one driver: the first that binds it. Loaded after cxl_pci, this driver gets the
 * functions that cxl_pci did not bind; loaded first, it keeps its functions until they are unbound.
 * The driver is probed asynchronously like cxl_pci, because on a hotplugged function the kernel
 * tries a synchronous driver before cxl_pci. The PMUs are the same in both modes, except for the
 * number in their names.
 *
 * There is no softdep on cxl_pci: modprobe -r of this module would unload cxl_pci as well, and
 * modprobe would load cxl_pci even if the administrator does not want it loaded. The module has the
 * alias of the device table even without standalone=1. So udev loads this module for a CXL memory
 * device along with cxl_pci, which has the same alias; by default this module binds nothing.
 */

#include <linux/module.h>
#include <linux/pci.h>

#include "cxl_hmu.h"

static bool cxl_hmu_standalone;
module_param_named(standalone, cxl_hmu_standalone, bool, 0444);
MODULE_PARM_DESC(standalone, "drive CXL memory functions that have no driver (default: no)");

static int cxl_hmu_standalone_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int ret;

	ret = pci_enable_device_mem(pdev);
	if (ret)
		return ret;

	ret = cxl_hmu_function_attach(pdev);
	if (ret)
		pci_disable_device(pdev);
	return ret;
}

/*
 * Usually the notifier in cxl_hmu_pci.c has already detached the function, on
 * BUS_NOTIFY_UNBIND_DRIVER. A kernel with CONFIG_DEBUG_TEST_DRIVER_REMOVE calls remove right after
 * probe without a notification, so remove detaches as well.
 */
static void cxl_hmu_standalone_remove(struct pci_dev *pdev)
{
	cxl_hmu_function_detach(pdev);
	pci_disable_device(pdev);
}

static const struct pci_device_id cxl_hmu_standalone_ids[] = {
	{ PCI_DEVICE_CLASS(CXL_HMU_CLASS_MEMORY, ~0) },
	{}
};
MODULE_DEVICE_TABLE(pci, cxl_hmu_standalone_ids);

static struct pci_driver cxl_hmu_standalone_driver = {
	.name = "cxl_hmu",
	.id_table = cxl_hmu_standalone_ids,
	.probe = cxl_hmu_standalone_probe,
	.remove = cxl_hmu_standalone_remove,
	.driver.probe_type = PROBE_PREFER_ASYNCHRONOUS,
};

/**
 * cxl_hmu_standalone_register - register the PCI driver if standalone=1
 *
 * Return: 0 or -errno.
 */
int cxl_hmu_standalone_register(void)
{
	return cxl_hmu_standalone ? pci_register_driver(&cxl_hmu_standalone_driver) : 0;
}

/**
 * cxl_hmu_standalone_unregister - unregister the PCI driver
 *
 * Context: while the bus notifier is still registered.
 */
void cxl_hmu_standalone_unregister(void)
{
	if (cxl_hmu_standalone)
		pci_unregister_driver(&cxl_hmu_standalone_driver);
}
