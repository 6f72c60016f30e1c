// SPDX-License-Identifier: GPL-2.0-only
/*
 * uncore_pmon: properties of each unit type, and the named events; all data that is specific to a
 * unit type is here. Documentation/devices/uncore_pmon.rst lists the sources. No kernel calls.
 */

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/types.h>

#include "uncore_pmon_core.h"

/* Types of units */

enum {
	UNCORE_PMON_CHA		= UNCORE_PMON_TYPE_CHA,
	UNCORE_PMON_IIO		= 1,
	UNCORE_PMON_IRP		= 2,
	UNCORE_PMON_M2PCIE	= 3,
	UNCORE_PMON_PCU		= 4,
	UNCORE_PMON_UBOX	= 5,
	UNCORE_PMON_IMC		= 6,
	UNCORE_PMON_M2M		= 7,
	UNCORE_PMON_UPI		= 8,
	UNCORE_PMON_M3UPI	= 9,
	UNCORE_PMON_MDF		= 11,
	UNCORE_PMON_CXLCM	= 12,
	UNCORE_PMON_CXLDP	= 13,
	UNCORE_PMON_HBM		= 14,
	UNCORE_PMON_B2HOT	= 15,
	UNCORE_PMON_B2CMI	= 16,
	UNCORE_PMON_B2CXL	= 17,
	UNCORE_PMON_B2UPI	= 18,
	UNCORE_PMON_MDF_SBO	= 20,
	UNCORE_PMON_PCIEX16	= 21,
	UNCORE_PMON_PCIEX8	= 22,
};

#define SPR	BIT(UNCORE_PMON_SPR)
#define GNR	BIT(UNCORE_PMON_GNR)

static const struct uncore_pmon_constraint uncore_pmon_cha_constraints[] = {
	{ .event = 0x11, .counters = 0x01 },
	{ .event = 0x36, .counters = 0x01 },
	{}
};

static const struct uncore_pmon_constraint uncore_pmon_iio_constraints[] = {
	{ .event = 0x02, .counters = 0x03 },
	{ .event = 0x03, .counters = 0x03 },
	{ .event = 0x83, .counters = 0x03 },
	{ .event = 0x88, .counters = 0x0c },
	{ .event = 0xc0, .counters = 0x0c },
	{ .event = 0xc5, .counters = 0x0c },
	{ .event = 0xd5, .counters = 0x0c },
	{}
};

static const struct uncore_pmon_constraint uncore_pmon_m3upi_constraints[] = {
	{ .event = 0x1c, .counters = 0x01 },
	{ .event = 0x1d, .counters = 0x01 },
	{ .event = 0x1e, .counters = 0x01 },
	{ .event = 0x1f, .counters = 0x01 },
	{ .event = 0x40, .counters = 0x07 },
	{ .event = 0x4e, .counters = 0x07 },
	{ .event = 0x4f, .counters = 0x07 },
	{ .event = 0x50, .counters = 0x07 },
	{}
};

static const struct uncore_pmon_constraint uncore_pmon_cxlcm_constraints[] = {
	{ .event = 0x02, .counters = 0x0f },
	{ .event = 0x05, .counters = 0x0f },
	{ .event = 0x40, .counters = 0xf0 },
	{ .event = 0x41, .counters = 0xf0 },
	{ .event = 0x42, .counters = 0xf0 },
	{ .event = 0x43, .counters = 0xf0 },
	{ .event = 0x4b, .counters = 0xf0 },
	{ .event = 0x52, .counters = 0xf0 },
	{}
};

static const struct uncore_pmon_constraint uncore_pmon_m2pcie_constraints[] = {
	{ .event = 0x14, .counters = 0x03 },
	{ .event = 0x2d, .counters = 0x03 },
	{}
};

/*
 * Types of units of Sapphire Rapids, Emerald Rapids, Granite Rapids and Sierra Forest; each type
 * number has the same meaning on all of them. Controls of MMIO units are 4 bytes apart, controls of
 * CXL units 8 bytes.
 */
