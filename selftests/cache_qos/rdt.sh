#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Compares values that resctrl, cache_qos and perf read for equal walks over memory (cache_qos_walk.c), and those that pmukit records from
# resctrl. Runs on a processor emulated with RDT registers (tools/rdt), which has two packages of one CPU each. check_rdt.sh compares the
# readings, in /out/rdt.readings, with the reference log.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
. "$(dirname "$0")/walk.sh"
readings=/out/rdt.readings

[ -d $resctrl ] || skip_all "no resctrl"
cd "$work" || exit 1
plan 19
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
refused_with "busy" insmod $module && dmesg | grep -q "'pmukit record -e resctrl//' records without this module"
result "R-06 cache_qos does not load while resctrl is mounted, and its message names pmukit record -e resctrl//" $?
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

# pmukit records from the files of resctrl. The task has walked, so their values hardly change; pmukit runs on the first CPU.
# from_resctrl COMMAND OPTION...: runs a command of pmukit with the event
from_resctrl() {
	command=$1
	shift
	taskset -c 0 pmukit "$command" -e resctrl/interval_ms=100/ "$@"
}
before=$(cat $data/llc_occupancy) before_total=$(cat $data/mbm_total_bytes)
from_resctrl record -o resctrl.data -- sleep 1 >said 2>&1
status=$?
after=$(cat $data/llc_occupancy) after_total=$(cat $data/mbm_total_bytes)
sed 's/^/# /' said
echo "# files: $before to $after, total $before_total to $after_total; recorded $(recorded llc_occupancy $cpu), $(recorded total_bytes $cpu)"
[ $status = 0 ] && between "$before" "$(recorded llc_occupancy $cpu)" "$after" && between "$before_total" "$(recorded total_bytes $cpu)" "$after_total"
result "pmukit record stores the values that the files of resctrl show" $?
pmukit report -i resctrl.data >report 2>&1
sed 's/^/# /' report
grep -q "source=model" report && grep -q "source resctrl: counted by group" report && grep -Eq "^ *[0-9]+ +group +/mon_groups/walk \(cache_qos_walk-$walker\) +$cpu +llc_occupancy" report
result "pmukit report shows the group with its task, the source, and that the processor is emulated" $?
from_resctrl top --once -- sleep 1 >top 2>said
cat top said | sed 's/^/# /'
grep -q "/mon_groups/walk" top && grep -q "source resctrl: counted by group" top
result "pmukit top shows the group, and the source" $?
pmukit list >list
sed 's/^/# /' list
grep -q "/mon_groups/walk.*cache_qos_walk-$walker" list && grep -q "record: pmukit record -e resctrl//" list
result "pmukit list shows the group and the record command" $?
pmukit doctor | grep "resctrl" >doctor
sed 's/^/# /' doctor
grep -q "mounted on $resctrl: .*pmukit record -e resctrl//" doctor && grep -q "pmus .*record -e resctrl//. needs none" doctor
result "pmukit doctor names resctrl as the source of this machine, which needs no module" $?
# passes_of FILE: waits until the unfinished recording has grown twice: the last pass then began after this function was called
size_of() { cat "$1".part-* 2>/dev/null | wc -c; }
is_larger() { [ "$(size_of "$1")" -gt "$2" ]; }
passes_of() {
	for _ in 1 2; do within 120 is_larger "$1" "$(size_of "$1")"; done
}
again=$resctrl/mon_groups/again
mkdir $again
from_resctrl record -o lives.data -- sh -c 'until [ -e stop ]; do sleep 0.2; done' >said 2>&1 &
recorder=$!
passes_of lives.data && rmdir $again && passes_of lives.data && mkdir $again && passes_of lives.data
rmdir $again
touch stop
wait $recorder
sed 's/^/# /' said
pmukit report -i lives.data >report 2>&1
grep again report | sed 's/^/# /'
grep -Eq "^ *[0-9]+ +group +/mon_groups/again +$cpu" report && grep -Eq "^ *[0-9]+#2 +group +/mon_groups/again +$cpu" report
result "a group that is removed and made again has two lives in the report" $?
readings_of resctrl 10 1
from_resctrl record -o unmounted.data -- sleep 300 >said 2>&1 &
recorder=$!
passes_of unmounted.data
within 20 umount $resctrl
wait $recorder
status=$?
sed 's/^/# /' said
[ $status = 1 ] && grep -q "disappeared while recording" said && pmukit report -i unmounted.data >report && grep -q "resctrl was unmounted" report
result "pmukit record ends with a message and a complete file when resctrl is unmounted" $?
refused_with "resctrl is not mounted: mount -t resctrl" pmukit record -o none.data -e resctrl// -- true
result "pmukit record refuses a resctrl that is not mounted, with the mount command" $?

# Repeat the test with the driver, which uses the same registers.
insmod $module && mount -t configfs configfs /sys/kernel/config
[ "$(cat $devices/cache_qos/caps/backend) $(cat $devices/cache_qos/caps/source)" = "msr model" ]
result "R-01 cache_qos loads with its hardware back-end, and shows that the processor is emulated" $?
pmukit doctor | grep -q "resctrl .*can have cache_qos .* or resctrl"
result "pmukit doctor names both sources if resctrl is not mounted" $?
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

# perf stat counts a program from its start to its end, in all L3s: also the starts of taskset and of the walk, and what the kernel zeroes
# and copies for them, up to 512 KiB here. The exact value is check_rdt.sh's.
evict 104
mark 7
perf stat -x, -e cache_qos/llc_occupancy/ -- $on_cpu cache_qos_walk $mib 3 30 2>stat
mark 8
sed 's/^/# /' stat
occupancy=$(awk -F, '$3 ~ /llc_occupancy/ { print $1; exit }' stat)
reading occupancy perf all 30 31 8 "$occupancy"
is_walk "$occupancy" 8
result "R-42 perf stat: the occupancy is the size of the memory that the program has walked and that of two program starts" $?
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
