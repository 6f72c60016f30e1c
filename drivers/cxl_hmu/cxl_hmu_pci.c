// SPDX-License-Identifier: GPL-2.0-only
/*
 * cxl_hmu: discovery of CHMU (hotness monitoring unit) blocks in PCI functions, attach and detach.
 *
 * The PCI function is bound to cxl_pci, so this module cannot be its driver. It watches the PCI bus
 * instead: it attaches to the function's CHMU blocks after cxl_pci has bound the function, and
 * detaches before cxl_pci unbinds. The function belongs to cxl_pci: this module does not enable or
 * disable it, attaches no devres to it, and requests only the CHMU blocks of its BARs. Functions
 * that this module drives itself (cxl_hmu_standalone.c) are attached in their probe, and detached
 * like the others.
 *
 * Interrupt vectors belong to cxl_pci as well. cxl_pci of Linux 6.1 allocates none: if the function
 * has no vectors at attach, this module allocates them, and frees them at detach.
 *
 * Locking: cxl_hmu_mutex protects the list of attached devices. It nests inside the PCI function's
 * device lock, which the driver core holds around the notifications and which the scans at module
 * init and exit take themselves. While that lock is held, a function that has a driver is bound: it
 * is neither being probed nor being removed.
 */

#include <linux/bitfield.h>
#include <linux/device.h>
#include <linux/device/bus.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/kconfig.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "cxl_hmu.h"

/* Further blocks of a PCI function are ignored. */
#define CXL_HMU_MAX_BLOCKS	16

/*
 * First number of PCI functions without a CXL memory device memX. The CXL core numbers its memX
 * below this value (CXL_MEM_MAX_DEVS).
 */
#define CXL_HMU_STANDALONE_FIRST	65536

/**
 * struct cxl_hmu_device - an attached PCI function
 * @pdev: the function, with a reference
 * @number: X of the memX of the function; without a memX, CXL_HMU_STANDALONE_FIRST or higher
 * @memory_bytes: size of the memory of the function; 0: unknown
 * @own_vectors: this module allocated the interrupt vectors of the function
 * @own_master: this module made the function a bus master
 * @blocks: CHMU blocks of the function
 * @instances: all instances of all blocks
 * @node: entry in cxl_hmu_devices
 */
struct cxl_hmu_device {
	struct pci_dev *pdev;
	u32 number;
	u64 memory_bytes;
	bool own_vectors;
	bool own_master;
	struct list_head blocks;
	struct list_head instances;
	struct list_head node;
};

static DEFINE_MUTEX(cxl_hmu_mutex);
static LIST_HEAD(cxl_hmu_devices);
static bool cxl_hmu_exiting;

static bool take_enabled;
module_param(take_enabled, bool, 0444);
MODULE_PARM_DESC(take_enabled, "also use instances that are enabled when the driver comes, which firmware or another driver may be using (default: no)");

/* Blocks */

static void cxl_hmu_block_release(struct kref *ref)
{
	kfree(container_of(ref, struct cxl_hmu_block, ref));
}

/**
 * cxl_hmu_block_put - drop a reference
 * @block: a block
 */
void cxl_hmu_block_put(struct cxl_hmu_block *block)
{
	kref_put(&block->ref, cxl_hmu_block_release);
}

/* Capabilities of a block and its instances, read before the memory of the block is requested */
struct cxl_hmu_probe {
	u64 room_bytes;
	struct cxl_hmu_block_caps caps;
	u64 qwords[CXL_HMU_MAX_INSTANCES][CXL_HMU_CAP_QWORDS];
};

static const char *cxl_hmu_probe_common(resource_size_t start, struct cxl_hmu_probe *probe)
{
	void __iomem *base;
	u64 common[2];

	if (probe->room_bytes < CXL_HMU_COMMON_BYTES)
		return "the block begins beyond its BAR";

	base = ioremap(start, CXL_HMU_COMMON_BYTES);
	if (!base)
		return "the block cannot be mapped";
	common[0] = readq(base + CXL_HMU_COMMON0);
	common[1] = readq(base + CXL_HMU_COMMON1);
	iounmap(base);

	return cxl_hmu_block_caps_decode(common[0], common[1], probe->room_bytes, &probe->caps);
}