static const struct uncore_pmon_type uncore_pmon_types[] = {
	{ .id = UNCORE_PMON_CHA,	.name = "cha",		.control_step = 4,
	  .more = UNCORE_PMON_CONTROL_UMASK_CHA, .constraints = uncore_pmon_cha_constraints },
	{ .id = UNCORE_PMON_IIO,	.name = "iio",		.control_step = 4,
	  .more = UNCORE_PMON_CONTROL_IIO, .constraints = uncore_pmon_iio_constraints },
	{ .id = UNCORE_PMON_IRP,	.name = "irp",		.control_step = 4 },
	{ .id = UNCORE_PMON_M2PCIE,	.name = "m2pcie",	.control_step = 4,
	  .constraints = uncore_pmon_m2pcie_constraints },
	{ .id = UNCORE_PMON_PCU,	.name = "pcu",		.control_step = 4 },
	{ .id = UNCORE_PMON_UBOX,	.name = "ubox",		.control_step = 4 },
	{ .id = UNCORE_PMON_IMC,	.name = "imc",		.control_step = 4,
	  .fixed = true, .free_running = true },
	{ .id = UNCORE_PMON_M2M,	.name = "m2m",		.control_step = 4 },
	{ .id = UNCORE_PMON_UPI,	.name = "upi",		.control_step = 4,
	  .misplaced = SPR },
	{ .id = UNCORE_PMON_M3UPI,	.name = "m3upi",	.control_step = 4,
	  .misplaced = SPR, .constraints = uncore_pmon_m3upi_constraints },
	{ .id = UNCORE_PMON_MDF,	.name = "mdf",		.control_step = 4 },
	{ .id = UNCORE_PMON_CXLCM,	.name = "cxlcm",	.control_step = 8,
	  .constraints = uncore_pmon_cxlcm_constraints },
	{ .id = UNCORE_PMON_CXLDP,	.name = "cxldp",	.control_step = 8 },
	{ .id = UNCORE_PMON_HBM,	.name = "hbm",		.control_step = 4 },
	{ .id = UNCORE_PMON_B2HOT,	.name = "b2hot",	.control_step = 4 },
	{ .id = UNCORE_PMON_B2CMI,	.name = "b2cmi",	.control_step = 4 },
	{ .id = UNCORE_PMON_B2CXL,	.name = "b2cxl",	.control_step = 8 },
	{ .id = UNCORE_PMON_B2UPI,	.name = "b2upi",	.control_step = 4 },
	{ .id = UNCORE_PMON_MDF_SBO,	.name = "mdf_sbo",	.control_step = 4 },
	{ .id = UNCORE_PMON_PCIEX16,	.name = "pciex16",	.control_step = 4 },
	{ .id = UNCORE_PMON_PCIEX8,	.name = "pciex8",	.control_step = 4 },
	{}
};

/**
 * uncore_pmon_type_find - find a unit type
 * @id: number of the type in the table
 *
 * Return: the type, or NULL if it is unknown.
 */
const struct uncore_pmon_type *uncore_pmon_type_find(u16 id)
{
	const struct uncore_pmon_type *type;

	for (type = uncore_pmon_types; type->name; type++) {
		if (type->id == id)
			return type;
	}
	return NULL;
}

/*
 * UPI and M3UPI links of Sapphire and Emerald Rapids, whose addresses in the table are wrong. The
 * PCI function of the first link has a known device id; each further link is in the next PCI device
 * of the bus.
 */
struct uncore_pmon_first_link {
	u16 device;
	u16 type;
	u16 box_control;
	u8 devfn;
};

static const struct uncore_pmon_first_link uncore_pmon_first_links[] = {
	{ .device = 0x3241, .devfn = 0x09, .type = UNCORE_PMON_UPI,	.box_control = 0x318 },
	{ .device = 0x3246, .devfn = 0x29, .type = UNCORE_PMON_M3UPI,	.box_control = 0x0a0 },
	{}
};

#define UNCORE_PMON_NEXT_DEVICE		8	/* difference in devfn */

/**
 * uncore_pmon_links - the units that replace the link entries of a table
 * @device: device id of a PCI function
 * @domain: PCI domain of the function
 * @bus: bus of the function
 * @devfn: device and function number of the function
 * @entries: UNCORE_PMON_MAX_LINKS entries, filled in; the functions of the links need not exist
 *
 * Return: false if the function is not the function of the first UPI or M3UPI link.
 */
bool uncore_pmon_links(u16 device, u32 domain, u8 bus, u8 devfn,
		       struct uncore_pmon_entry *entries)
{
	const struct uncore_pmon_first_link *first = uncore_pmon_first_links;
	u32 i;

