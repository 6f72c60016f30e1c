/* SPDX-License-Identifier: GPL-2.0-only */
/* PCI functions in sysfs. The C functions return 0 or -errno unless documented otherwise. */
#ifndef PMUKIT_SELFTESTS_PCI_FUNCTION_H
#define PMUKIT_SELFTESTS_PCI_FUNCTION_H

#include <linux/types.h>
#include <stddef.h>

#define PCI_NAME_BYTES	32	/* enough for a name such as 0000:00:18.0 */

/*
 * Finds the index-th function, from 0, with this vendor and device, in the order of PCI addresses.
 * Returns -ENODEV if it does not exist.
 */
int pci_find(unsigned int vendor, unsigned int device, unsigned int index,
	     char name[PCI_NAME_BYTES]);
/* Writes text to a sysfs file of the function, such as remove, reset or enable. */
int pci_write(const char *name, const char *file, const char *text);
/* Maps a BAR for reads and writes; NULL on failure. */
void *pci_map(const char *name, unsigned int bar, size_t *bytes);
int pci_rescan(void);
/*
 * Sets bits of the command register, as a driver would: PCI_COMMAND_MEMORY, which enables the
 * memory BARs, and others.
 */
int pci_command(const char *name, unsigned int bits);

/* Makes exactly one access, of 1, 2, 4 or 8 bytes. */
__u64 pci_load(const volatile void *at, unsigned long width);
void pci_store(volatile void *at, unsigned long width, __u64 value);

#endif