static const char *cxl_hmu_probe_instances(resource_size_t start, struct cxl_hmu_probe *probe)
{
	void __iomem *base;
	u32 i, k;

	base = ioremap(start, cxl_hmu_instance_offset(&probe->caps, probe->caps.instances));
	if (!base)
		return "the block cannot be mapped";
	for (i = 0; i < probe->caps.instances; i++) {
		void __iomem *caps = base + cxl_hmu_instance_offset(&probe->caps, i) + CXL_HMU_CAP0;

		for (k = 0; k < CXL_HMU_CAP_QWORDS; k++)
			probe->qwords[i][k] = readq(caps + k * sizeof(u64));
	}
	iounmap(base);
	return NULL;
}

static void cxl_hmu_block_unmap(struct cxl_hmu_block *block)
{
	u32 i;

	for (i = 0; i < block->layout.nr && block->maps[i]; i++) {
		const struct cxl_hmu_span *span = &block->layout.spans[i];

		iounmap(block->maps[i]);
		block->maps[i] = NULL;
		release_mem_region(block->start + span->start, span->bytes);
	}
}

/* Request each used part of the block separately, without the gaps between them. */
static bool cxl_hmu_block_map(struct cxl_hmu_block *block)
{
	u32 i;

	cxl_hmu_layout_join(&block->layout);
	for (i = 0; i < block->layout.nr; i++) {
		const struct cxl_hmu_span *span = &block->layout.spans[i];

		if (!request_mem_region(block->start + span->start, span->bytes, "cxl_hmu"))
			goto unmap;
		block->maps[i] = ioremap(block->start + span->start, span->bytes);
		if (!block->maps[i]) {
			release_mem_region(block->start + span->start, span->bytes);
			goto unmap;
		}
	}
	return true;

unmap:
	cxl_hmu_block_unmap(block);
	return false;
}

/* Return: the address of @offset; NULL if no part of the mapped block contains it. */
static void __iomem *cxl_hmu_block_at(const struct cxl_hmu_block *block, u64 offset)
{
	u32 i;

	for (i = 0; i < block->layout.nr; i++) {
		const struct cxl_hmu_span *span = &block->layout.spans[i];

		if (offset >= span->start && offset - span->start < span->bytes)
			return block->maps[i] + (offset - span->start);
	}
	return NULL;
}

static struct cxl_hmu_block *cxl_hmu_block_new(resource_size_t start)
{
	struct cxl_hmu_block *block;

	block = kzalloc_obj(*block);
	if (!block)
		return NULL;

	kref_init(&block->ref);
	spin_lock_init(&block->claim_lock);
	block->start = start;
	return block;
}

/* Instances */

/* Read the counter width of each unit size: the device shows it after the size has been written. */
static int cxl_hmu_learn_widths(struct cxl_hmu *hmu)
{
	u32 mask = hmu->caps.unit_mask;
	struct cxl_hmu_config cfg;
	const char *wrong;
	u64 status;
	u32 unit;

	for (unit = 0; unit < ARRAY_SIZE(hmu->caps.counter_width); unit++) {
		if (!(mask & BIT(unit)))
			continue;
		cxl_hmu_config_default(&hmu->caps, unit, &cfg);
		cxl_hmu_write(hmu, CXL_HMU_CFG1, cxl_hmu_cfg1(&cfg));
		status = cxl_hmu_read(hmu, CXL_HMU_STATUS);
		if (cxl_hmu_status_absent(status))
			return -ENXIO;
		wrong = cxl_hmu_caps_set_width(&hmu->caps, unit, status);
		if (wrong)
			pr_debug("%s: unit size 2^%u: %s\n", hmu->pp.name, unit, wrong);
		/* Disable and reset requests write this value until an event sets its own. */
		hmu->cfg0 = cxl_hmu_cfg0(&cfg, &hmu->caps, false);
	}
	return 0;
}

