/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Hash tables under the kernel's names, for a single thread, so that the RCU variants do nothing
 * special.
 */
#ifndef KSHIM_LINUX_HASH_H
#define KSHIM_LINUX_HASH_H

#include <stddef.h>

struct hlist_node {
	struct hlist_node *next;
	struct hlist_node **link;	/* the pointer to this node */
};

struct hlist_head {
	struct hlist_node *first;
};

static inline void kshim_hlist_add(struct hlist_head *head, struct hlist_node *node)
{
	node->next = head->first;
	node->link = &head->first;
	if (node->next)
		node->next->link = &node->next;
	head->first = node;
}

static inline void hash_del_rcu(struct hlist_node *node)
{
	*node->link = node->next;
	if (node->next)
		node->next->link = node->link;
}

#define DECLARE_HASHTABLE(name, bits)	struct hlist_head name[1 << (bits)]
#define HASH_SIZE(table)		((int)(sizeof(table) / sizeof(*(table))))
#define KSHIM_BUCKET(table, key)	(&(table)[((key) >> 4) % HASH_SIZE(table)])
#define KSHIM_OWNER(at, type, member)						\
	((at) ? (type *)((char *)(at) - offsetof(type, member)) : NULL)

#define hash_add_rcu(table, node, key)	kshim_hlist_add(KSHIM_BUCKET(table, key), node)
#define hlist_for_each_entry(entry, head, member)					\
	for (entry = KSHIM_OWNER((head)->first, __typeof__(*entry), member); entry;	\
	     entry = KSHIM_OWNER(entry->member.next, __typeof__(*entry), member))
#define hash_for_each_possible_rcu_notrace(table, entry, member, key)			\
	hlist_for_each_entry(entry, KSHIM_BUCKET(table, key), member)

#endif
