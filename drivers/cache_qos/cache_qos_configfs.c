// SPDX-License-Identifier: GPL-2.0-only
/*
 * cache_qos: configfs interface of groups: folders below /sys/kernel/config/cache_qos, which is the
 * root group. Documentation/ABI/testing documents the files.
 *
 * Each file exists twice: under its name, and with the prefix "cacheqos.", as in the proposed
 * cgroup controller. configfs does not pass the attribute to a show function, so macros define one
 * function per file.
 *
 * Context: process context, under locks of configfs.
 */

#include <linux/configfs.h>
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uidgid.h>

#include "cache_qos.h"

#define CACHE_QOS_PAGE_BYTES	4096	/* largest text file of configfs */
#define CACHE_QOS_STORE_BYTES	(CACHE_QOS_PAGE_BYTES - 1) /* most bytes in one store call */
#define CACHE_QOS_SEPARATORS	", \t\n"
#define CACHE_QOS_LIST_MAX	(CACHE_QOS_PAGE_BYTES / 2)	/* most tids in a text file */
#define CACHE_QOS_TID_BYTES	12	/* a tid and its newline */
#define CACHE_QOS_LISTED_MAX	0x100000U	/* most tids in tasks_all */

/**
 * struct cache_qos_folder - configfs folder of a group
 * @at: the subsystem for the root; other folders use only its su_group
 * @live: driver state; it outlives the folder
 * @node: the group
 * @path: path relative to the root group, whose path is empty
 */
struct cache_qos_folder {
	struct configfs_subsystem at;
	struct cache_qos_live *live;
	u16 node;
	const char *path;
};

static struct cache_qos_folder *to_cache_qos_folder(struct config_item *item)
{
	return container_of(to_config_group(item), struct cache_qos_folder, at.su_group);
}

/* Values */

/* Output format of a value */
enum cache_qos_form {
	CACHE_QOS_BYTES,
	CACHE_QOS_PERCENT,
	CACHE_QOS_BOUND,
};

static int cache_qos_emit(char *buf, int at, enum cache_qos_form form,
			  const struct cache_qos_value *value, u64 cache_bytes)
{
	u64 hundredths;

	if (form == CACHE_QOS_BOUND)
		return sysfs_emit_at(buf, at, "%llu\n", value->bound);
	if (form == CACHE_QOS_BYTES || !cache_bytes)
		return sysfs_emit_at(buf, at, "%llu\n", value->bytes);
	/* No overflow: a cache is far smaller than 2^64 / 10000. */
	hundredths = (value->bytes * 10000 + cache_bytes / 2) / cache_bytes;
	return sysfs_emit_at(buf, at, "%llu.%02llu\n", hundredths / 100, hundredths % 100);
}

static ssize_t cache_qos_show_sum(struct config_item *item, char *buf, u32 event,
				  enum cache_qos_form form)
{
	struct cache_qos_folder *folder = to_cache_qos_folder(item);
	struct cache_qos_live *live = folder->live;
	struct cache_qos_value value;
	int ret;

	ret = cache_qos_group_value(live, folder->node, event, CACHE_QOS_ALL, &value);
	if (ret)
		return ret;
	return cache_qos_emit(buf, 0, form, &value,
			      cache_qos_cache_bytes(&live->core, CACHE_QOS_ALL));
}

/* A domain without a value gets a line, too, so that lines of other domains do not move. */
static int cache_qos_emit_domain(struct cache_qos_folder *folder, char *buf, int at, u32 event,
				 enum cache_qos_form form, u16 domain)
{
	struct cache_qos_live *live = folder->live;
	struct cache_qos_value value;
	int ret;

	ret = cache_qos_group_peek(live, folder->node, event, domain, &value);
	if (ret == -EIO)
		return sysfs_emit_at(buf, at, "error\n");
	if (ret)
		return sysfs_emit_at(buf, at, "unavailable\n");
	return cache_qos_emit(buf, at, form, &value, cache_qos_cache_bytes(&live->core, domain));
}

static ssize_t cache_qos_show_each(struct config_item *item, char *buf, u32 event,
				   enum cache_qos_form form, bool named)
{
	struct cache_qos_folder *folder = to_cache_qos_folder(item);
	struct cache_qos_live *live = folder->live;
	struct cache_qos_value value;
	u32 d, nr = cache_qos_nr_domains(&live->core);
	int ret, len = 0;

