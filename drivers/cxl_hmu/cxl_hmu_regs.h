/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CXL Hotness Monitoring Unit: registers of CXL 3.2 section 8.2.8, transcribed by hand.
 * Documentation/devices/cxl_hmu.rst names the source of every row.
 */
#ifndef CXL_HMU_REGS_H
#define CXL_HMU_REGS_H

#include <linux/bits.h>

/* CXL 3.2 section 8.1.12.1: memory controller, CXL memory device, interface of CXL 2.0 and up */
#define CXL_HMU_CLASS_MEMORY		0x050210

/* Memory size: ranges of the device DVSEC (section 8.1.3.8) */
#define CXL_HMU_DVSEC_VENDOR			0x1e98
#define CXL_HMU_DVSEC_DEVICE			0
#define CXL_HMU_DEVICE_RANGE(n)			(0x18 + (n) * 0x10)
#define CXL_HMU_DEVICE_RANGES			2
#define CXL_HMU_DEVICE_SIZE_HIGH		0x00		/* RO, size bits 63:32 */
#define CXL_HMU_DEVICE_SIZE_LOW			0x04		/* RO */
#define   CXL_HMU_DEVICE_SIZE_LOW_VALID		BIT(0)
#define   CXL_HMU_DEVICE_SIZE_LOW_SIZE		GENMASK(31, 28)	/* size bits 31:28, not shifted */

/* Location of the blocks: register locator DVSEC */
#define CXL_HMU_DVSEC_LOCATOR			8
#define CXL_HMU_LOCATOR_HEADER1			0x04		/* RO */
#define   CXL_HMU_LOCATOR_HEADER1_LENGTH	GENMASK(31, 20)	/* bytes of the whole DVSEC */
#define CXL_HMU_LOCATOR_ENTRIES			0x0c
#define CXL_HMU_LOCATOR_ENTRY_BYTES		8
#define CXL_HMU_LOCATOR_LOW			0x00		/* RO */
#define   CXL_HMU_LOCATOR_LOW_BIR		GENMASK(2, 0)
#define   CXL_HMU_LOCATOR_LOW_ID		GENMASK(15, 8)
#define   CXL_HMU_LOCATOR_LOW_OFFSET		GENMASK(31, 16)	/* offset bits 31:16, not shifted */
#define CXL_HMU_LOCATOR_HIGH			0x04		/* RO, offset bits 63:32 */
#define CXL_HMU_LOCATOR_ID_CHMU			5

/* Block, 8-byte accesses */
#define CXL_HMU_COMMON0				0x00		/* RO */
#define   CXL_HMU_COMMON0_VERSION		GENMASK_ULL(3, 0)
#define   CXL_HMU_COMMON0_INSTANCES		GENMASK_ULL(15, 8)
#define CXL_HMU_COMMON1				0x08		/* RO */
#define   CXL_HMU_COMMON1_INSTANCE_BYTES	GENMASK_ULL(15, 0)
#define CXL_HMU_COMMON_BYTES			0x10
#define CXL_HMU_VERSION				1	/* newer versions extend this layout */
#define CXL_HMU_MAX_INSTANCES			8

/* Instance: capability, 8-byte accesses, HwInit */
#define CXL_HMU_CAP0				0x00		/* RO */
#define   CXL_HMU_CAP0_MESSAGE			GENMASK_ULL(3, 0)
#define   CXL_HMU_CAP0_INT_OVERFLOW		BIT_ULL(4)
#define   CXL_HMU_CAP0_INT_LEVEL		BIT_ULL(5)
#define   CXL_HMU_CAP0_EPOCH_TYPE		GENMASK_ULL(7, 6)
#define     CXL_HMU_CAP0_EPOCH_TYPE_PER_COUNTER	1
#define   CXL_HMU_CAP0_ACCESS			GENMASK_ULL(13, 8)	/* bit n: type n + 1 */
#define   CXL_HMU_CAP0_MAX_EPOCH_SCALE		GENMASK_ULL(19, 16)
#define   CXL_HMU_CAP0_MAX_EPOCH_VALUE		GENMASK_ULL(31, 20)
#define   CXL_HMU_CAP0_MIN_EPOCH_SCALE		GENMASK_ULL(35, 32)
#define   CXL_HMU_CAP0_MIN_EPOCH_VALUE		GENMASK_ULL(47, 36)
#define   CXL_HMU_CAP0_LIST_SIZE		GENMASK_ULL(63, 48)
#define CXL_HMU_CAP1				0x08		/* RO */
#define   CXL_HMU_CAP1_UNITS			GENMASK_ULL(31, 0)	/* bit n: 256 bytes << n */
#define   CXL_HMU_CAP1_DOWNSAMPLING		GENMASK_ULL(47, 32)	/* bit n: factor 2^n */
#define   CXL_HMU_CAP1_EPOCH_MODE		BIT_ULL(48)
#define   CXL_HMU_CAP1_ALWAYS_ON		BIT_ULL(49)
#define   CXL_HMU_CAP1_RANDOMIZED		BIT_ULL(50)
#define   CXL_HMU_CAP1_OVERLAP			BIT_ULL(51)
#define   CXL_HMU_CAP1_POSTPONED		BIT_ULL(52)
#define CXL_HMU_CAP2				0x10		/* RO, offset of the range bitmap */
#define CXL_HMU_CAP3				0x18		/* RO, offset of the hot list */
#define CXL_HMU_CAP_QWORDS			4
#define CXL_HMU_UNIT_LOG2_MIN			8		/* 256 bytes */
#define CXL_HMU_NR_UNITS			24		/* 256 bytes .. 2 GiB */

