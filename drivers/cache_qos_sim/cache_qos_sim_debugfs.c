// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos_sim: reference counters and fault injection, in /sys/kernel/debug/cache_qos_sim. A line
 * of a file is a list of names, each followed by its value.
 *
 *   reference  cache lines and traffic of each task in each cgroup, independent of registers
 *   domains    size and contents of each L3
 *   cpus       registers of each CPU, and how often they were accessed
 *   rmids      counts of each RMID in each L3, if not all zero
 *   control    write only: takes one command per write
 */

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "cache_qos_sim.h"

#define CACHE_QOS_SIM_COMMAND_BYTES	128
#define CACHE_QOS_SIM_MAX_WORDS		6

static struct dentry *cache_qos_sim_folder;

/* Reference counters */

/* Data of a task, RMID or CPU is copied under the lock, so the fields of a line are consistent. */
static int reference_show(struct seq_file *file, void *unused)
{
	struct cache_qos_sim_live *live = &cache_qos_sim_live;
	struct cache_qos_sim_owner owner;
	struct cache_qos_sim_page page;
	u64 forgotten, untracked;
	unsigned long flags;
	u32 i;

	flags = pmukit_lock(&live->lock);
	cache_qos_sim_advance(live);
	forgotten = live->forgotten_units;
	untracked = live->untracked;
	pmukit_unlock(&live->lock, flags);
	seq_printf(file, "scale %u forgotten %llu untracked %llu\n", cache_qos_sim_unit(&live->sim),
		   forgotten, untracked);
	for (i = 0; i < CACHE_QOS_SIM_NR_PAGES; i++) {
		flags = pmukit_lock(&live->lock);
		page = live->pages[i];
		owner = live->sim.owners[i];
		pmukit_unlock(&live->lock, flags);
		if (page.used || owner.units[0])
			seq_printf(file, "tid %d tgid %d cgroup %llu lines %u total %llu local %llu accesses %llu ns %llu comm %s\n",
				   page.tid, page.tgid, page.cgroup, owner.lines, owner.units[0],
				   owner.units[1], page.accesses, page.ran_ns, page.comm);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(reference);

static int domains_show(struct seq_file *file, void *unused)
{
	struct cache_qos_sim_live *live = &cache_qos_sim_live;
	const struct cache_qos_sim_domain *domain;
	u32 i;

	for (i = 0; i < live->sim.nr_domains; i++) {
		domain = &live->sim.domains[i];
		seq_printf(file, "id %u package %u bytes %llu lines %u valid %u accesses %llu\n",
			   domain->id, domain->package,
			   cache_qos_sim_domain_bytes(&live->sim, domain), domain->nr_lines,
			   READ_ONCE(domain->valid), READ_ONCE(domain->clock));
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(domains);

static int cpus_show(struct seq_file *file, void *unused)
{
	struct cache_qos_sim_live *live = &cache_qos_sim_live;
	struct cache_qos_sim_cpu one;
	unsigned long flags;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		flags = pmukit_lock(&live->lock);
		one = live->sim.cpus[cpu];
		pmukit_unlock(&live->lock, flags);
		seq_printf(file, "cpu %u domain %u pqr %#llx evtsel %#llx pqr_writes %llu evtsel_writes %llu ctr_reads %llu gp %llu\n",
			   cpu, one.domain, one.pqr, one.evtsel, one.pqr_writes,
			   one.evtsel_writes, one.ctr_reads, one.gp);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cpus);

static int rmids_show(struct seq_file *file, void *unused)
{
	struct cache_qos_sim_live *live = &cache_qos_sim_live;
	struct cache_qos_sim_rmid one;
	unsigned long flags;
	u32 i, rmid;

	for (i = 0; i < live->sim.nr_domains; i++) {
		for (rmid = 0; rmid <= live->sim.profile->max_rmid_any; rmid++) {
			flags = pmukit_lock(&live->lock);
			one = live->sim.domains[i].rmids[rmid];
			pmukit_unlock(&live->lock, flags);
			if (one.lines || one.traffic[0].truth)
				seq_printf(file, "domain %u rmid %u lines %u total %llu local %llu\n",
					   i, rmid, one.lines, one.traffic[0].truth,
					   one.traffic[1].truth);
		}
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rmids);

/* Commands; they run under the lock, after simulated time has advanced to now */

static int cache_qos_sim_do_freeze(struct cache_qos_sim_live *live, const s64 *words)
{
	cache_qos_sim_freeze(live, words[0]);
	return 0;
}

static int cache_qos_sim_do_claim(struct cache_qos_sim_live *live, const s64 *words)
{
	WRITE_ONCE(live->claimed, words[0]);
	return 0;
}

static int cache_qos_sim_do_pqr(struct cache_qos_sim_live *live, const s64 *words)
{
	if ((u64)words[0] >= live->sim.nr_cpus)
		return -EINVAL;
	return cache_qos_sim_set_pqr(&live->sim, words[0], words[1]) ? 0 : -EINVAL;
}

static int cache_qos_sim_do_evtsel(struct cache_qos_sim_live *live, const s64 *words)
{
	if ((u64)words[0] >= live->sim.nr_cpus)
		return -EINVAL;
	return cache_qos_sim_set_evtsel(&live->sim, words[0], words[1]) ? 0 : -EINVAL;
}

static int cache_qos_sim_do_flush(struct cache_qos_sim_live *live, const s64 *words)
{
	if ((u64)words[0] >= live->sim.nr_domains)
		return -EINVAL;
	cache_qos_sim_flush(&live->sim, words[0]);
	return 0;
}

static int cache_qos_sim_do_shrink(struct cache_qos_sim_live *live, const s64 *words)
{
	if ((u64)words[0] >= live->sim.nr_domains || (u64)words[1] > 1000)
		return -EINVAL;
	cache_qos_sim_shrink(&live->sim, words[0], words[1]);
	return 0;
}

static int cache_qos_sim_do_pin(struct cache_qos_sim_live *live, const s64 *words)
{
	if ((u64)words[0] >= live->sim.nr_domains)
		return -EINVAL;
	cache_qos_sim_pin(&live->sim, words[0], words[1], words[2]);
	return 0;
}

/* Fills lines without an owner, under the RMID of the CPU, as system management mode does. */
static int cache_qos_sim_do_fill(struct cache_qos_sim_live *live, const s64 *words)
{
	static u64 address = 1ULL << 63;
	struct cache_qos_sim_access access = {};
	s64 i;

	if ((u64)words[0] >= live->sim.nr_cpus || (u64)words[1] > 65536)
		return -EINVAL;
	access.home = live->sim.cpus[words[0]].domain;
	for (i = 0; i < words[1]; i++) {
		access.address = address++;
		cache_qos_sim_touch(&live->sim, words[0], &access);
	}
	return 0;
}

static int cache_qos_sim_do_fault(struct cache_qos_sim_live *live, const s64 *words)
{
	struct cache_qos_sim_fault fault = {
		.kind	= words[0],
		.rmid	= words[1],
		.domain	= words[2],
		.after	= words[3],
		.times	= words[4],
		.value	= words[5],
	};

	if (words[0] <= CACHE_QOS_SIM_FAULT_NONE || words[0] >= CACHE_QOS_SIM_NR_FAULTS)
		return -EINVAL;
	return cache_qos_sim_inject(&live->sim, &fault) ? 0 : -ENOSPC;
}

static int cache_qos_sim_do_calm(struct cache_qos_sim_live *live, const s64 *words)
{
	memset(live->sim.faults, 0, sizeof(live->sim.faults));
	return 0;
}

static const struct cache_qos_sim_command {
	const char *name;
	int nr_words;
	int (*run)(struct cache_qos_sim_live *live, const s64 *words);
} cache_qos_sim_commands[] = {
	{ "freeze", 1, cache_qos_sim_do_freeze },
	{ "claim", 1, cache_qos_sim_do_claim },
	{ "pqr", 2, cache_qos_sim_do_pqr },
	{ "evtsel", 2, cache_qos_sim_do_evtsel },
	{ "flush", 1, cache_qos_sim_do_flush },
	{ "shrink", 2, cache_qos_sim_do_shrink },
	{ "pin", 3, cache_qos_sim_do_pin },
	{ "fill", 2, cache_qos_sim_do_fill },
	{ "fault", 6, cache_qos_sim_do_fault },
	{ "calm", 0, cache_qos_sim_do_calm },
};

static int cache_qos_sim_run_command(const struct cache_qos_sim_command *command, char *rest)
{
	struct cache_qos_sim_live *live = &cache_qos_sim_live;
	s64 words[CACHE_QOS_SIM_MAX_WORDS] = {};
	unsigned long flags;
	char *word;
	int nr = 0, err;

	while ((word = strsep(&rest, "\n "))) {
		if (!*word)
			continue;
		if (nr == command->nr_words || kstrtos64(word, 0, &words[nr++]))
			return -EINVAL;
	}
	if (nr != command->nr_words)
		return -EINVAL;
	flags = pmukit_lock(&live->lock);
	cache_qos_sim_advance(live);
	err = command->run(live, words);
	pmukit_unlock(&live->lock, flags);
	return err;
}

static ssize_t control_write(struct file *file, const char __user *user, size_t count, loff_t *at)
{
	char line[CACHE_QOS_SIM_COMMAND_BYTES], *rest = line, *name;
	unsigned int i;
	int err;

	if (count >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, user, count))
		return -EFAULT;
	line[count] = '\0';
	name = strsep(&rest, "\n ");
	for (i = 0; i < ARRAY_SIZE(cache_qos_sim_commands); i++) {
		if (strcmp(cache_qos_sim_commands[i].name, name))
			continue;
		err = cache_qos_sim_run_command(&cache_qos_sim_commands[i], rest);
		return err ? err : count;
	}
	return -EINVAL;
}

static const struct file_operations cache_qos_sim_control_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= control_write,
};

/* Without debugfs the reference counters cannot be read; everything else works. */
void cache_qos_sim_debugfs_prepare(void)
{
	cache_qos_sim_folder = debugfs_create_dir("cache_qos_sim", NULL);
	debugfs_create_file("reference", 0400, cache_qos_sim_folder, NULL, &reference_fops);
	debugfs_create_file("domains", 0400, cache_qos_sim_folder, NULL, &domains_fops);
	debugfs_create_file("cpus", 0400, cache_qos_sim_folder, NULL, &cpus_fops);
	debugfs_create_file("rmids", 0400, cache_qos_sim_folder, NULL, &rmids_fops);
	debugfs_create_file("control", 0200, cache_qos_sim_folder, NULL,
			    &cache_qos_sim_control_fops);
}

void cache_qos_sim_debugfs_finish(void)
{
	debugfs_remove_recursive(cache_qos_sim_folder);
}