	ret = cache_qos_group_value(live, folder->node, event, CACHE_QOS_ALL, &value);
	if (ret)
		return ret;
	for (d = 0; d < nr; d++) {
		const struct cache_qos_domain *domain = &live->core.domains[d];

		if (!READ_ONCE(domain->nr_cpus))
			continue;
		if (named)
			len += sysfs_emit_at(buf, len, "%u %u ", domain->is.id,
					     domain->is.package);
		len += cache_qos_emit_domain(folder, buf, len, event, form, d);
	}
	return len;
}

#define CACHE_QOS_SHOW_SUM(_name, _event, _form)				\
	static ssize_t cache_qos_##_name##_show(struct config_item *item, char *buf) \
	{									\
		return cache_qos_show_sum(item, buf, PMUKIT_CACHE_QOS_EVENT_##_event, \
					  CACHE_QOS_##_form);			\
	}

#define CACHE_QOS_SHOW_EACH(_name, _event, _form, _named)			\
	static ssize_t cache_qos_##_name##_show(struct config_item *item, char *buf) \
	{									\
		return cache_qos_show_each(item, buf, PMUKIT_CACHE_QOS_EVENT_##_event, \
					   CACHE_QOS_##_form, _named);		\
	}

CACHE_QOS_SHOW_SUM(occupancy, OCCUPANCY, BYTES)
CACHE_QOS_SHOW_EACH(occupancy_persocket, OCCUPANCY, BYTES, false)
CACHE_QOS_SHOW_EACH(occupancy_domains, OCCUPANCY, BYTES, true)
CACHE_QOS_SHOW_SUM(occupancy_percent, OCCUPANCY, PERCENT)
CACHE_QOS_SHOW_EACH(occupancy_percent_persocket, OCCUPANCY, PERCENT, false)
CACHE_QOS_SHOW_EACH(occupancy_percent_domains, OCCUPANCY, PERCENT, true)
CACHE_QOS_SHOW_SUM(occupancy_error, OCCUPANCY, BOUND)
CACHE_QOS_SHOW_EACH(occupancy_error_persocket, OCCUPANCY, BOUND, false)
CACHE_QOS_SHOW_EACH(occupancy_error_domains, OCCUPANCY, BOUND, true)
CACHE_QOS_SHOW_SUM(mbm_total, TOTAL, BYTES)
CACHE_QOS_SHOW_EACH(mbm_total_persocket, TOTAL, BYTES, false)
CACHE_QOS_SHOW_EACH(mbm_total_domains, TOTAL, BYTES, true)
CACHE_QOS_SHOW_SUM(mbm_local, LOCAL, BYTES)
CACHE_QOS_SHOW_EACH(mbm_local_persocket, LOCAL, BYTES, false)
CACHE_QOS_SHOW_EACH(mbm_local_domains, LOCAL, BYTES, true)

/* monitor_cache */

static ssize_t cache_qos_monitor_cache_show(struct config_item *item, char *buf)
{
	struct cache_qos_folder *folder = to_cache_qos_folder(item);

	return sysfs_emit(buf, "%d\n", cache_qos_group_monitored(folder->live, folder->node));
}

static ssize_t cache_qos_monitor_cache_store(struct config_item *item, const char *buf,
					     size_t count)
{
	struct cache_qos_folder *folder = to_cache_qos_folder(item);
	unsigned int on;
	int ret;

	ret = kstrtouint(buf, 10, &on);
	if (ret || on > 1)
		return -EINVAL;
	ret = cache_qos_group_monitor(folder->live, folder->node, on);
	return ret ?: count;
}

/* status */

static const struct {
	u32 bit;
	const char *name;
} cache_qos_states[] = {
	{ PMUKIT_CACHE_QOS_S_PARTIAL,		"partial" },
	{ PMUKIT_CACHE_QOS_S_DIRTY,		"dirty" },
	{ PMUKIT_CACHE_QOS_S_UNAVAILABLE,	"unavailable" },
	{ PMUKIT_CACHE_QOS_S_ERROR,		"error" },
	{ PMUKIT_CACHE_QOS_S_UNREAD,		"unread" },
	{ PMUKIT_CACHE_QOS_S_YIELDED,		"yielded" },
	{ PMUKIT_CACHE_QOS_S_UNCERTAIN,		"uncertain" },
	{ PMUKIT_CACHE_QOS_S_GAP,		"gap" },
	{ PMUKIT_CACHE_QOS_S_SUSPECT,		"suspect" },
};

static ssize_t cache_qos_status_show(struct config_item *item, char *buf)
{
	struct cache_qos_folder *folder = to_cache_qos_folder(item);
	struct cache_qos_live *live = folder->live;
	const u32 *nr = live->core.nr_atoms;
	u16 monitor = cache_qos_group_number(live, folder->node);
	struct cache_qos_value value = {};
	int len, i;

	/* The return value is ignored, because there is a status even without a value. */
	cache_qos_group_peek(live, folder->node, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, CACHE_QOS_ALL,
			     &value);
	len = sysfs_emit(buf, "monitored %d\nmonitor ", monitor != CACHE_QOS_NONE);
	if (monitor == CACHE_QOS_NONE)
		len += sysfs_emit_at(buf, len, "-\nstate");
	else
		len += sysfs_emit_at(buf, len, "%u\nstate", monitor);
	for (i = 0; i < ARRAY_SIZE(cache_qos_states); i++) {
		if (value.status & cache_qos_states[i].bit)
			len += sysfs_emit_at(buf, len, " %s", cache_qos_states[i].name);
	}
	len += sysfs_emit_at(buf, len,
			     "%s\nage_ms %llu\nrmids_free %u\nrmids_used %u\nrmids_limbo %u\nbackend %s\n",
			     value.status ? "" : " good", value.age_ns / NSEC_PER_MSEC,
			     READ_ONCE(nr[CACHE_QOS_FREE]), READ_ONCE(nr[CACHE_QOS_USED]),
			     READ_ONCE(nr[CACHE_QOS_LIMBO]), live->backend_name);
	len += sysfs_emit_at(buf, len, "registers ");
	return len + cache_qos_emit_holder(live, buf, len);
}

/* tasks, procs */

static bool cache_qos_may_move(struct task_struct *task)
{
	const struct cred *mine = current_cred(), *its = get_task_cred(task);
	bool may = uid_eq(mine->euid, GLOBAL_ROOT_UID) || uid_eq(mine->euid, its->uid) ||
		   uid_eq(mine->euid, its->suid);

	put_cred(its);
	return may;
}

/* @nr is a tid; 0: the calling task; -n: move task n back to the root group. */
static int cache_qos_move(struct cache_qos_folder *folder, int nr, bool process)
{
	u16 node = nr < 0 ? CACHE_QOS_ROOT : folder->node;
	struct task_struct *task;
	struct pid *pid;
	int ret = -EPERM;

	pid = nr ? find_get_pid(abs(nr)) : get_task_pid(current, PIDTYPE_PID);
	task = get_pid_task(pid, PIDTYPE_PID);
	put_pid(pid);
	if (!task)
		return -ESRCH;
	if (cache_qos_may_move(task))
		ret = process ? cache_qos_group_attach_process(folder->live, node, task) :
				cache_qos_group_attach(folder->live, node, task);
	put_task_struct(task);
	return ret;
}

/*
 * configfs passes a long write in pieces, which may end in the middle of a number. Return: length
 * up to the end of the last whole number; the writer passes the rest again.
 */
static size_t cache_qos_list_bytes(const char *buf, size_t count)
{
	size_t whole = count;

	if (count < CACHE_QOS_STORE_BYTES)
		return count;
	while (whole && !strchr(CACHE_QOS_SEPARATORS, buf[whole - 1]))
		whole--;
	return whole ?: count;
}

/*
 * Move the listed tasks. Stops at the first task that cannot be moved; tasks before it stay moved.
 * A piece of a long list may consist of separators only, which is no error.
 */
static ssize_t cache_qos_move_list(struct config_item *item, const char *buf, size_t count,
				   bool process)
{
	struct cache_qos_folder *folder = to_cache_qos_folder(item);
	char *copy, *rest, *word;
	int ret = 0, nr;

	count = cache_qos_list_bytes(buf, count);
	copy = kmemdup_nul(buf, count, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	rest = copy;
	while (!ret && (word = strsep(&rest, CACHE_QOS_SEPARATORS))) {
		if (!*word)
			continue;
		ret = kstrtoint(word, 10, &nr);
		if (!ret && nr == INT_MIN)
			ret = -EINVAL;
		if (!ret)
			ret = cache_qos_move(folder, nr, process);
	}
	kfree(copy);
	return ret ?: count;
}

static ssize_t cache_qos_tasks_store(struct config_item *item, const char *buf, size_t count)
{
	return cache_qos_move_list(item, buf, count, false);
}

static ssize_t cache_qos_procs_store(struct config_item *item, const char *buf, size_t count)
{
	return cache_qos_move_list(item, buf, count, true);
}

/* List as many tasks as fit into a page; tasks_all lists all of them. */
static ssize_t cache_qos_list(struct config_item *item, char *buf, bool processes)
{
	struct cache_qos_folder *folder = to_cache_qos_folder(item);
	unsigned int nr, i;
	int len = 0;
	pid_t *pids;

	pids = kvcalloc(CACHE_QOS_LIST_MAX, sizeof(*pids), GFP_KERNEL);
	if (!pids)
		return -ENOMEM;
	nr = cache_qos_group_tasks(folder->live, folder->node, processes, pids,
				   CACHE_QOS_LIST_MAX);
	for (i = 0; i < min(nr, CACHE_QOS_LIST_MAX); i++) {
		if (len > CACHE_QOS_PAGE_BYTES - CACHE_QOS_TID_BYTES)
			break;
		len += sysfs_emit_at(buf, len, "%d\n", pids[i]);
	}
	kvfree(pids);
	return len;
}

static ssize_t cache_qos_tasks_show(struct config_item *item, char *buf)
{
	return cache_qos_list(item, buf, false);
}

static ssize_t cache_qos_procs_show(struct config_item *item, char *buf)
{
	return cache_qos_list(item, buf, true);
}

/* configfs returns the whole buffer, which is not cleared: fill the rest with empty lines. */
static void cache_qos_tasks_all_fill(const pid_t *pids, unsigned int nr, char *buf, size_t room)
{
	size_t len = 0;
	unsigned int i;

	for (i = 0; i < nr; i++)
		len += scnprintf(buf + len, room - len, "%d\n", pids[i]);
	memset(buf + len, '\n', room - len);
}

/*
 * configfs calls this function twice: first without a buffer, to get the size, then with a buffer,
 * to get the content, which must have that size. The number of tasks may change between the calls.
 */
static ssize_t cache_qos_tasks_all_read(struct config_item *item, void *buf, size_t room)
{
	struct cache_qos_folder *folder = to_cache_qos_folder(item);
	unsigned int nr, max;
	pid_t *pids;

	if (!buf) {
		nr = cache_qos_group_tasks(folder->live, folder->node, false, NULL, 0);
		max = min(nr + nr / 8 + 16, CACHE_QOS_LISTED_MAX);
		return (ssize_t)max * CACHE_QOS_TID_BYTES;
	}
	max = room / CACHE_QOS_TID_BYTES;
	pids = kvcalloc(max, sizeof(*pids), GFP_KERNEL);
	if (!pids)
		return -ENOMEM;
	nr = cache_qos_group_tasks(folder->live, folder->node, false, pids, max);
	cache_qos_tasks_all_fill(pids, min(nr, max), buf, room);
	kvfree(pids);
	return room;
}

static struct configfs_bin_attribute cache_qos_tasks_all = {
	.cb_attr = {
		.ca_name	= "tasks_all",
		.ca_mode	= 0444,
		.ca_owner	= THIS_MODULE,
	},
	.cb_max_size	= CACHE_QOS_LISTED_MAX * CACHE_QOS_TID_BYTES,
	.read		= cache_qos_tasks_all_read,
};

static struct configfs_bin_attribute *cache_qos_bin_attrs[] = {
	&cache_qos_tasks_all,
	NULL
};

/* Files */

#define CACHE_QOS_FOLDER_FILE(_id, _file, _name, _mode, _store)			\
	static struct configfs_attribute cache_qos_file_##_id = {		\
		.ca_name = _file,						\
		.ca_mode = _mode,						\
		.ca_owner = THIS_MODULE,					\
		.show = cache_qos_##_name##_show,				\
		.store = _store,						\
	}

#define CACHE_QOS_RO(_name)							\
	CACHE_QOS_FOLDER_FILE(plain_##_name, #_name, _name, 0444, NULL)

#define CACHE_QOS_RO_PREFIXED(_name)						\
	CACHE_QOS_FOLDER_FILE(cacheqos_##_name, "cacheqos." #_name, _name, 0444, NULL)

#define CACHE_QOS_RW(_name)							\
	CACHE_QOS_FOLDER_FILE(plain_##_name, #_name, _name, 0644, cache_qos_##_name##_store)

#define CACHE_QOS_RW_PREFIXED(_name)						\
	CACHE_QOS_FOLDER_FILE(cacheqos_##_name, "cacheqos." #_name, _name, 0644, \
			      cache_qos_##_name##_store)

CACHE_QOS_RW(tasks);
CACHE_QOS_RW_PREFIXED(tasks);
CACHE_QOS_RW(procs);
CACHE_QOS_RW_PREFIXED(procs);
CACHE_QOS_RW(monitor_cache);
CACHE_QOS_RW_PREFIXED(monitor_cache);
CACHE_QOS_RO(status);
CACHE_QOS_RO_PREFIXED(status);
CACHE_QOS_RO(occupancy);
CACHE_QOS_RO_PREFIXED(occupancy);
CACHE_QOS_RO(occupancy_persocket);
CACHE_QOS_RO_PREFIXED(occupancy_persocket);
CACHE_QOS_RO(occupancy_domains);
CACHE_QOS_RO_PREFIXED(occupancy_domains);
CACHE_QOS_RO(occupancy_percent);
CACHE_QOS_RO_PREFIXED(occupancy_percent);
CACHE_QOS_RO(occupancy_percent_persocket);
CACHE_QOS_RO_PREFIXED(occupancy_percent_persocket);
CACHE_QOS_RO(occupancy_percent_domains);
CACHE_QOS_RO_PREFIXED(occupancy_percent_domains);
CACHE_QOS_RO(occupancy_error);
CACHE_QOS_RO_PREFIXED(occupancy_error);
CACHE_QOS_RO(occupancy_error_persocket);
CACHE_QOS_RO_PREFIXED(occupancy_error_persocket);
CACHE_QOS_RO(occupancy_error_domains);
CACHE_QOS_RO_PREFIXED(occupancy_error_domains);
CACHE_QOS_RO(mbm_total);
CACHE_QOS_RO_PREFIXED(mbm_total);
CACHE_QOS_RO(mbm_total_persocket);
CACHE_QOS_RO_PREFIXED(mbm_total_persocket);
CACHE_QOS_RO(mbm_total_domains);
CACHE_QOS_RO_PREFIXED(mbm_total_domains);
CACHE_QOS_RO(mbm_local);
CACHE_QOS_RO_PREFIXED(mbm_local);
CACHE_QOS_RO(mbm_local_persocket);
CACHE_QOS_RO_PREFIXED(mbm_local_persocket);
CACHE_QOS_RO(mbm_local_domains);
CACHE_QOS_RO_PREFIXED(mbm_local_domains);

/* The two monitor_cache files are first: CACHE_QOS_ROOT_ATTRS is the list without them. */
static struct configfs_attribute *cache_qos_attrs[] = {
	&cache_qos_file_plain_monitor_cache,
	&cache_qos_file_cacheqos_monitor_cache,
	&cache_qos_file_plain_tasks,
	&cache_qos_file_cacheqos_tasks,
	&cache_qos_file_plain_procs,
	&cache_qos_file_cacheqos_procs,
	&cache_qos_file_plain_status,
	&cache_qos_file_cacheqos_status,
	&cache_qos_file_plain_occupancy,
	&cache_qos_file_cacheqos_occupancy,
	&cache_qos_file_plain_occupancy_persocket,
	&cache_qos_file_cacheqos_occupancy_persocket,
	&cache_qos_file_plain_occupancy_domains,
	&cache_qos_file_cacheqos_occupancy_domains,
	&cache_qos_file_plain_occupancy_percent,
	&cache_qos_file_cacheqos_occupancy_percent,
	&cache_qos_file_plain_occupancy_percent_persocket,
	&cache_qos_file_cacheqos_occupancy_percent_persocket,
	&cache_qos_file_plain_occupancy_percent_domains,
	&cache_qos_file_cacheqos_occupancy_percent_domains,
	&cache_qos_file_plain_occupancy_error,
	&cache_qos_file_cacheqos_occupancy_error,
	&cache_qos_file_plain_occupancy_error_persocket,
	&cache_qos_file_cacheqos_occupancy_error_persocket,
	&cache_qos_file_plain_occupancy_error_domains,
	&cache_qos_file_cacheqos_occupancy_error_domains,
	&cache_qos_file_plain_mbm_total,
	&cache_qos_file_cacheqos_mbm_total,
	&cache_qos_file_plain_mbm_total_persocket,
	&cache_qos_file_cacheqos_mbm_total_persocket,
	&cache_qos_file_plain_mbm_total_domains,
	&cache_qos_file_cacheqos_mbm_total_domains,
	&cache_qos_file_plain_mbm_local,
	&cache_qos_file_cacheqos_mbm_local,
	&cache_qos_file_plain_mbm_local_persocket,
	&cache_qos_file_cacheqos_mbm_local_persocket,
	&cache_qos_file_plain_mbm_local_domains,
	&cache_qos_file_cacheqos_mbm_local_domains,
	NULL
};

#define CACHE_QOS_ROOT_ATTRS	(cache_qos_attrs + 2)

/* Folders */

static void cache_qos_folder_release(struct config_item *item)
{
	struct cache_qos_folder *folder = to_cache_qos_folder(item);

	kfree(folder->path);
	kfree(folder);
}

static struct configfs_item_operations cache_qos_item_ops = {
	.release	= cache_qos_folder_release,
};

static struct config_group *cache_qos_make_group(struct config_group *parent, const char *name);

/* configfs calls this only for a group without children. The group's tasks move to its parent. */
static void cache_qos_drop_item(struct config_group *parent, struct config_item *item)
{
	struct cache_qos_folder *folder = to_cache_qos_folder(item);

	cache_qos_group_remove(folder->live, folder->node);
	config_item_put(item);
}

static struct configfs_group_operations cache_qos_group_ops = {
	.make_group	= cache_qos_make_group,
	.drop_item	= cache_qos_drop_item,
};

static const struct config_item_type cache_qos_folder_type = {
	.ct_owner	= THIS_MODULE,
	.ct_item_ops	= &cache_qos_item_ops,
	.ct_group_ops	= &cache_qos_group_ops,
	.ct_attrs	= cache_qos_attrs,
	.ct_bin_attrs	= cache_qos_bin_attrs,
};

static struct config_group *cache_qos_make_group(struct config_group *parent, const char *name)
{
	struct cache_qos_folder *above = to_cache_qos_folder(&parent->cg_item), *folder;
	int ret = -ENOMEM;

	folder = kzalloc_obj(*folder);
	if (!folder)
		return ERR_PTR(-ENOMEM);
	folder->path = kasprintf(GFP_KERNEL, "%s/%s", above->path, name);
	if (folder->path)
		ret = cache_qos_group_make(above->live, above->node, folder->path);
	if (ret < 0) {
		kfree(folder->path);
		kfree(folder);
		return ERR_PTR(ret);
	}
	folder->live = above->live;
	folder->node = ret;
	config_group_init_type_name(&folder->at.su_group, name, &cache_qos_folder_type);
	return &folder->at.su_group;
}

static const struct config_item_type cache_qos_root_type = {
	.ct_owner	= THIS_MODULE,
	.ct_group_ops	= &cache_qos_group_ops,
	.ct_attrs	= CACHE_QOS_ROOT_ATTRS,
	.ct_bin_attrs	= cache_qos_bin_attrs,
};

static struct cache_qos_folder cache_qos_root = {
	.at = {
		.su_group = {
			.cg_item = {
				.ci_namebuf = "cache_qos",
				.ci_type = &cache_qos_root_type,
			},
		},
	},
	.node = CACHE_QOS_ROOT,
	.path = "",
};

/**
 * cache_qos_configfs_register - create the root group's folder
 * @live: driver state
 *
 * Context: serialized by the caller.
 *
 * Return: 0 or -errno.
 */
int cache_qos_configfs_register(struct cache_qos_live *live)
{
	cache_qos_root.live = live;
	config_group_init(&cache_qos_root.at.su_group);
	mutex_init(&cache_qos_root.at.su_mutex);
	return configfs_register_subsystem(&cache_qos_root.at);
}

/**
 * cache_qos_configfs_unregister - remove the root group's folder; there are no other groups
 */
void cache_qos_configfs_unregister(void)
{
	configfs_unregister_subsystem(&cache_qos_root.at);
}