static int cxl_hmu_instance_probe(struct cxl_hmu *hmu)
{
	int ret;

	ret = cxl_hmu_disable_and_wait(hmu, take_enabled);
	if (ret == -EBUSY) {
		pr_warn("%s: left alone: it is enabled, by firmware or another driver; load with take_enabled=1 to use it\n",
			hmu->pp.name);
		return ret;
	}
	if (!ret)
		ret = cxl_hmu_learn_widths(hmu);
	if (ret) {
		pr_warn("%s: ignored: cannot be disabled and configured (%pe)\n", hmu->pp.name,
			ERR_PTR(ret));
		return ret;
	}
	if (!hmu->caps.unit_mask) {
		pr_warn("%s: ignored: no unit size has a usable counter width\n", hmu->pp.name);
		return -EINVAL;
	}
	return 0;
}

static void cxl_hmu_instance_map(struct cxl_hmu *hmu, const struct cxl_hmu_probe *probe)
{
	u64 at = cxl_hmu_instance_offset(&probe->caps, hmu->index);

	hmu->base = cxl_hmu_block_at(hmu->block, at);
	hmu->bitmap = cxl_hmu_block_at(hmu->block, at + hmu->caps.bitmap_offset);
	hmu->list = cxl_hmu_block_at(hmu->block, at + hmu->caps.list_offset);
}

static struct cxl_hmu *cxl_hmu_instance_new(struct cxl_hmu_device *dev,
					    struct cxl_hmu_block *block, u32 chmu, u32 index)
{
	struct cxl_hmu *hmu;

	hmu = kzalloc_obj(*hmu);
	if (!hmu)
		return NULL;

	cxl_hmu_pmu_fill(hmu);
	raw_spin_lock_init(&hmu->lock);
	cxl_hmu_drain_init(hmu);
	kref_get(&block->ref);
	hmu->block = block;
	hmu->index = index;
	snprintf(hmu->pp.name, sizeof(hmu->pp.name), "cxl_hmu_mem%u.%u.%u", dev->number, chmu,
		 index);
	return hmu;
}

/* Add instances with a valid capability to @instances, and their register ranges to the layout. */
static void cxl_hmu_instances_find(struct cxl_hmu_device *dev, struct cxl_hmu_block *block,
				   u32 chmu, const struct cxl_hmu_probe *probe,
				   struct list_head *instances)
{
	const char *wrong;
	struct cxl_hmu *hmu;
	u32 i;

	cxl_hmu_layout_registers(&block->layout, &probe->caps);
	for (i = 0; i < probe->caps.instances; i++) {
		hmu = cxl_hmu_instance_new(dev, block, chmu, i);
		if (!hmu)
			return;
		wrong = cxl_hmu_caps_decode(probe->qwords[i],
					    probe->room_bytes -
					    cxl_hmu_instance_offset(&probe->caps, i), &hmu->caps);
		if (!wrong && !cxl_hmu_layout_instance(&block->layout, &probe->caps, i, &hmu->caps))
			wrong = "range bitmap or hot list lies over another part of the block";
		if (wrong) {
			pr_warn("%s: ignored: %s\n", hmu->pp.name, wrong);
			pmukit_pmu_put(&hmu->pp);
			continue;
		}
		cxl_hmu_caps_set_capacity(&hmu->caps, dev->memory_bytes);
		list_add_tail(&hmu->node, instances);
	}
}

static void cxl_hmu_instances_put(struct list_head *instances)
{
	struct cxl_hmu *hmu, *next;

	list_for_each_entry_safe(hmu, next, instances, node) {
		list_del(&hmu->node);
		pmukit_pmu_put(&hmu->pp);
	}
}

/*
 * Return: false if the device does not respond. The other instances of the device are then skipped,
 * because each timeout would delay cxl_pci.
 */
