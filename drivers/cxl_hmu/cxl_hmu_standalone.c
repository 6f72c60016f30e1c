// SPDX-License-Identifier: GPL-2.0-only
/*
 * cxl_hmu: a PCI driver for CXL memory functions that cxl_pci does not drive, with standalone=1.
 *
 * A function has one driver: the first that binds it. Loaded behind cxl_pci this driver gets what
 * cxl_pci did not want; loaded first, it keeps what it has until it is unbound. There is no
 * softdep on cxl_pci: modprobe -r of this module would take cxl_pci away as well, and loading it
 * would bring a cxl_pci that the owner keeps out. The device table is an alias of the module either way:
 * it is loaded where there is a CXL memory device, beside cxl_pci, which has the same alias, and
 * binds nothing by default. The driver is probed asynchronously because cxl_pci is: a function that
 * is plugged in is offered to synchronous drivers first. What the module offers is the same either
 * way, under another number.
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
 * The function was let go when the bus announced the unbinding; see cxl_hmu_pci.c. A kernel that
 * tries remove right after probe (CONFIG_DEBUG_TEST_DRIVER_REMOVE) announces nothing.
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
 * cxl_hmu_standalone_register - look for functions without a driver, if so asked
 *
 * Return: 0 or -errno.
 */
int cxl_hmu_standalone_register(void)
{
	return cxl_hmu_standalone ? pci_register_driver(&cxl_hmu_standalone_driver) : 0;
}

/**
 * cxl_hmu_standalone_unregister - let go of them
 *
 * The notifier of the bus is still needed.
 */
void cxl_hmu_standalone_unregister(void)
{
	if (cxl_hmu_standalone)
		pci_unregister_driver(&cxl_hmu_standalone_driver);
}