	while (first->device && (first->device != device || first->devfn != devfn))
		first++;
	if (!first->device || domain > FIELD_GET(UNCORE_PMON_PCI_DOMAIN, ~0ULL))
		return false;
	for (i = 0; i < UNCORE_PMON_MAX_LINKS; i++) {
		entries[i] = (struct uncore_pmon_entry) {
			.used = true,
			.unit = {
				.box_control =
					FIELD_PREP(UNCORE_PMON_PCI_DOMAIN, domain) |
					FIELD_PREP(UNCORE_PMON_PCI_BUS, bus) |
					FIELD_PREP(UNCORE_PMON_PCI_DEVFN,
						   devfn + i * UNCORE_PMON_NEXT_DEVICE) |
					first->box_control,
				.type = first->type,
				.id = i,
				.access = UNCORE_PMON_ACCESS_PCI,
				.counters = 4,
				.width_bits = 48,
				.control_offset = 0x38,
				.counter_offset = 0x08,
				.control_step = 8,
				.counter_step = 8,
			},
		};
	}
	return true;
}

/* Events */

#define EVENT(_platforms, _type, _name, _event, _umask)				\
	{ .name = _name, .umask = _umask, .type = UNCORE_PMON_##_type,		\
	  .event = _event, .platforms = _platforms, .meaning = UNCORE_PMON_OCCURRENCES }

#define LINES(_platforms, _type, _name, _event, _umask)				\
	{ .name = _name, .umask = _umask, .type = UNCORE_PMON_##_type,		\
	  .event = _event, .platforms = _platforms, .meaning = UNCORE_PMON_LINES }