static bool cxl_hmu_instances_add(struct cxl_hmu_device *dev, struct list_head *instances,
				  const struct cxl_hmu_probe *probe)
{
	struct cxl_hmu *hmu, *next;
	int ret;

	list_for_each_entry_safe(hmu, next, instances, node) {
		cxl_hmu_instance_map(hmu, probe);
		ret = cxl_hmu_instance_probe(hmu);
		if (!ret) {
			list_move_tail(&hmu->node, &dev->instances);
			continue;
		}
		list_del(&hmu->node);
		pmukit_pmu_put(&hmu->pp);
		if (ret == -ETIMEDOUT || ret == -ENXIO)
			return false;
	}
	return true;
}

/*
 * After this call the driver no longer accesses the instance's registers. The call requests the
 * disable again, because a device may drop the first request while another operation is in
 * progress.
 * @answers: false if another instance of the device did not respond; the function then does not
 * wait for the device. Return: true if the device responds.
 */
static bool cxl_hmu_instance_kill(struct cxl_hmu *hmu, bool answers)
{
	int ret;

	raw_spin_lock_irq(&hmu->lock);
	cxl_hmu_disable(hmu);
	hmu->dead = true;
	raw_spin_unlock_irq(&hmu->lock);

	if (hmu->irq)
		free_irq(hmu->irq, hmu);
	cxl_hmu_drain_shutdown(hmu);

	if (!answers)
		return false;
	ret = cxl_hmu_disable_and_wait(hmu, true);
	if (ret == -ETIMEDOUT)
		pr_warn("%s: cannot be disabled: left enabled\n", hmu->pp.name);
	return !ret;
}

/* Memory */

static u64 cxl_hmu_range_bytes(struct pci_dev *pdev, u32 range)
{
	u32 high, low;

	pci_read_config_dword(pdev, range + CXL_HMU_DEVICE_SIZE_HIGH, &high);
	pci_read_config_dword(pdev, range + CXL_HMU_DEVICE_SIZE_LOW, &low);
	if (!(low & CXL_HMU_DEVICE_SIZE_LOW_VALID))
		return 0;
	return (u64)high << 32 | (low & CXL_HMU_DEVICE_SIZE_LOW_SIZE);
}

/*
 * Return: the memory size of the device, the sum of its two ranges; 0 if the device reports none.
 * cxl_pci knows the size too, but the CXL core keeps it private.
 */
static u64 cxl_hmu_memory_bytes(struct pci_dev *pdev)
{
	u64 bytes = 0;
	u16 dvsec;
	u32 i;

	dvsec = pci_find_dvsec_capability(pdev, CXL_HMU_DVSEC_VENDOR, CXL_HMU_DVSEC_DEVICE);
	for (i = 0; dvsec && i < CXL_HMU_DEVICE_RANGES; i++)
		bytes += cxl_hmu_range_bytes(pdev, dvsec + CXL_HMU_DEVICE_RANGE(i));
	return bytes;
}

/* Register locator */

static const char *cxl_hmu_block_probe(struct pci_dev *pdev, u32 bar, u64 offset,
				       struct cxl_hmu_probe *probe)
{
	resource_size_t start;
	const char *wrong;

	if (bar >= PCI_STD_NUM_BARS || !(pci_resource_flags(pdev, bar) & IORESOURCE_MEM))
		return "no such memory BAR";
	if (offset >= pci_resource_len(pdev, bar))
		return "the block begins beyond its BAR";

	start = pci_resource_start(pdev, bar) + offset;
	probe->room_bytes = pci_resource_len(pdev, bar) - offset;
	wrong = cxl_hmu_probe_common(start, probe);
	return wrong ? wrong : cxl_hmu_probe_instances(start, probe);
}

