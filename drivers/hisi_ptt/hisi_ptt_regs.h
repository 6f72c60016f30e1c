/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HiSilicon PCIe tune and trace: registers of BAR 2, all 32 bits wide. There is no public manual;
 * Documentation/devices/hisi_ptt.rst has what is known.
 */
#ifndef HISI_PTT_REGS_H
#define HISI_PTT_REGS_H

#include <linux/bits.h>

#define HISI_PTT_PCI_VENDOR		0x19e5
#define HISI_PTT_PCI_DEVICE		0xa12e
#define HISI_PTT_BAR			2
#define HISI_PTT_REGS_BYTES		0x0fec	/* up to the end of LOCATION */

/* Tune */
#define HISI_PTT_TUNING_CTRL		0x0000	/* RW */
#define   HISI_PTT_TUNING_CTRL_CODE	GENMASK(15, 0)
#define   HISI_PTT_TUNING_CTRL_SUB	GENMASK(23, 16)
#define HISI_PTT_TUNING_DATA		0x0004	/* RW */
#define   HISI_PTT_TUNING_DATA_VALUE	GENMASK(15, 0)
#define   HISI_PTT_TUNING_DATA_READ	0xffffffff	/* writing this requests a read */
#define HISI_PTT_TUNING_INT_STAT	0x0898	/* RO */
#define   HISI_PTT_TUNING_INT_STAT_BUSY	BIT(0)

/* Trace: four buffers, written round-robin */
#define HISI_PTT_NR_BUFFERS		4
#define HISI_PTT_TRACE_ADDR_SIZE	0x0800	/* RW, bytes of each buffer */
#define HISI_PTT_TRACE_ADDR_BASE_LO	0x0810	/* RW */
#define HISI_PTT_TRACE_ADDR_BASE_HI	0x0814	/* RW */
#define HISI_PTT_TRACE_ADDR_STRIDE	8	/* between the LO/HI pairs of two buffers */
#define HISI_PTT_TRACE_CTRL		0x0850	/* RW */
#define   HISI_PTT_TRACE_CTRL_EN	BIT(0)
#define   HISI_PTT_TRACE_CTRL_RST	BIT(1)
#define   HISI_PTT_TRACE_CTRL_RXTX	GENMASK(3, 2)
#define   HISI_PTT_TRACE_CTRL_TYPE	GENMASK(7, 4)
#define   HISI_PTT_TRACE_CTRL_8DW	BIT(14)
#define   HISI_PTT_TRACE_CTRL_BY_ID	BIT(15)	/* the target is a requester ID */
#define   HISI_PTT_TRACE_CTRL_TARGET	GENMASK(31, 16)
#define HISI_PTT_TRACE_INT_STAT		0x0890	/* RW1C */
#define   HISI_PTT_TRACE_INT_FULL	GENMASK(3, 0)	/* one bit per buffer, also in INT_MASK */
#define HISI_PTT_TRACE_INT_MASK		0x0894	/* RW, 1: masked */
#define HISI_PTT_TRACE_WR_STS		0x08a0	/* RO, all 0 once a reset is done */
#define   HISI_PTT_TRACE_WR_STS_BYTES	GENMASK(27, 0)
#define   HISI_PTT_TRACE_WR_STS_BUFFER	GENMASK(29, 28)
#define HISI_PTT_TRACE_STS		0x08b0	/* RO */
#define   HISI_PTT_TRACE_STS_IDLE	BIT(0)

/* Location */
#define HISI_PTT_DEVICE_RANGE		0x0fe0	/* RO, first and last root port served */
#define   HISI_PTT_DEVICE_RANGE_LOWER	GENMASK(15, 0)
#define   HISI_PTT_DEVICE_RANGE_UPPER	GENMASK(31, 16)
#define HISI_PTT_LOCATION		0x0fe8	/* RO */
#define   HISI_PTT_LOCATION_CORE	GENMASK(15, 0)
#define   HISI_PTT_LOCATION_SICL	GENMASK(31, 16)

/* An entry */
#define HISI_PTT_ENTRY_BYTES_4DW	16
#define HISI_PTT_ENTRY_BYTES_8DW	32

#endif /* HISI_PTT_REGS_H */
