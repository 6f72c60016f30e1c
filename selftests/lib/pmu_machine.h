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
/*
 * Retries for a while, because the kernel may drop the last reference to the module a moment after
 * the last event is closed.
 */
int module_unload(const char *name);
/* Tries once. Returns -EWOULDBLOCK if the module is in use. */
int module_try_unload(const char *name);

/*
 * A module, the file it is loaded from and its parameters. Its form on a command line is
 * "MODULE=FILE[ PARAMETERS]".
 */
struct module {
	char name[160], file[160];
	const char *parameters;	/* points into the parsed text */
};

bool module_parse(struct module *module, const char *text);

/*
 * Takes a CPU offline ("0") or online ("1"). Returns -ENOENT if the CPU cannot go offline, such as
 * the first CPU on x86. Retries for a while if the kernel returns -EBUSY, which it does while a PCI
 * driver probes or, before Linux 6.15, while a PMU is unregistered.
 */
int cpu_set_online(int cpu, const char *online);

/*
 * Writes a request to the console, which vmrun, the program that started this virtual machine,
 * reads. verb_and_noun is "end model", "plug device" or "unplug device".
 * There is no reply: the caller must wait for the effect.
 */
int ask_vmrun(const char *verb_and_noun, int number);

/* Waits up to 30 seconds until a file exists, or does not exist. Returns 0 or -ETIMEDOUT. */
int wait_for_file(const char *path, bool there);

long long now_ms(void);

/* Opens the kernel log at its end. Returns the file descriptor, or -errno. */
int log_open(void);
/* Returns the number of lines since the last call for which wanted() returns true. */
int log_count(int log, bool (*wanted)(const char *line, const void *data), const void *data);

/* Returns the count of the interrupt whose line in /proc/interrupts contains both names, or -1. */
long long interrupts_of(const char *first, const char *second);

/* Returns the index of a word in a list separated by blanks, or -1; words may be NULL. */
int index_of_word(const char *words, const char *word);

#endif