static bool cxl_hmu_block_add(struct cxl_hmu_device *dev, u32 chmu, resource_size_t start,
			      const struct cxl_hmu_probe *probe)
{
	struct cxl_hmu_block *block;
	LIST_HEAD(instances);
	bool go_on = true;

	block = cxl_hmu_block_new(start);
	if (!block)
		return false;

	cxl_hmu_instances_find(dev, block, chmu, probe, &instances);
	if (list_empty(&instances))
		goto put_block;
	if (!cxl_hmu_block_map(block)) {
		pci_warn(dev->pdev, "CHMU %u ignored: its registers are in use\n", chmu);
		goto put_block;
	}
	list_add_tail(&block->node, &dev->blocks);
	go_on = cxl_hmu_instances_add(dev, &instances, probe);
	cxl_hmu_instances_put(&instances);
	return go_on;

put_block:
	cxl_hmu_instances_put(&instances);
	cxl_hmu_block_put(block);
	return true;
}

/* Return: true to continue with the next block. */
static bool cxl_hmu_block_attach(struct cxl_hmu_device *dev, u32 chmu, u32 low, u32 high)
{
	u64 offset = (u64)high << 32 | (low & CXL_HMU_LOCATOR_LOW_OFFSET);
	u32 bar = FIELD_GET(CXL_HMU_LOCATOR_LOW_BIR, low);
	struct cxl_hmu_probe probe;
	const char *wrong;

	wrong = cxl_hmu_block_probe(dev->pdev, bar, offset, &probe);
	if (wrong) {
		pci_warn(dev->pdev, "CHMU %u ignored: %s\n", chmu, wrong);
		return true;
	}
	if (probe.caps.version > CXL_HMU_VERSION)
		pci_info(dev->pdev, "CHMU %u has version %u, used as version %u\n", chmu,
			 probe.caps.version, CXL_HMU_VERSION);
	return cxl_hmu_block_add(dev, chmu, pci_resource_start(dev->pdev, bar) + offset, &probe);
}

static void cxl_hmu_walk_locator(struct cxl_hmu_device *dev)
{
	struct pci_dev *pdev = dev->pdev;
	u32 header, low, high, entry, end;
	u32 chmu = 0;
	u16 dvsec;

	dvsec = pci_find_dvsec_capability(pdev, CXL_HMU_DVSEC_VENDOR, CXL_HMU_DVSEC_LOCATOR);
	if (!dvsec)
		return;

	pci_read_config_dword(pdev, dvsec + CXL_HMU_LOCATOR_HEADER1, &header);
	end = min_t(u32, dvsec + FIELD_GET(CXL_HMU_LOCATOR_HEADER1_LENGTH, header),
		    pdev->cfg_size);
	for (entry = dvsec + CXL_HMU_LOCATOR_ENTRIES;
	     entry + CXL_HMU_LOCATOR_ENTRY_BYTES <= end;
	     entry += CXL_HMU_LOCATOR_ENTRY_BYTES) {
		pci_read_config_dword(pdev, entry + CXL_HMU_LOCATOR_LOW, &low);
		pci_read_config_dword(pdev, entry + CXL_HMU_LOCATOR_HIGH, &high);
		if (FIELD_GET(CXL_HMU_LOCATOR_LOW_ID, low) != CXL_HMU_LOCATOR_ID_CHMU)
			continue;
		if (chmu == CXL_HMU_MAX_BLOCKS) {
			pci_warn(pdev, "only the first %u CHMUs are used\n", chmu);
			return;
		}
		if (!cxl_hmu_block_attach(dev, chmu++, low, high))
			return;
	}
}

/* Interrupts */

static bool cxl_hmu_wants_vector(const struct cxl_hmu *hmu)
{
	return hmu->caps.int_level || hmu->caps.int_overflow;
}

static void cxl_hmu_alloc_vectors(struct cxl_hmu_device *dev)
{
	struct pci_dev *pdev = dev->pdev;
	struct cxl_hmu *hmu;
	u32 wanted = 0;

	if (pdev->msix_enabled || pdev->msi_enabled)
		return;

	list_for_each_entry(hmu, &dev->instances, node) {
		if (cxl_hmu_wants_vector(hmu))
			wanted = max_t(u32, wanted, hmu->caps.message + 1);
	}
	if (!wanted)
		return;

	dev->own_vectors = pci_alloc_irq_vectors(pdev, 1, wanted,
						 PCI_IRQ_MSIX | PCI_IRQ_MSI) > 0;
	dev->own_master = dev->own_vectors && !pdev->is_busmaster;
	if (dev->own_master)
		pci_set_master(pdev);
}

