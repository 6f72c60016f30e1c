// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: root_port_filters/ and requester_filters/: the functions that an event can trace.
 *
 * Every function at or below a root port that the device serves is a filter. An event selects root
 * ports by a bit for each, and any other function by its requester ID. The list of filters follows
 * the PCI bus: the driver registers a notifier, then walks the bus; a function that the notifier
 * and the walk both find is listed once. If the walk finds a function during its removal, either
 * the function has left the bus and is not listed, or a later BUS_NOTIFY_REMOVED_DEVICE unlists it.
 *
 * When a function that an event traces is removed, the driver disables the event; its last record
 * gives the reason. The event can be enabled again once the function is back.
 *
 * Locking: filter_mutex serializes changes. filter_lock protects only the list, so that event_init
 * and add can read the list. The driver calls perf under filter_mutex, so no perf callback takes
 * that mutex.
 */

#include <linux/device.h>
#include <linux/device/bus.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "hisi_ptt.h"

/**
 * struct hisi_ptt_filter - a function that can be traced
 * @node: entry in hisi_ptt.filters
 * @is_port: true: a root port; false: a requester below one
 * @devid: bus, device and function
 * @attr: sysfs file
 * @name: name of the file: domain, bus, device and function
 */
struct hisi_ptt_filter {
	struct list_head node;
	bool is_port;
	u16 devid;
	struct device_attribute attr;
	char name[32];
};

/* The files */

static ssize_t hisi_ptt_filter_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct hisi_ptt_filter *filter = container_of(attr, struct hisi_ptt_filter, attr);

	return sysfs_emit(buf, "0x%05x\n",
			  hisi_ptt_filter_value(filter->is_port, filter->devid));
}

static ssize_t hisi_ptt_multiselect_show(struct device *dev, struct device_attribute *attr,
					 char *buf)
{
	struct dev_ext_attribute *ext = container_of(attr, struct dev_ext_attribute, attr);

	return sysfs_emit(buf, "%s\n", (const char *)ext->var);
}

#define HISI_PTT_FILTER_GROUP(_name, _value)					\
	static struct dev_ext_attribute hisi_ptt_##_name##_multiselect = {	\
		.attr = __ATTR(multiselect, 0400, hisi_ptt_multiselect_show, NULL), \
		.var = _value,							\
	};									\
	static struct attribute *hisi_ptt_##_name##_attrs[] = {			\
		&hisi_ptt_##_name##_multiselect.attr.attr,			\
		NULL								\
	};									\
	const struct attribute_group hisi_ptt_##_name##_group = {		\
		.name = #_name "_filters",					\
		.attrs = hisi_ptt_##_name##_attrs,				\
	}

/*
 * multiselect: an event can trace several ports, which have a bit each, but only one requester ID.
 */
HISI_PTT_FILTER_GROUP(root_port, "1");
HISI_PTT_FILTER_GROUP(requester, "0");

static const char *hisi_ptt_filter_folder(const struct hisi_ptt_filter *filter)
{
	return filter->is_port ? hisi_ptt_root_port_group.name : hisi_ptt_requester_group.name;
}

/* The list */

static struct hisi_ptt_filter *hisi_ptt_filter_find(struct hisi_ptt *ptt, u16 devid)
{
	struct hisi_ptt_filter *filter;

	lockdep_assert_held(&ptt->filter_mutex);

	list_for_each_entry(filter, &ptt->filters, node) {
		if (filter->devid == devid)
			return filter;
	}
	return NULL;
}

/**
 * hisi_ptt_filter_available - test if the functions that an event traces exist
 * @ptt: the device
 * @cfg: terms of the event
 *
 * Context: any; interrupts may be off.
 *
 * Return: false if the requester or one of the ports does not exist.
 */
bool hisi_ptt_filter_available(struct hisi_ptt *ptt, const struct hisi_ptt_config *cfg)
{
	struct hisi_ptt_filter *filter;
	bool requester = false;
	unsigned long flags;
	u16 ports = 0;

	raw_spin_lock_irqsave(&ptt->filter_lock, flags);
	list_for_each_entry(filter, &ptt->filters, node) {
		if (filter->is_port)
			ports |= hisi_ptt_port_mask(filter->devid);
		else if (filter->devid == cfg->target)
			requester = true;
	}
	raw_spin_unlock_irqrestore(&ptt->filter_lock, flags);

	return cfg->by_port ? !(cfg->target & ~ports) : requester;
}

static void hisi_ptt_filter_add(struct hisi_ptt *ptt, struct pci_dev *pdev, bool is_port)
{
	struct hisi_ptt_filter *filter;

	filter = kzalloc_obj(*filter);
	if (!filter)
		goto warn;

	filter->is_port = is_port;
	filter->devid = pci_dev_id(pdev);
	strscpy(filter->name, pci_name(pdev), sizeof(filter->name));
	sysfs_attr_init(&filter->attr.attr);
	filter->attr.attr.name = filter->name;
	filter->attr.attr.mode = 0400;
	filter->attr.show = hisi_ptt_filter_show;
	if (sysfs_add_file_to_group(&ptt->pp.pmu.dev->kobj, &filter->attr.attr,
				    hisi_ptt_filter_folder(filter)))
		goto free_filter;

	raw_spin_lock_irq(&ptt->filter_lock);
	list_add_tail(&filter->node, &ptt->filters);
	raw_spin_unlock_irq(&ptt->filter_lock);
	return;

free_filter:
	kfree(filter);
warn:
	pci_warn(ptt->pdev, "%s cannot be traced: its filter was not added\n", pci_name(pdev));
}

