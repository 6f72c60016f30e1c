// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: the PCI device, a root complex integrated endpoint next to the root ports it serves.
 *
 * Module and PCI driver have the names of the in-tree driver, so only one of the two drivers can be
 * loaded.
 *
 * devm and pcim manage the resources that end with the device. The PMU is reference-counted and may
 * outlive the device. Probe registers the PMU after everything except the filters, which need the
 * PMU's sysfs directory. Remove runs in reverse order.
 */

#include <linux/bitfield.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/iommu.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "hisi_ptt.h"

/* Probe */

/* The device bypasses IOMMU translation: its buffer addresses must be physical addresses. */
static bool hisi_ptt_dma_is_direct(struct pci_dev *pdev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&pdev->dev);

	return !domain || domain->type == IOMMU_DOMAIN_IDENTITY;
}

static int hisi_ptt_map(struct pci_dev *pdev, struct hisi_ptt *ptt)
{
	struct device *dev = &pdev->dev;
	int ret;

	if (!(pci_resource_flags(pdev, HISI_PTT_BAR) & IORESOURCE_MEM) ||
	    pci_resource_len(pdev, HISI_PTT_BAR) < HISI_PTT_REGS_BYTES)
		return dev_err_probe(dev, -ENODEV, "BAR %d is not the register block\n",
				     HISI_PTT_BAR);

	ret = pcim_iomap_regions(pdev, BIT(HISI_PTT_BAR), "hisi_ptt");
	if (ret)
		return dev_err_probe(dev, ret, "the registers cannot be mapped\n");
	ptt->base = pcim_iomap_table(pdev)[HISI_PTT_BAR];

	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	return ret ? dev_err_probe(dev, ret, "no 64-bit DMA\n") : 0;
}

static int hisi_ptt_identify(struct pci_dev *pdev, struct hisi_ptt *ptt)
{
	u32 location = hisi_ptt_read(ptt, HISI_PTT_LOCATION);
	const char *wrong;

	ptt->range = hisi_ptt_read(ptt, HISI_PTT_DEVICE_RANGE);
	wrong = hisi_ptt_place_check(location, ptt->range);
	if (wrong)
		return dev_err_probe(&pdev->dev, -ENODEV, "%s\n", wrong);

	snprintf(ptt->pp.name, sizeof(ptt->pp.name), "hisi_ptt%u_%u",
		 (u32)FIELD_GET(HISI_PTT_LOCATION_SICL, location),
		 (u32)FIELD_GET(HISI_PTT_LOCATION_CORE, location));
	return 0;
}

/* Exactly one MSI; the device is not known to have MSI-X or INTx. */
static int hisi_ptt_request_irq(struct pci_dev *pdev, struct hisi_ptt *ptt)
{
	int ret;

	ret = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (ret < 0)
		return dev_err_probe(&pdev->dev, ret, "no MSI\n");

	ret = pci_irq_vector(pdev, 0);
	if (ret < 0)
		return dev_err_probe(&pdev->dev, ret, "no MSI\n");
	ptt->irq = ret;
	ret = request_irq(ptt->irq, hisi_ptt_interrupt, IRQF_NOBALANCING | IRQF_NO_THREAD,
			  ptt->pp.name, ptt);
	return ret ? dev_err_probe(&pdev->dev, ret, "the interrupt cannot be requested\n") : 0;
}

static struct hisi_ptt *hisi_ptt_new(struct pci_dev *pdev)
{
	struct hisi_ptt *ptt;

	ptt = kzalloc_obj(*ptt);
	if (!ptt)
		return NULL;

	hisi_ptt_pmu_fill(ptt);
	ptt->pdev = pci_dev_get(pdev);
	mutex_init(&ptt->tune_mutex);
	mutex_init(&ptt->dma_mutex);
	raw_spin_lock_init(&ptt->lock);
	hisi_ptt_filter_init(ptt);
	hisi_ptt_drain_init(ptt);
	return ptt;
}

/*
 * After this call the driver does not access the registers, and the device does not write to
 * memory.
 */
static void hisi_ptt_kill(struct hisi_ptt *ptt)
{
	raw_spin_lock_irq(&ptt->lock);
	hisi_ptt_halt(ptt);
	ptt->dead = true;
	raw_spin_unlock_irq(&ptt->lock);

	/* Cancel before free_irq(): a running callback may be about to enable the interrupt. */
	hrtimer_cancel(&ptt->timer);
	free_irq(ptt->irq, ptt);
	hisi_ptt_drain_shutdown(ptt);

	mutex_lock(&ptt->tune_mutex);
	ptt->tune_gone = true;
	mutex_unlock(&ptt->tune_mutex);

	pci_clear_master(ptt->pdev);
	hisi_ptt_dma_leave(ptt);
}

static int hisi_ptt_register(struct pci_dev *pdev, struct hisi_ptt *ptt)
{
	int ret;

	ret = pmukit_pmu_register(&ptt->pp, &pdev->dev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "the PMU cannot be registered\n");

	hisi_ptt_debugfs_add(ptt);
	ret = hisi_ptt_filter_join(ptt);
	if (!ret)
		return 0;

	pmukit_pmu_remove(&ptt->pp);
	return dev_err_probe(&pdev->dev, ret, "the PCI bus cannot be watched\n");
}