static void cxl_hmu_free_vectors(struct cxl_hmu_device *dev)
{
	if (!dev->own_vectors)
		return;
	pci_free_irq_vectors(dev->pdev);
	if (dev->own_master)
		pci_clear_master(dev->pdev);
}

/*
 * The interrupt is shared: other instances may use the same vector. If the mailbox or the events of
 * cxl_pci use it, request_irq() fails, because cxl_pci requests it with IRQF_ONESHOT. Without MSI-X
 * and MSI the list is polled, because pci_irq_vector() would return the legacy interrupt. CAP0 is
 * read again because an MSI device changes its message number once its vectors are allocated.
 */
static void cxl_hmu_request_irq(struct cxl_hmu_device *dev, struct cxl_hmu *hmu)
{
	int irq;

	if (!cxl_hmu_wants_vector(hmu) || !(dev->pdev->msix_enabled || dev->pdev->msi_enabled))
		return;

	hmu->caps.message = cxl_hmu_message(cxl_hmu_read(hmu, CXL_HMU_CAP0));
	irq = pci_irq_vector(dev->pdev, hmu->caps.message);
	if (irq <= 0)
		return;
	if (request_irq(irq, cxl_hmu_interrupt, IRQF_SHARED | IRQF_NO_THREAD, hmu->pp.name, hmu)) {
		pr_warn("%s: the interrupt cannot be shared, polling\n", hmu->pp.name);
		return;
	}
	hmu->irq = irq;
}

/* Functions */

static int cxl_hmu_match_memdev(struct device *child, void *data)
{
	u32 *memdev = data;

	if (!child->bus || strcmp(child->bus->name, "cxl"))
		return 0;
	return sscanf(dev_name(child), "mem%u", memdev) == 1;
}

/*
 * A kernel may have an in-tree driver for hotness monitoring units, built in or as a module with
 * another name. Such a driver creates hmu_mem<X>.<Y> devices on the CXL bus, children of the
 * function like memX. Two drivers must not program the same CHMU.
 */
static int cxl_hmu_match_kernels_own(struct device *child, void *data)
{
	if (!child->bus || strcmp(child->bus->name, "cxl"))
		return 0;
	return strstarts(dev_name(child), "hmu_mem") || driver_find("cxl_hmu", child->bus);
}

static bool cxl_hmu_is_kernels_own(struct device *dev)
{
	if (!device_for_each_child(dev, NULL, cxl_hmu_match_kernels_own))
		return false;
	dev_warn(dev, "its hotness monitoring units are left to the kernel's own driver for them\n");
	return true;
}

/* The PMU is registered last, so that an event never starts on an incomplete instance. */
static void cxl_hmu_instance_register(struct cxl_hmu_device *dev, struct cxl_hmu *hmu)
{
	int ret;

	raw_spin_lock_irq(&hmu->lock);
	cxl_hmu_settle(hmu);
	raw_spin_unlock_irq(&hmu->lock);

	cxl_hmu_request_irq(dev, hmu);
	ret = pmukit_pmu_register(&hmu->pp, &dev->pdev->dev);
	if (!ret)
		return;

	pr_warn("%s: cannot be registered (%d)\n", hmu->pp.name, ret);
	list_del(&hmu->node);
	cxl_hmu_instance_kill(hmu, true);
	pmukit_pmu_put(&hmu->pp);
}

static void cxl_hmu_blocks_put(struct cxl_hmu_device *dev)
{
	struct cxl_hmu_block *block, *next;

	list_for_each_entry_safe(block, next, &dev->blocks, node) {
		list_del(&block->node);
		cxl_hmu_block_unmap(block);
		cxl_hmu_block_put(block);
	}
}

