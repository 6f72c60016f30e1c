#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Compares values that resctrl, cache_qos and perf read for equal walks over memory (cache_qos_walk.c). Runs on a processor emulated with
# RDT registers (tools/rdt), which has two packages of one CPU each. check_rdt.sh compares the readings, in /out/rdt.readings, with the
# reference log.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
. "$(dirname "$0")/walk.sh"
readings=/out/rdt.readings

[ -d $resctrl ] || skip_all "no resctrl"
cd "$work" || exit 1
plan 10
: >$readings

# readings_of READER TASK MARK: records $occupancy, $total and $local of $group, ends the task and removes the group. In the reference log,
# the walk is between the marks TASK and TASK + 1. Before the walk is the mark MARK, and after it MARK + 1. The script has read the values
# between MARK + 1 and MARK + 2.
readings_of() {
	reading occupancy "$1" $cpu "$2" $(($3 + 1)) $(($3 + 2)) "$occupancy"
	reading total "$1" $cpu "$2" "$2" $(($2 + 1)) "$3" $(($3 + 2)) "$total"
	reading local "$1" $cpu "$2" "$2" $(($2 + 1)) "$3" $(($3 + 2)) "$local"
	is_walk "$occupancy" && is_walk "$total"
	result "$1: occupancy and bytes equal the size of the memory that the task has walked" $?
	kill "$walker"
	wait "$walker" 2>/dev/null
	rmdir "$group"
}

# resctrl
rmmod cache_qos
mount -t resctrl resctrl $resctrl
result "resctrl can be mounted" $?
refused_with "busy" insmod $module
result "R-06 cache_qos does not load while resctrl is mounted" $?
group=$resctrl/mon_groups/walk
evict 100
mark 1
mkdir $group
# shellcheck disable=SC2016
walks walked.resctrl sh -c 'echo 0 >"$1/tasks" && exec taskset -c "$3" cache_qos_walk "$2" 3 10 900' sh $group $mib $cpu
result "a task in a monitoring group of resctrl has walked its memory" $?
mark 2
data=$group/mon_data/mon_L3_0$cpu
occupancy=$(cat $data/llc_occupancy) total=$(cat $data/mbm_total_bytes) local=$(cat $data/mbm_local_bytes)
mark 3
readings_of resctrl 10 1
umount $resctrl

# Repeat the test with the driver, which uses the same registers.
insmod $module && mount -t configfs configfs /sys/kernel/config
[ "$(cat $devices/cache_qos/caps/backend) $(cat $devices/cache_qos/caps/source)" = "msr model" ]
result "R-01 cache_qos loads with its hardware back-end, and shows that the processor is emulated" $?
group=$groups/walk
mkdir $group
evict 102
mark 4
echo 1 >$group/monitor_cache
# shellcheck disable=SC2016
walks walked.group sh -c 'echo 0 >"$1/tasks" && exec taskset -c "$3" cache_qos_walk "$2" 3 20 900' sh $group $mib $cpu
result "a task in a group of cache_qos has walked its memory" $?
mark 5
passes
# of_package FILE: prints the value for the L3 of $cpu
of_package() { awk -v l3="$cpu" '$2 == l3 { print $3 }' "$group/$1"; }
occupancy=$(of_package occupancy_domains) total=$(of_package mbm_total_domains) local=$(of_package mbm_local_domains)
mark 6
readings_of cache_qos 20 4

# perf stat counts a program from its start to its end, in all L3s.
evict 104
mark 7
perf stat -x, -e cache_qos/llc_occupancy/ -- $on_cpu cache_qos_walk $mib 3 30 2>stat
mark 8
sed 's/^/# /' stat
occupancy=$(awk -F, '$3 ~ /llc_occupancy/ { print $1; exit }' stat)
reading occupancy perf all 30 31 8 "$occupancy"
is_walk "$occupancy"
result "R-42 perf stat: the occupancy equals the size of the memory that the program has walked" $?
[ "$(stat_of pqr_faults) $(stat_of hijacks) $(stat_of stolen)" = "0 0 0" ]
result "R-09 no register write failed, and no RMID was attributed to another tool" $?

# Mounts resctrl, and unloads the driver before the driver's next pass. With ABMC, resctrl and cache_qos both assign the counters
# with the lowest ids.
evict 106
bytes_of_root() { cat $resctrl/mon_data/mon_L3_0$cpu/mbm_total_bytes; }
mount -t resctrl resctrl $resctrl && rmmod cache_qos
before=$(bytes_of_root)
$on_cpu cache_qos_walk $mib 1 40
total=$(bytes_of_root)
echo "# resctrl: $before bytes before the walk, $total after it"
case $before$total in
*[!0-9]*) false ;;
*) [ $((total - before)) -ge $((bytes - unit)) ] ;;
esac
result "R-07 with resctrl mounted, its default group counts bytes after cache_qos is unloaded" $?
umount $resctrl
insmod $module
exit $tap_failed
