// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc: debugfs. imc/probes is the number of tracepoint probes of this driver that are attached.
 * imc/imc_{cmd,mode,speed,status}_<chip> are words of the nest engines' control blocks, for
 * debugging. Events do not use the files: they start and stop engines through the back-end, as they
 * would through firmware.
 *
 * A control block is memory of the back-end. So the driver removes the files, which waits for
 * accesses in progress, before the back-end is unregistered.
 */

#include <asm/byteorder.h>

#include <linux/debugfs.h>
#include <linux/slab.h>

#include "imc.h"

static int imc_cb_get(void *data, u64 *value)
{
	*value = be64_to_cpu(READ_ONCE(*(__be64 *)data));
	return 0;
}

static int imc_cb_set(void *data, u64 value)
{
	WRITE_ONCE(*(__be64 *)data, cpu_to_be64(value));
	return 0;
}

static int imc_cb_set_speed(void *data, u64 value)
{
	return value <= IMC_CB_SPEED_MAX ? imc_cb_set(data, value) : -EINVAL;
}

DEFINE_DEBUGFS_ATTRIBUTE(imc_cb_status_fops, imc_cb_get, NULL, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(imc_cb_fops, imc_cb_get, imc_cb_set, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(imc_cb_speed_fops, imc_cb_get, imc_cb_set_speed, "%llu\n");

static const struct {
	const char *name;
	u32 offset;
	umode_t mode;
	const struct file_operations *fops;
} imc_cb_words[] = {
	{ "imc_status",	IMC_CB_STATUS,	0400, &imc_cb_status_fops },
	{ "imc_cmd",	IMC_CB_COMMAND,	0600, &imc_cb_fops },
	{ "imc_speed",	IMC_CB_SPEED,	0600, &imc_cb_speed_fops },
	{ "imc_mode",	IMC_CB_MODE,	0600, &imc_cb_fops },
};

static int imc_debugfs_probes(void *data, u64 *value)
{
	const struct imc *imc = data;

	*value = READ_ONCE(imc->probes[IMC_PROBES_TRACE].attached) ? IMC_TRACEPOINTS : 0;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(imc_probes_fops, imc_debugfs_probes, NULL, "%llu\n");

/* All nest units share the control block; its offset is taken from the first unit. */
static const struct imc_unit *imc_nest_unit(const struct imc *imc)
{
	u32 i;

	for (i = 0; i < imc->catalog.nr_units; i++) {
		if (imc->catalog.units[i].type == IMC_TYPE_CHIP)
			return &imc->catalog.units[i];
	}
	return NULL;
}

/**
 * imc_debugfs_add - add the files for probes and control blocks
 * @imc: driver state
 */
void imc_debugfs_add(struct imc *imc)
{
	const struct imc_unit *unit = imc_nest_unit(imc);
	char name[32];
	u32 i, word;

	imc->debugfs = debugfs_create_dir("imc", NULL);
	debugfs_create_file_unsafe("probes", 0400, imc->debugfs, imc, &imc_probes_fops);
	for (i = 0; unit && i < imc->nr_chips; i++) {
		void *block = imc->chips[i].homer + unit->offset + unit->cb_offset;

		for (word = 0; word < ARRAY_SIZE(imc_cb_words); word++) {
			snprintf(name, sizeof(name), "%s_%u", imc_cb_words[word].name,
				 imc->chips[i].id);
			debugfs_create_file_unsafe(name, imc_cb_words[word].mode, imc->debugfs,
						   block + imc_cb_words[word].offset,
						   imc_cb_words[word].fops);
		}
	}
}

/**
 * imc_debugfs_remove - remove the files
 * @imc: driver state
 */
void imc_debugfs_remove(struct imc *imc)
{
	debugfs_remove(imc->debugfs);
}