/* Remove the PMUs and their interrupts first, then the vectors and mappings they used. */
static void cxl_hmu_detach(struct cxl_hmu_device *dev)
{
	struct cxl_hmu *hmu, *next;
	bool answers = true;

	list_del(&dev->node);
	list_for_each_entry_safe(hmu, next, &dev->instances, node) {
		list_del(&hmu->node);
		pmukit_pmu_remove(&hmu->pp);
		answers = cxl_hmu_instance_kill(hmu, answers);
		pmukit_pmu_put(&hmu->pp);
	}
	cxl_hmu_free_vectors(dev);
	cxl_hmu_blocks_put(dev);
	pci_dev_put(dev->pdev);
	kfree(dev);
}

static struct cxl_hmu_device *cxl_hmu_find(struct pci_dev *pdev)
{
	struct cxl_hmu_device *dev;

	list_for_each_entry(dev, &cxl_hmu_devices, node) {
		if (dev->pdev == pdev)
			return dev;
	}
	return NULL;
}

static int cxl_hmu_attach(struct pci_dev *pdev, u32 number)
{
	struct cxl_hmu_device *dev;
	struct cxl_hmu *hmu, *next;

	dev = kzalloc_obj(*dev);
	if (!dev)
		return -ENOMEM;
	dev->pdev = pci_dev_get(pdev);
	dev->number = number;
	dev->memory_bytes = cxl_hmu_memory_bytes(pdev);
	INIT_LIST_HEAD(&dev->blocks);
	INIT_LIST_HEAD(&dev->instances);
	list_add_tail(&dev->node, &cxl_hmu_devices);

	cxl_hmu_walk_locator(dev);
	cxl_hmu_alloc_vectors(dev);
	list_for_each_entry_safe(hmu, next, &dev->instances, node)
		cxl_hmu_instance_register(dev, hmu);
	if (!list_empty(&dev->instances))
		return 0;

	cxl_hmu_detach(dev);
	return -ENODEV;
}

static bool cxl_hmu_number_used(u32 number)
{
	struct cxl_hmu_device *dev;

	list_for_each_entry(dev, &cxl_hmu_devices, node) {
		if (dev->number == number)
			return true;
	}
	return false;
}

static u32 cxl_hmu_standalone_number(void)
{
	u32 number = CXL_HMU_STANDALONE_FIRST;

	while (cxl_hmu_number_used(number))
		number++;
	return number;
}

/* Bound and unbound PCI functions; the caller holds the device lock of the PCI function */

static bool cxl_hmu_is_cxl_pci(const struct device *dev)
{
	return dev->driver && !strcmp(dev->driver->name, "cxl_pci");
}

/* Most PCI functions have no CHMU, so -ENODEV is ignored. */
static void cxl_hmu_bound(struct device *dev)
{
	struct pci_dev *pdev = to_pci_dev(dev);
	u32 memdev;

	mutex_lock(&cxl_hmu_mutex);
	if (!cxl_hmu_exiting && cxl_hmu_is_cxl_pci(dev) && !cxl_hmu_find(pdev) &&
	    device_for_each_child(dev, &memdev, cxl_hmu_match_memdev) &&
	    !cxl_hmu_is_kernels_own(dev))
		cxl_hmu_attach(pdev, memdev);
	mutex_unlock(&cxl_hmu_mutex);
}

static void cxl_hmu_unbind(struct device *dev)
{
	struct cxl_hmu_device *found;

	mutex_lock(&cxl_hmu_mutex);
	found = cxl_hmu_find(to_pci_dev(dev));
	if (found)
		cxl_hmu_detach(found);
	mutex_unlock(&cxl_hmu_mutex);
}

/**
 * cxl_hmu_function_attach - attach to a PCI function that this module drives
 * @pdev: the function, enabled
 *
 * The function is detached on BUS_NOTIFY_UNBIND_DRIVER, at the latest in the remove callback.
 *
 * Context: the probe callback.
 *
 * Return: 0 or -errno; -ENODEV if the function has no usable instance.
 */
