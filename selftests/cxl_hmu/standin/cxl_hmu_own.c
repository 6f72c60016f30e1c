// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stand-in for an in-tree driver of CXL hotness monitoring units, which no kernel has yet. It
 * adds the same device or driver to the CXL bus as the drivers posted to linux-cxl, and accesses no
 * register.
 *   shows=nothing   adds nothing (default)
 *   shows=device    adds the device hmu_mem0.0, a child of the first CXL memory function like memX
 *   shows=driver    adds a driver named cxl_hmu
 */
#include <linux/device.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/string.h>

#define CXL_MEMORY_CLASS	0x050210

static char *shows = "nothing";
module_param(shows, charp, 0444);

/*
 * Ends with drv and id, as struct cxl_driver in drivers/cxl/cxl.h does, because the CXL bus reads
 * the id that follows drv.
 */
struct own_driver {
	struct device_driver drv;
	int id;
};

static struct own_driver own_driver = {
	.drv = { .name = "cxl_hmu", .owner = THIS_MODULE },
	.id = -1,	/* matches no device */
};

static struct device *own_device;

static void own_device_release(struct device *dev)
{
	kfree(dev);
}

static const struct device own_template = { .release = own_device_release };

static int show_device(struct device *mem)
{
	int ret;

	own_device = kmemdup(&own_template, sizeof(own_template), GFP_KERNEL);
	if (!own_device)
		return -ENOMEM;
	device_initialize(own_device);
	own_device->parent = mem->parent;
	own_device->bus = mem->bus;
	ret = dev_set_name(own_device, "hmu_mem0.0");
	if (!ret)
		ret = device_add(own_device);
	if (!ret)
		return 0;
	put_device(own_device);
	own_device = NULL;
	return ret;
}

static int show_driver(struct device *mem)
{
	own_driver.drv.bus = mem->bus;
	return driver_register(&own_driver.drv);
}

static const struct {
	const char *name;
	int (*show)(struct device *mem);
} ways[] = {
	{ "device", show_device },
	{ "driver", show_driver },
};

/* Gets memX: the first child of the function that is a device on the CXL bus. */
static int get_cxl(struct device *child, void *data)
{
	if (!child->bus || strcmp(child->bus->name, "cxl"))
		return 0;
	*(struct device **)data = get_device(child);
	return 1;
}

static int show_beside(struct device *mem)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		if (!strcmp(ways[i].name, shows))
			return ways[i].show(mem);
	}
	return -EINVAL;
}

static int __init cxl_hmu_own_init(void)
{
	struct device *mem = NULL;
	struct pci_dev *pdev;
	int ret = -ENODEV;

	if (!strcmp(shows, "nothing"))
		return 0;
	pdev = pci_get_class(CXL_MEMORY_CLASS, NULL);
	if (pdev && device_for_each_child(&pdev->dev, &mem, get_cxl))
		ret = show_beside(mem);
	put_device(mem);
	pci_dev_put(pdev);
	return ret;
}
module_init(cxl_hmu_own_init);

static void __exit cxl_hmu_own_exit(void)
{
	if (own_device)
		device_unregister(own_device);
	if (own_driver.drv.bus)
		driver_unregister(&own_driver.drv);
}
module_exit(cxl_hmu_own_exit);

MODULE_DESCRIPTION("Stand-in for a kernel's own driver of CXL hotness monitoring units");
MODULE_LICENSE("GPL");