/* After this call no event can be opened with the filter. */
static void hisi_ptt_filter_unlist(struct hisi_ptt *ptt, struct hisi_ptt_filter *filter)
{
	raw_spin_lock_irq(&ptt->filter_lock);
	list_del(&filter->node);
	raw_spin_unlock_irq(&ptt->filter_lock);
}

/* Removing the file waits for its readers, so the filter can then be freed. */
static void hisi_ptt_filter_free(struct hisi_ptt *ptt, struct hisi_ptt_filter *filter)
{
	sysfs_remove_file_from_group(&ptt->pp.pmu.dev->kobj, &filter->attr.attr,
				     hisi_ptt_filter_folder(filter));
	kfree(filter);
}

/* PCI bus */

/* Returns NULL if the device does not serve the root port of @pdev. */
static struct pci_dev *hisi_ptt_root_port_of(const struct hisi_ptt *ptt, struct pci_dev *pdev)
{
	struct pci_dev *root_port;

	if (pci_domain_nr(pdev->bus) != pci_domain_nr(ptt->pdev->bus))
		return NULL;
	root_port = pcie_find_root_port(pdev);
	if (!root_port || !hisi_ptt_range_has(ptt->range, pci_dev_id(root_port)))
		return NULL;
	return root_port;
}

static bool hisi_ptt_on_bus(const struct pci_dev *pdev)
{
	struct pci_dev *found = pci_get_domain_bus_and_slot(pci_domain_nr(pdev->bus),
							    pdev->bus->number, pdev->devfn);

	/* After the put, the pointer is only compared, not dereferenced. */
	pci_dev_put(found);
	return found == pdev;
}

static void hisi_ptt_function_comes(struct hisi_ptt *ptt, struct pci_dev *pdev)
{
	struct pci_dev *root_port = hisi_ptt_root_port_of(ptt, pdev);

	if (!root_port)
		return;

	mutex_lock(&ptt->filter_mutex);
	if (hisi_ptt_on_bus(pdev) && !hisi_ptt_filter_find(ptt, pci_dev_id(pdev)))
		hisi_ptt_filter_add(ptt, pdev, root_port == pdev);
	mutex_unlock(&ptt->filter_mutex);
}

/*
 * Returns true if an open event has lost its filter. Stopped events count, too, because a throttled
 * event is stopped and continues later.
 */
static bool hisi_ptt_event_orphaned(struct hisi_ptt *ptt)
{
	struct pmukit_event *pev;
	bool orphaned = false;

	spin_lock(&ptt->pp.lock);
	list_for_each_entry(pev, &ptt->pp.events, node) {
		if (!hisi_ptt_filter_available(ptt, &to_hisi_ptt_event(pev)->cfg))
			orphaned = true;
	}
	spin_unlock(&ptt->pp.lock);
	return orphaned;
}

static void hisi_ptt_function_goes(struct hisi_ptt *ptt, struct pci_dev *pdev)
{
	struct hisi_ptt_filter *filter;

	if (pci_domain_nr(pdev->bus) != pci_domain_nr(ptt->pdev->bus))
		return;

	mutex_lock(&ptt->filter_mutex);
	filter = hisi_ptt_filter_find(ptt, pci_dev_id(pdev));
	if (filter) {
		hisi_ptt_filter_unlist(ptt, filter);
		if (hisi_ptt_event_orphaned(ptt))
			pmukit_pmu_disable_events(&ptt->pp);
		/*
		 * Remove the file last: user space may conclude from its absence that the event has
		 * ended.
		 */
		hisi_ptt_filter_free(ptt, filter);
	}
	mutex_unlock(&ptt->filter_mutex);
}

static int hisi_ptt_filter_notify(struct notifier_block *nb, unsigned long action, void *data)
{
	struct hisi_ptt *ptt = container_of(nb, struct hisi_ptt, filter_notifier);

	if (action == BUS_NOTIFY_ADD_DEVICE)
		hisi_ptt_function_comes(ptt, to_pci_dev(data));
	else if (action == BUS_NOTIFY_DEL_DEVICE || action == BUS_NOTIFY_REMOVED_DEVICE)
		hisi_ptt_function_goes(ptt, to_pci_dev(data));
	return NOTIFY_DONE;
}

/* Probe and remove */

/**
 * hisi_ptt_filter_init - initialize the filters of a new device
 * @ptt: the device
 */
void hisi_ptt_filter_init(struct hisi_ptt *ptt)
{
	mutex_init(&ptt->filter_mutex);
	raw_spin_lock_init(&ptt->filter_lock);
	INIT_LIST_HEAD(&ptt->filters);
	ptt->filter_notifier.notifier_call = hisi_ptt_filter_notify;
}

/**
 * hisi_ptt_filter_join - list the functions that can be traced, and follow the PCI bus
 * @ptt: a device whose PMU is registered
 *
 * Return: 0 or -errno.
 */
int hisi_ptt_filter_join(struct hisi_ptt *ptt)
{
	struct pci_dev *pdev = NULL;
	int ret;

	ret = bus_register_notifier(&pci_bus_type, &ptt->filter_notifier);
	if (ret)
		return ret;

	for_each_pci_dev(pdev)
		hisi_ptt_function_comes(ptt, pdev);
	return 0;
}

/**
 * hisi_ptt_filter_leave - stop following the PCI bus and remove all filters
 * @ptt: a device whose PMU is still registered
 */
void hisi_ptt_filter_leave(struct hisi_ptt *ptt)
{
	struct hisi_ptt_filter *filter, *next;

	bus_unregister_notifier(&pci_bus_type, &ptt->filter_notifier);

	mutex_lock(&ptt->filter_mutex);
	list_for_each_entry_safe(filter, next, &ptt->filters, node) {
		hisi_ptt_filter_unlist(ptt, filter);
		hisi_ptt_filter_free(ptt, filter);
	}
	mutex_unlock(&ptt->filter_mutex);
}
