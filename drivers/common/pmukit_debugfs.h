/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of PMUs in debugfs, for pmukit_pmu.c only. */
#ifndef PMUKIT_DEBUGFS_H
#define PMUKIT_DEBUGFS_H

struct pmukit_pmu;

void pmukit_debugfs_add(struct pmukit_pmu *pp);
void pmukit_debugfs_remove(struct pmukit_pmu *pp);
void pmukit_debugfs_init(void);
void pmukit_debugfs_exit(void);

#endif /* PMUKIT_DEBUGFS_H */