int cxl_hmu_function_attach(struct pci_dev *pdev)
{
	u32 number;
	int ret;

	mutex_lock(&cxl_hmu_mutex);
	number = cxl_hmu_standalone_number();
	ret = cxl_hmu_attach(pdev, number);
	mutex_unlock(&cxl_hmu_mutex);

	if (!ret)
		pci_info(pdev, "hotness monitoring as cxl_hmu_mem%u, without cxl_pci\n", number);
	return ret;
}

/**
 * cxl_hmu_function_detach - detach from a PCI function that this module drives
 * @pdev: the function; ignored if it is not attached
 *
 * Context: the remove callback.
 */
void cxl_hmu_function_detach(struct pci_dev *pdev)
{
	cxl_hmu_unbind(&pdev->dev);
}

/*
 * With this check the driver skips other devices without taking their device lock: a driver's probe
 * holds that lock and may hang.
 */
static bool cxl_hmu_is_memory_function(const struct device *dev)
{
	return to_pci_dev(dev)->class == CXL_HMU_CLASS_MEMORY;
}

static int cxl_hmu_notify(struct notifier_block *nb, unsigned long action, void *data)
{
	if (!cxl_hmu_is_memory_function(data))
		return NOTIFY_DONE;
	if (action == BUS_NOTIFY_BOUND_DRIVER)
		cxl_hmu_bound(data);
	else if (action == BUS_NOTIFY_UNBIND_DRIVER)
		cxl_hmu_unbind(data);
	return NOTIFY_DONE;
}

static struct notifier_block cxl_hmu_notifier = {
	.notifier_call = cxl_hmu_notify,
};

/* Module */

static int cxl_hmu_scan_one(struct device *dev, void *data)
{
	if (!cxl_hmu_is_memory_function(dev))
		return 0;
	device_lock(dev);
	cxl_hmu_bound(dev);
	device_unlock(dev);
	return 0;
}

static int cxl_hmu_leave_one(struct device *dev, void *data)
{
	if (!cxl_hmu_is_memory_function(dev))
		return 0;
	device_lock(dev);
	cxl_hmu_unbind(dev);
	device_unlock(dev);
	return 0;
}

/*
 * The notifier stays registered until the last device is detached, so that a function that cxl_pci
 * unbinds meanwhile is detached before the unbind.
 */
static void cxl_hmu_leave(void)
{
	mutex_lock(&cxl_hmu_mutex);
	cxl_hmu_exiting = true;
	mutex_unlock(&cxl_hmu_mutex);

	bus_for_each_dev(&pci_bus_type, NULL, NULL, cxl_hmu_leave_one);
	bus_unregister_notifier(&pci_bus_type, &cxl_hmu_notifier);
	pmukit_pmu_flush();
}

static int __init cxl_hmu_init(void)
{
	int ret;

	if (IS_ENABLED(CONFIG_CXL_HMU)) {
		pr_err("cxl_hmu: not loaded: this kernel has a driver for CXL hotness monitoring units of its own (CONFIG_CXL_HMU)\n");
		return -EBUSY;
	}
	ret = bus_register_notifier(&pci_bus_type, &cxl_hmu_notifier);
	if (ret)
		return ret;
	ret = cxl_hmu_standalone_register();
	if (ret) {
		/* Detach the devices that the notifier may have attached already. */
		cxl_hmu_leave();
		return ret;
	}
	bus_for_each_dev(&pci_bus_type, NULL, NULL, cxl_hmu_scan_one);
	return 0;
}
module_init(cxl_hmu_init);

static void __exit cxl_hmu_exit(void)
{
	cxl_hmu_standalone_unregister();
	cxl_hmu_leave();
}
module_exit(cxl_hmu_exit);

MODULE_DESCRIPTION("CXL hotness monitoring unit PMU");
MODULE_AUTHOR("pmukit developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(PMUKIT_VERSION);
