#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rdt_snc.sh NODES: sub-NUMA clustering, with NODES nodes of one CPU per L3, on a processor emulated with RDT registers (tools/rdt). Two tasks
# of one group walk over memory, each on another node of the last L3. The values of each node and their sum are in /out/rdt_snc.readings;
# check_rdt.sh compares them with the reference log, in which an L3 is a node. If the kernel's resctrl supports the nodes, its values are
# read, too. Otherwise the RMIDs are divided among the nodes, and the driver does not load until they share them.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
. "$(dirname "$0")/walk.sh"
readings=/out/rdt_snc.readings
nodes=$1
mib=4
bytes=$((mib << 20))
other=$((cpu - 1))

[ -c /dev/cpu/0/msr ] || skip_all "no msr"
cd "$work" || exit 1
: >$readings

# The number of a CPU is that of its node.
# walks_on_nodes TASKS MARK: starts two tasks with the shell's PID written to the file TASKS. They walk between the marks MARK and MARK + 1, and
# MARK + 2 and MARK + 3, on $cpu and on $other; $walkers are their pids.
walks_on_nodes() {
	tasks=$1 first=$2 walkers=''
	for node in $cpu $other; do
		# shellcheck disable=SC2016
		walks "walked.$first" sh -c 'echo 0 >"$1" && exec taskset -c "$3" cache_qos_walk "$2" 3 "$4" 900' sh "$tasks" $mib "$node" "$first" ||
			return
		walkers="$walkers $walker"
		first=$((first + 2))
	done
}
# Evicts the lines of earlier tasks from the L3 and from the caches of both CPUs.
evict_nodes() {
	evict "$1" && on_cpu="taskset -c $other" evict $(($1 + 2))
	evicted=$?
	on_cpu="taskset -c $cpu"
	return $evicted
}

# is_about BYTES VALUE...: succeeds if each value differs from BYTES by a sixteenth at most. Pages of programs that ended before a walk may be
# part of its memory, and their lines in the caches have the RMID of these programs. The exact comparison is check_rdt.sh's.
is_about() {
	about=$1
	shift
	for value in "$@"; do
		[ "$value" -ge $((about / 16 * 15)) ] && [ "$value" -le $((about / 16 * 17)) ] || return
	done
}

# readings_of READER TASK MARK: records $occupancy, $occupancy_other, $sum, $total and $total_other of $group, whose tasks have walked from the
# mark TASK on. Before the walks is the mark MARK, and after them MARK + 1. The script has read the values between MARK + 1 and MARK + 2.
readings_of() {
	later=$(($3 + 1)) last=$(($3 + 2))
	reading occupancy "$1" $cpu "$2" $later $last "$occupancy"
	reading occupancy "$1" $other "$2" $later $last "$occupancy_other"
	reading occupancy "$1" all "$2" $later $last "$sum"
	reading total "$1" $cpu "$2" "$2" $(($2 + 1)) "$3" $last "$total"
	reading total "$1" $other "$2" $(($2 + 2)) $(($2 + 3)) "$3" $last "$total_other"
	is_about $bytes "$occupancy" "$occupancy_other" "$total" "$total_other"
	result "$1: occupancy and bytes of each node are about the size of the memory that a task has walked there" $?
	is_about $((2 * bytes)) "$sum"
	result "$1: the occupancy is the sum of both nodes" $?
	for walker in $walkers; do end_walker "$walker"; done
	rmdir "$group"
}

rmmod cache_qos
shared=$(dmesg | grep -c "Sub-NUMA Cluster mode detected with $nodes nodes per L3 cache")
if [ "$shared" -gt 0 ]; then
	plan 13
	for each in $(seq 0 $cpu); do msr "$each" 0xca0; done >registers
	[ "$(sort -u registers)" = 0000000000000000 ]
	result "the kernel lets the nodes of each L3 share RMIDs" $?

	mount -t resctrl resctrl $resctrl
	result "resctrl can be mounted" $?
	group=$resctrl/mon_groups/walk
	evict_nodes 100
	mark 1
	mkdir $group
	walks_on_nodes $group/tasks 10
	result "two tasks in a monitoring group of resctrl have walked their memory" $?
	mark 2
	# of_node NODE FILE, of_l3s FILE: print a value of a node, and the sum of the values of all L3s
	of_node() { cat $group/mon_data/mon_L3_*/mon_sub_L3_0"$1/$2"; }
	of_l3s() { cat $group/mon_data/mon_L3_*/"$1" | awk '{ sum += $1 } END { print sum }'; }
	occupancy=$(of_node $cpu llc_occupancy) occupancy_other=$(of_node $other llc_occupancy) sum=$(of_l3s llc_occupancy)
	total=$(of_node $cpu mbm_total_bytes) total_other=$(of_node $other mbm_total_bytes)
	mark 3

	taskset -c 0 pmukit record -e resctrl/interval_ms=100/ -o resctrl.data -- sleep 1 >said 2>&1
	sed 's/^/# /' said
	for node in $cpu $other; do
		before=$(of_node "$node" llc_occupancy)
		found=$(recorded llc_occupancy "$node")
		echo "# node $node: recorded $found, in the file $before"
		between "$before" "$found" "$(of_node "$node" llc_occupancy)"
		result "pmukit record stores the occupancy of node $((cpu - node + 1)) of 2 as resctrl shows it" $?
	done
	readings_of resctrl 10 1
	umount $resctrl
else
	plan 7
	dmesg >before
	refused_with "not supported" insmod $module && dmesg | tail -n +$(($(wc -l <before) + 1)) | grep -q "RMIDs are divided among the NUMA nodes"
	result "R-04 the driver does not load while RMIDs are divided among the nodes of an L3" $?
	for each in $(seq 0 $cpu); do
		printf '\0\0\0\0\0\0\0\0' | dd of="/dev/cpu/$each/msr" bs=8 count=1 seek=$((0xca0)) oflag=seek_bytes conv=notrunc 2>/dev/null
	done
fi

insmod $module && mount -t configfs configfs /sys/kernel/config && sed 's/^/# /' $devices/cache_qos/domains
[ "$(cut -d' ' -f1 $devices/cache_qos/domains | tr '\n' ' ')" = "$(seq 0 $cpu | tr '\n' ' ')" ]
result "R-03 the driver loads, and its file 'domains' has a line for each node" $?
group=$groups/walk
mkdir $group
evict_nodes 104
mark 4
echo 1 >$group/monitor_cache
walks_on_nodes $group/tasks 20
result "two tasks in a group of cache_qos have walked their memory" $?
mark 5
passes
# of_node NODE FILE: prints the value of a node
of_node() { awk -v node="$1" '$1 == node { print $3 }' "$group/$2"; }
sed 's/^/# /' $group/occupancy_domains
occupancy=$(of_node $cpu occupancy_domains) occupancy_other=$(of_node $other occupancy_domains) sum=$(cat $group/occupancy)
total=$(of_node $cpu mbm_total_domains) total_other=$(of_node $other mbm_total_domains)
mark 6
readings_of cache_qos 20 4
[ "$(stat_of pqr_faults) $(stat_of hijacks) $(stat_of stolen)" = "0 0 0" ]
result "R-09 no register write failed, and no RMID was attributed to another tool" $?
[ "$(cat $devices/cache_qos/registers)" = cache_qos ]
result "R-08 the driver has the registers at the end" $?
exit $tap_failed
