// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: tune/, the link parameters of the PCIe core.
 *
 * Two files have a second name, from the first published description of the device.
 *
 * Context: process context. tune_mutex serializes the operations: the device has one set of
 * registers for all of them. No other lock is taken under it.
 */

#include <linux/bitfield.h>
#include <linux/iopoll.h>
#include <linux/kernel.h>
#include <linux/sysfs.h>

#include "hisi_ptt.h"

#define HISI_PTT_TUNE_POLL_US		10
#define HISI_PTT_TUNE_TIMEOUT_US	USEC_PER_SEC

/**
 * struct hisi_ptt_tune - a file in tune/
 * @attr: sysfs file
 * @code: code of the tune event
 * @sub: sub-code of the tune event
 */
struct hisi_ptt_tune {
	struct device_attribute attr;
	u16 code;
	u8 sub;
};

/* The device */

/* Waits until no operation is in progress. */
static int hisi_ptt_tune_wait(struct hisi_ptt *ptt)
{
	u32 status;
	int ret;

	ret = readl_poll_timeout(ptt->base + HISI_PTT_TUNING_INT_STAT, status,
				 !(status & HISI_PTT_TUNING_INT_STAT_BUSY),
				 HISI_PTT_TUNE_POLL_US, HISI_PTT_TUNE_TIMEOUT_US);
	if (ret)
		pmukit_stat_inc(&ptt->pp, PMUKIT_STAT_TIMEOUTS);
	return ret;
}

/*
 * One operation: select the event, write @data, wait until the device is done. A previous operation
 * that timed out may still be in progress: wait for its end first, and ignore its result.
 */
static int hisi_ptt_tune_operate(struct hisi_ptt *ptt, const struct hisi_ptt_tune *tune,
				 u32 data, u16 *result)
{
	int ret;

	lockdep_assert_held(&ptt->tune_mutex);

	if (ptt->tune_gone || hisi_ptt_absent(hisi_ptt_read(ptt, HISI_PTT_TUNING_INT_STAT)))
		return -ENODEV;
	ret = hisi_ptt_tune_wait(ptt);
	if (ret)
		return ret;

	hisi_ptt_write(ptt, HISI_PTT_TUNING_CTRL,
		       hisi_ptt_tune_ctrl(hisi_ptt_read(ptt, HISI_PTT_TUNING_CTRL), tune->code,
					  tune->sub));
	hisi_ptt_write(ptt, HISI_PTT_TUNING_DATA, data);
	ret = hisi_ptt_tune_wait(ptt);
	if (ret)
		return ret;

	*result = FIELD_GET(HISI_PTT_TUNING_DATA_VALUE, hisi_ptt_read(ptt, HISI_PTT_TUNING_DATA));
	return 0;
}

static int hisi_ptt_tune(struct device *dev, struct device_attribute *attr, u32 data, u16 *result)
{
	struct hisi_ptt *ptt = to_hisi_ptt(to_pmukit_pmu(dev_get_drvdata(dev)));
	int ret;

	mutex_lock(&ptt->tune_mutex);
	ret = hisi_ptt_tune_operate(ptt, container_of(attr, struct hisi_ptt_tune, attr), data,
				    result);
	mutex_unlock(&ptt->tune_mutex);
	return ret;
}

/* The files */

static ssize_t hisi_ptt_tune_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u16 value;
	int ret;

	ret = hisi_ptt_tune(dev, attr, HISI_PTT_TUNING_DATA_READ, &value);
	return ret ? ret : sysfs_emit(buf, "%u\n", value);
}

/* A number that does not fit in 64 bits is also clamped to the highest level. */
static ssize_t hisi_ptt_tune_store(struct device *dev, struct device_attribute *attr,
				   const char *buf, size_t count)
{
	u16 ignored;
	u64 value;
	int ret;

	ret = kstrtou64(buf, 10, &value);
	if (ret == -ERANGE)
		value = U64_MAX;
	else if (ret)
		return ret;

	ret = hisi_ptt_tune(dev, attr, hisi_ptt_tune_level(value), &ignored);
	return ret ? ret : count;
}

#define HISI_PTT_TUNE(_name, _code, _sub)					\
	static struct hisi_ptt_tune hisi_ptt_tune_##_name = {			\
		.attr = __ATTR(_name, 0600, hisi_ptt_tune_show, hisi_ptt_tune_store), \
		.code = _code,							\
		.sub = _sub,							\
	}

HISI_PTT_TUNE(qos_tx_cpl,			0x4, 3);
HISI_PTT_TUNE(qos_tx_np,			0x4, 4);
HISI_PTT_TUNE(qos_tx_p,				0x4, 5);
HISI_PTT_TUNE(rx_alloc_buf_level,		0x5, 6);
HISI_PTT_TUNE(tx_path_rx_req_alloc_buf_level,	0x5, 6);
HISI_PTT_TUNE(tx_alloc_buf_level,		0x5, 7);
HISI_PTT_TUNE(tx_path_tx_req_alloc_buf_level,	0x5, 7);

static struct attribute *hisi_ptt_tune_attrs[] = {
	&hisi_ptt_tune_qos_tx_cpl.attr.attr,
	&hisi_ptt_tune_qos_tx_np.attr.attr,
	&hisi_ptt_tune_qos_tx_p.attr.attr,
	&hisi_ptt_tune_rx_alloc_buf_level.attr.attr,
	&hisi_ptt_tune_tx_path_rx_req_alloc_buf_level.attr.attr,
	&hisi_ptt_tune_tx_alloc_buf_level.attr.attr,
	&hisi_ptt_tune_tx_path_tx_req_alloc_buf_level.attr.attr,
	NULL
};

const struct attribute_group hisi_ptt_tune_group = {
	.name = "tune",
	.attrs = hisi_ptt_tune_attrs,
};