/* Instance: configuration, 8-byte accesses. RW while disabled, else RO except the control bits */
#define CXL_HMU_CFG0				0x40		/* RW */
#define   CXL_HMU_CFG0_ACCESS			GENMASK_ULL(7, 0)
#define   CXL_HMU_CFG0_RANDOMIZED		BIT_ULL(8)
#define   CXL_HMU_CFG0_INT_OVERFLOW		BIT_ULL(9)
#define   CXL_HMU_CFG0_INT_LEVEL		BIT_ULL(10)
#define   CXL_HMU_CFG0_ENABLE			BIT_ULL(16)	/* always RW */
#define   CXL_HMU_CFG0_RESET			BIT_ULL(17)	/* WO, clears itself */
#define   CXL_HMU_CFG0_THRESHOLD		GENMASK_ULL(63, 32)
#define CXL_HMU_CFG1				0x48		/* RW */
#define   CXL_HMU_CFG1_UNIT			GENMASK_ULL(31, 0)	/* log2 bytes */
#define   CXL_HMU_CFG1_DOWNSAMPLING		GENMASK_ULL(35, 32)	/* log2 of the factor */
#define   CXL_HMU_CFG1_MODE			GENMASK_ULL(47, 40)
#define     CXL_HMU_CFG1_MODE_EPOCH		0
#define     CXL_HMU_CFG1_MODE_ALWAYS_ON		1
#define   CXL_HMU_CFG1_EPOCH_SCALE		GENMASK_ULL(51, 48)
#define   CXL_HMU_CFG1_EPOCH_VALUE		GENMASK_ULL(63, 52)
#define CXL_HMU_CFG2				0x50		/* RW */
#define   CXL_HMU_CFG2_NOTIFY			GENMASK_ULL(15, 0)	/* entries */

/* Instance: status, 8-byte accesses */
#define CXL_HMU_STATUS				0x60
#define   CXL_HMU_STATUS_ENABLED		BIT_ULL(0)		/* RO */
#define   CXL_HMU_STATUS_OPERATION		GENMASK_ULL(31, 16)	/* RO, 0: none */
#define   CXL_HMU_STATUS_COUNTER_WIDTH		GENMASK_ULL(39, 32)	/* RO, bits */
#define   CXL_HMU_STATUS_OVERFLOW		BIT_ULL(40)		/* RW1C */
#define   CXL_HMU_STATUS_LEVEL			BIT_ULL(41)		/* RW1C */
/* One of these bits is set until a disable is complete: ENABLED may clear after OPERATION. */
#define   CXL_HMU_STATUS_BUSY			(CXL_HMU_STATUS_OPERATION | CXL_HMU_STATUS_ENABLED)

/* Instance: hot list indices, 2-byte accesses */
#define CXL_HMU_HEAD				0x68		/* RW, oldest unread entry */
#define CXL_HMU_TAIL				0x6a		/* RO, next slot to be written */
#define CXL_HMU_REGS_BYTES			0x70

/* Range bitmap at CAP2 (RW), hot list at CAP3 (RO): 8-byte accesses */
#define CXL_HMU_RANGE_SHIFT			28		/* one bit per 256 MiB */
#define CXL_HMU_ADDRESS_BITS			52		/* CXL address width */

#endif /* CXL_HMU_REGS_H */
