/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations of selftests on the machine: modules, CPUs, the kernel log. Functions return 0 or
 * -errno unless documented otherwise.
 */
#ifndef PMUKIT_SELFTESTS_PMU_MACHINE_H
#define PMUKIT_SELFTESTS_PMU_MACHINE_H

#include <stdbool.h>

int module_load(const char *file);
int module_load_with(const char *file, const char *parameters);
/* Retries for a while, as the last reference may be dropped a moment after the last close. */
int module_unload(const char *name);
/* Tries once: -EWOULDBLOCK while the module is in use. */
int module_try_unload(const char *name);

/*
 * A module, the file it is loaded from and its parameters; on a command line
 * "MODULE=FILE[ PARAMETERS]"
 */
struct module {
	char name[160], file[160];
	const char *parameters;	/* points into the parsed text */
};

bool module_parse(struct module *module, const char *text);

/*
 * online is "0" or "1". -ENOENT: this CPU is always online, as the first one on x86. The kernel
 * returns -EBUSY while a PCI driver probes or, before Linux 6.15, a PMU is unregistered; then the
 * function retries for a while.
 */
int cpu_set_online(int cpu, const char *online);

/*
 * Writes a request to the console, which vmrun reads: "end model", "plug device", "unplug device".
 * There is no reply: the caller must wait for the effect.
 */
int ask_vmrun(const char *verb_and_noun, int number);

/* Waits up to 30 seconds until a file exists, or does not exist: 0 or -ETIMEDOUT. */
int wait_for_file(const char *path, bool there);

long long now_ms(void);

/* A file descriptor at the end of the kernel log, or -errno. */
int log_open(void);
/* Number of lines since the last call for which wanted() returns true. */
int log_count(int log, bool (*wanted)(const char *line, const void *data), const void *data);

/* Count of the interrupt with both names in /proc/interrupts; -1: there is none. */
long long interrupts_of(const char *first, const char *second);

/* Index of a word in a list separated by blanks, or -1; words may be NULL. */
int index_of_word(const char *words, const char *word);

#endif
