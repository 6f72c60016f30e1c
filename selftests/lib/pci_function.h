/* SPDX-License-Identifier: GPL-2.0-only */
/* PCI functions as sysfs has them. Functions return 0 or -errno unless they say otherwise. */
#ifndef PMUKIT_SELFTESTS_PCI_FUNCTION_H
#define PMUKIT_SELFTESTS_PCI_FUNCTION_H

#include <linux/types.h>
#include <stddef.h>

#define PCI_NAME_BYTES	32	/* of 0000:00:18.0 */

/*
 * The function number index, in the order of PCI addresses, of this vendor and device; -ENODEV when
 * there is none.
 */
int pci_find(unsigned int vendor, unsigned int device, unsigned int index,
	     char name[PCI_NAME_BYTES]);
/* Writes a word to a file of the function's: remove, reset, enable. */
int pci_write(const char *name, const char *file, const char *text);
/* A BAR, mapped to be read and written; NULL when that is not possible. */
void *pci_map(const char *name, unsigned int bar, size_t *bytes);
int pci_rescan(void);
/*
 * Sets bits of the command register, as a driver would: PCI_COMMAND_MEMORY, without which no BAR
 * answers, and others.
 */
int pci_command(const char *name, unsigned int bits);

/* Exactly one access of the processor, of 1, 2, 4 or 8 bytes. */
__u64 pci_load(const volatile void *at, unsigned long width);
void pci_store(volatile void *at, unsigned long width, __u64 value);

#endif