static int hisi_ptt_bring_up(struct pci_dev *pdev, struct hisi_ptt *ptt)
{
	int ret;

	ret = hisi_ptt_map(pdev, ptt);
	if (ret)
		return ret;
	ret = hisi_ptt_identify(pdev, ptt);
	if (ret)
		return ret;

	/* Firmware or a previous kernel may have left the trace enabled. */
	hisi_ptt_quiet(ptt);
	ret = hisi_ptt_request_irq(pdev, ptt);
	if (ret)
		return ret;
	pci_set_master(pdev);

	ret = hisi_ptt_register(pdev, ptt);
	if (ret)
		hisi_ptt_kill(ptt);
	return ret;
}

static int hisi_ptt_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct hisi_ptt *ptt;
	int ret;

	if (!hisi_ptt_dma_is_direct(pdev))
		return dev_err_probe(&pdev->dev, -EOPNOTSUPP,
				     "needs direct DMA mappings: an identity domain, or iommu.passthrough=1\n");

	ret = pcim_enable_device(pdev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "cannot be enabled\n");

	ptt = hisi_ptt_new(pdev);
	if (!ptt)
		return -ENOMEM;

	ret = hisi_ptt_bring_up(pdev, ptt);
	if (ret) {
		pmukit_pmu_put(&ptt->pp);
		return ret;
	}
	pci_set_drvdata(pdev, ptt);
	return 0;
}

/* Ends events first, then interrupt and timer; devres unmaps the registers afterwards. */
static void hisi_ptt_remove(struct pci_dev *pdev)
{
	struct hisi_ptt *ptt = pci_get_drvdata(pdev);

	hisi_ptt_filter_leave(ptt);
	pmukit_pmu_remove(&ptt->pp);
	hisi_ptt_kill(ptt);
	pmukit_pmu_put(&ptt->pp);
}

/* Reset of the function, requested by a user; suspend and resume */

/* The next check of the device ends an active run. No run starts before the reset is done. */
static void hisi_ptt_reset_prepare(struct pci_dev *pdev)
{
	struct hisi_ptt *ptt = pci_get_drvdata(pdev);

	raw_spin_lock_irq(&ptt->lock);
	hisi_ptt_halt(ptt);
	ptt->was_reset = true;
	ptt->resetting = true;
	raw_spin_unlock_irq(&ptt->lock);
}

static void hisi_ptt_reset_done(struct pci_dev *pdev)
{
	struct hisi_ptt *ptt = pci_get_drvdata(pdev);

	raw_spin_lock_irq(&ptt->lock);
	hisi_ptt_quiet(ptt);
	ptt->stopped = true;
	hisi_ptt_dma_program(ptt);
	ptt->resetting = false;
	raw_spin_unlock_irq(&ptt->lock);
}

static const struct pci_error_handlers hisi_ptt_reset_handlers = {
	.reset_prepare = hisi_ptt_reset_prepare,
	.reset_done = hisi_ptt_reset_done,
};

/* Suspend: the device may lose its registers, as in a reset. */

static int hisi_ptt_suspend(struct device *dev)
{
	hisi_ptt_reset_prepare(to_pci_dev(dev));
	return 0;
}

static int hisi_ptt_resume(struct device *dev)
{
	hisi_ptt_reset_done(to_pci_dev(dev));
	return 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(hisi_ptt_pm_ops, hisi_ptt_suspend, hisi_ptt_resume);

/* Module */

static const struct pci_device_id hisi_ptt_ids[] = {
	{ PCI_DEVICE(HISI_PTT_PCI_VENDOR, HISI_PTT_PCI_DEVICE) },
	{}
};
MODULE_DEVICE_TABLE(pci, hisi_ptt_ids);

static struct pci_driver hisi_ptt_driver = {
	.name = "hisi_ptt",
	.id_table = hisi_ptt_ids,
	.probe = hisi_ptt_probe,
	.remove = hisi_ptt_remove,
	.err_handler = &hisi_ptt_reset_handlers,
	.driver.pm = pm_sleep_ptr(&hisi_ptt_pm_ops),
};

/* Waits for code of this module that may still run after the driver is unregistered. */
static void hisi_ptt_settle(void)
{
	pmukit_pmu_flush();
	/* Wait for tasks that were preempted in this module. */
	synchronize_rcu_tasks();
}

static int __init hisi_ptt_init(void)
{
	int ret = pci_register_driver(&hisi_ptt_driver);

	/* Devices may have been probed before the registration failed. */
	if (ret)
		hisi_ptt_settle();
	return ret;
}
module_init(hisi_ptt_init);

static void __exit hisi_ptt_exit(void)
{
	pci_unregister_driver(&hisi_ptt_driver);
	hisi_ptt_settle();
}
module_exit(hisi_ptt_exit);

MODULE_DESCRIPTION("HiSilicon PCIe tune and trace PMU");
MODULE_AUTHOR("pmukit developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(PMUKIT_VERSION);
