/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What selftests do to the machine around a PMU: modules, CPUs, the kernel's log. Functions return
 * 0 or -errno unless they say otherwise.
 */
#ifndef PMUKIT_SELFTESTS_PMU_MACHINE_H
#define PMUKIT_SELFTESTS_PMU_MACHINE_H

#include <stdbool.h>

int module_load(const char *file);
int module_load_with(const char *file, const char *parameters);
/* The last reference may go a moment after the last close, so it is tried for a while. */
int module_unload(const char *name);
/* Just once: -EWOULDBLOCK while it is in use. */
int module_try_unload(const char *name);

/*
 * A module, the file it is loaded from and its parameters; on a command line
 * "MODULE=FILE[ PARAMETERS]"
 */
struct module {
	char name[160], file[160];
	const char *parameters;	/* in the text that it was read from */
};

bool module_parse(struct module *module, const char *text);

/*
 * online is "0" or "1". -ENOENT: this CPU cannot be switched; x86 keeps its first. The kernel
 * refuses for a moment while a PCI driver probes or, before Linux 6.15, a PMU leaves; then it is
 * tried again for a while.
 */
int cpu_set_online(int cpu, const char *online);

/*
 * On the console, which vmrun reads: "end model", "plug device", "unplug device". What comes of it
 * has to be seen.
 */
int ask_vmrun(const char *verb_and_noun, int number);

/* Waits some seconds for a file to come or to go: -ETIMEDOUT. */
int wait_for_file(const char *path, bool there);

long long now_ms(void);

/* A file descriptor behind the last line of the kernel's log, or -errno. */
int log_open(void);
/* How many lines since the last call are wanted. */
int log_count(int log, bool (*wanted)(const char *line, const void *data), const void *data);

/* How often the interrupt came that has both of these names; -1: there is none. */
long long interrupts_of(const char *first, const char *second);

/* The position of a word among words with blanks between them, or -1; words may be NULL. */
int index_of_word(const char *words, const char *word);

#endif