const struct uncore_pmon_named_event uncore_pmon_named_events[] = {
	EVENT(SPR | GNR, CHA, "clockticks",		0x01, 0x00),
	EVENT(SPR, CHA, "tor_inserts_ia_hit_cxl_acc",	0x35, 0x10c0018101),
	EVENT(SPR, CHA, "tor_inserts_ia_miss_cxl_acc",	0x35, 0x10c0018201),
	EVENT(SPR, CHA, "tor_inserts_ia_miss_drd_cxl_acc",	0x35, 0x10c8178201),
	EVENT(SPR, CHA, "tor_inserts_ia_miss_rfo_cxl_acc",	0x35, 0x10c8078201),

	EVENT(SPR | GNR, IMC, "clockticks",		0x01, 0x00),
	EVENT(SPR | GNR, IMC, "dclk",			0x01, 0x01),
	LINES(SPR, IMC, "cas_count_read",		0x05, 0xcf),
	LINES(SPR, IMC, "cas_count_write",		0x05, 0xf0),
	LINES(SPR, IMC, "cas_count_all",		0x05, 0xff),
	LINES(SPR, IMC, "cas_count_rd_reg",		0x05, 0xc1),
	LINES(SPR, IMC, "cas_count_rd_underfill",	0x05, 0xc4),
	LINES(SPR, IMC, "cas_count_wr_nonpre",		0x05, 0xd0),
	LINES(SPR, IMC, "cas_count_wr_pre",		0x05, 0xe0),
	EVENT(SPR, IMC, "act_count_all",		0x02, 0xff),
	EVENT(SPR, IMC, "pre_count_rd",			0x03, 0x11),
	EVENT(SPR, IMC, "pre_count_wr",			0x03, 0x22),
	EVENT(SPR, IMC, "pre_count_pgt",		0x03, 0x88),
	EVENT(SPR, IMC, "rpq_inserts_pch0",		0x10, 0x01),
	EVENT(SPR, IMC, "rpq_inserts_pch1",		0x10, 0x02),
	EVENT(SPR, IMC, "wpq_inserts_pch0",		0x20, 0x01),
	EVENT(SPR, IMC, "wpq_inserts_pch1",		0x20, 0x02),
	EVENT(SPR, IMC, "rpq_occupancy_pch0",		0x80, 0x00),
	EVENT(SPR, IMC, "rpq_occupancy_pch1",		0x81, 0x00),
	EVENT(SPR, IMC, "wpq_occupancy_pch0",		0x82, 0x00),
	EVENT(SPR, IMC, "wpq_occupancy_pch1",		0x83, 0x00),
	EVENT(SPR | GNR, IMC, "fixed_clockticks",	0xff, 0x00),
	EVENT(SPR, IMC, "free_dclk",			0xff, 0x10),
	EVENT(SPR, IMC, "free_rpq_cycles",		0xff, 0x20),
	EVENT(SPR, IMC, "free_wpq_cycles",		0xff, 0x21),

	LINES(GNR, IMC, "cas_count_read_sch0",		0x05, 0xcf),
	LINES(GNR, IMC, "cas_count_read_sch1",		0x06, 0xcf),
	LINES(GNR, IMC, "cas_count_write_sch0",		0x05, 0xf0),
	LINES(GNR, IMC, "cas_count_write_sch1",		0x06, 0xf0),
	EVENT(GNR, IMC, "rpq_inserts_pch0",		0x10, 0x50),
	EVENT(GNR, IMC, "rpq_inserts_pch1",		0x10, 0xa0),
	EVENT(GNR, IMC, "wpq_inserts_pch0",		0x22, 0x50),
	EVENT(GNR, IMC, "wpq_inserts_pch1",		0x22, 0xa0),
	EVENT(GNR, IMC, "rpq_inserts_sch0_pch0",	0x10, 0x10),
	EVENT(GNR, IMC, "rpq_inserts_sch0_pch1",	0x10, 0x20),
	EVENT(GNR, IMC, "rpq_inserts_sch1_pch0",	0x10, 0x40),
	EVENT(GNR, IMC, "rpq_inserts_sch1_pch1",	0x10, 0x80),
	EVENT(GNR, IMC, "wpq_inserts_sch0_pch0",	0x22, 0x10),
	EVENT(GNR, IMC, "wpq_inserts_sch0_pch1",	0x22, 0x20),
	EVENT(GNR, IMC, "wpq_inserts_sch1_pch0",	0x22, 0x40),
	EVENT(GNR, IMC, "wpq_inserts_sch1_pch1",	0x22, 0x80),
	EVENT(GNR, IMC, "rpq_occupancy_sch0_pch0",	0x80, 0x00),
	EVENT(GNR, IMC, "rpq_occupancy_sch0_pch1",	0x81, 0x00),
	EVENT(GNR, IMC, "rpq_occupancy_sch1_pch0",	0x82, 0x00),
	EVENT(GNR, IMC, "rpq_occupancy_sch1_pch1",	0x83, 0x00),
	EVENT(GNR, IMC, "wpq_occupancy_sch0_pch0",	0x84, 0x00),
	EVENT(GNR, IMC, "wpq_occupancy_sch0_pch1",	0x85, 0x00),
	EVENT(GNR, IMC, "wpq_occupancy_sch1_pch0",	0x86, 0x00),
	EVENT(GNR, IMC, "wpq_occupancy_sch1_pch1",	0x87, 0x00),

	LINES(SPR, HBM, "cas_count_read",		0x05, 0xcf),
	LINES(SPR, HBM, "cas_count_write",		0x05, 0xf0),

	EVENT(SPR | GNR, CXLCM, "clockticks",		0x01, 0x02),
	LINES(SPR | GNR, CXLCM, "rxc_pack_buf_inserts_mem_data",	0x41, 0x10),
	EVENT(SPR | GNR, CXLCM, "rxc_pack_buf_inserts_mem_req",	0x41, 0x08),
	LINES(SPR | GNR, CXLCM, "txc_pack_buf_inserts_mem_data",	0x02, 0x10),
	EVENT(SPR | GNR, CXLCM, "txc_pack_buf_inserts_mem_req",	0x02, 0x08),
	EVENT(SPR, CXLCM, "rxc_flits_valid",		0x4b, 0x01),
	EVENT(SPR, CXLCM, "rxc_flits_prot",		0x4b, 0x02),
	EVENT(SPR, CXLCM, "rxc_misc_retry",		0x40, 0x02),
	EVENT(SPR, CXLCM, "rxc_misc_crc_errors",	0x40, 0x08),
	EVENT(SPR, CXLCM, "rxc_agf_inserts_mem_data",	0x43, 0x20),
	EVENT(SPR, CXLCM, "rxc_agf_inserts_mem_req",	0x43, 0x10),
	EVENT(SPR, CXLCM, "rxc_pack_buf_ne_mem_data",	0x42, 0x10),
	EVENT(SPR, CXLCM, "rxc_pack_buf_ne_mem_req",	0x42, 0x08),
	EVENT(SPR, CXLCM, "rxc_pack_buf_full_mem_data",	0x52, 0x10),
	EVENT(SPR, CXLCM, "rxc_pack_buf_full_mem_req",	0x52, 0x08),
	EVENT(SPR, CXLCM, "txc_flits_valid",		0x05, 0x01),
	EVENT(SPR, CXLCM, "txc_flits_prot",		0x05, 0x02),

	EVENT(SPR | GNR, CXLDP, "clockticks",		0x01, 0x01),
	EVENT(SPR | GNR, CXLDP, "txc_agf_inserts_m2s_req",	0x02, 0x10),
	LINES(SPR | GNR, CXLDP, "txc_agf_inserts_m2s_data",	0x02, 0x20),
	EVENT(SPR, CXLDP, "txc_agf_inserts_u2c_req",	0x02, 0x01),
	EVENT(SPR, CXLDP, "txc_agf_inserts_u2c_rsp0",	0x02, 0x02),
	EVENT(SPR, CXLDP, "txc_agf_inserts_u2c_rsp1",	0x02, 0x04),
	EVENT(SPR, CXLDP, "txc_agf_inserts_u2c_data",	0x02, 0x08),

	EVENT(GNR, B2CXL, "clockticks",			0x01, 0x00),

	EVENT(SPR, M2M, "clockticks",			0x01, 0x00),
	LINES(SPR, M2M, "imc_reads_all",		0x24, 0x304),
	LINES(SPR, M2M, "imc_writes_all",		0x25, 0x1810),

	EVENT(GNR, B2CMI, "clockticks",			0x01, 0x00),
	LINES(GNR, B2CMI, "imc_reads_all",		0x24, 0x104),
	LINES(GNR, B2CMI, "imc_writes_all",		0x25, 0x110),

	EVENT(SPR | GNR, UPI, "clockticks",		0x01, 0x00),
	EVENT(SPR | GNR, UPI, "txl_flits_all_data",	0x02, 0x0f),
	EVENT(SPR | GNR, UPI, "rxl_flits_all_data",	0x03, 0x0f),
	EVENT(SPR | GNR, UPI, "l1_power_cycles",	0x21, 0x00),

	EVENT(SPR | GNR, PCU, "clockticks",		0x01, 0x00),
	EVENT(SPR | GNR, PCU, "freq_max_limit_thermal_cycles",	0x04, 0x00),
	EVENT(SPR | GNR, PCU, "freq_max_power_cycles",	0x05, 0x00),
	EVENT(SPR | GNR, PCU, "prochot_internal_cycles",	0x09, 0x00),
	EVENT(SPR | GNR, PCU, "prochot_external_cycles",	0x0a, 0x00),
	EVENT(SPR | GNR, PCU, "freq_trans_cycles",	0x74, 0x00),
	EVENT(SPR | GNR, PCU, "pkg_residency_c2e_cycles",	0x2b, 0x00),
	EVENT(SPR | GNR, PCU, "pkg_residency_c6_cycles",	0x2d, 0x00),
	EVENT(SPR | GNR, PCU, "power_state_occupancy_cores_c0",	0x35, 0x00),
	EVENT(SPR | GNR, PCU, "power_state_occupancy_cores_c3",	0x36, 0x00),
	EVENT(SPR | GNR, PCU, "power_state_occupancy_cores_c6",	0x37, 0x00),

	EVENT(SPR | GNR, UBOX, "event_msg_vlw_rcvd",	0x42, 0x01),
	EVENT(SPR | GNR, UBOX, "event_msg_msi_rcvd",	0x42, 0x02),
	EVENT(SPR | GNR, UBOX, "event_msg_ipi_rcvd",	0x42, 0x04),
	EVENT(SPR | GNR, UBOX, "event_msg_doorbell_rcvd",	0x42, 0x08),
	EVENT(SPR | GNR, UBOX, "event_msg_int_prio",	0x42, 0x10),
	{}
};

/**
 * uncore_pmon_event_fits - test for a named event of a unit
 * @event: the event
 * @unit: the unit
 * @platform: platform of the unit
 *
 * Return: true if the unit has the event.
 */
bool uncore_pmon_event_fits(const struct uncore_pmon_named_event *event,
			    const struct uncore_pmon_unit *unit,
			    enum uncore_pmon_platform platform)
{
	if (event->type != unit->type || !(event->platforms & BIT(platform)))
		return false;
	if (event->event != UNCORE_PMON_EVENT_SPECIAL)
		return true;
	return event->umask ? uncore_pmon_has_free(unit, platform) :
			      uncore_pmon_has_fixed(unit, platform);
}
