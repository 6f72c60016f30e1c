#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Zen 5 assigns bandwidth counters to RMIDs (ABMC). Monitors with counters must have the right values, monitors without counters must
# report a gap, and freed counters must be assigned to the next monitor.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
need_machine
reload profile=amd-turin lines=65536 || skip_all "no machine with such counters"
cd "$work" || exit 1
plan 8

[ -e $devices/cache_qos/events/total_bytes ] && [ -e $devices/cache_qos/events/local_bytes ]
result "R-12 on a processor with assignable counters (ABMC), the PMU has events for total and local bytes" $?

# There are eighteen groups and the root with RMID 0. Sixteen of these nineteen get counters for total and local traffic.
last=18
for n in $(seq $last); do
	mkdir $groups/g$n && echo 1 >$groups/g$n/monitor_cache
done
passes
in_group g1 cq-ws256K-4M 300
one=$!
in_group g$last cq-ws256K-4M 300
two=$!
taskset -p 1 $one >/dev/null
taskset -p 2 $two >/dev/null
# moved GROUP TASK: sets $counted, the group's bytes in two seconds, and $truth, the task's bytes in the reference counters
moved() {
	sim freeze 1
	before=$(cat $groups/$1/mbm_total) reference_before=$(reference_sum total tid $2)
	sim freeze 0
	sim flush 0
	sleep 2
	sim freeze 1
	counted=$(($(cat $groups/$1/mbm_total) - before)) truth=$(($(reference_sum total tid $2) - reference_before))
	sim freeze 0
	echo "# $1 counted $counted, the reference has $truth, $(grep ^state $groups/$1/status)"
}
moved g1 $one
[ "$truth" -gt 0 ] && nearly "$counted" "$truth"
result "R-12 R-30 the bytes of a group with assigned counters equal the reference" $?
moved g$last $two
[ "$truth" -gt 0 ] && [ "$counted" = 0 ] && grep -q "^state.* gap" $groups/g$last/status
result "R-12 a group without assigned counters counts 0 bytes, and its status reports a gap" $?
sim freeze 1
value=$(cat $groups/g$last/occupancy) truth=$(reference_sum lines tid $two)
sim freeze 0
echo "# occupancy $value, the reference has $truth"
[ "$truth" -gt 0 ] && nearly "$value" "$truth"
result "R-12 the occupancy of a group without assigned counters equals the reference" $?

for n in $(seq 2 5); do
	rmdir $groups/g$n
done
# RMIDs and their counters are freed at the end of limbo.
within 20 stat_is rmids_limbo 0
passes
moved g$last $two
[ "$truth" -gt 0 ] && nearly "$counted" "$truth"
result "R-12 after freed counters are assigned to a group, its bytes equal the reference" $?
moved g1 $one
[ "$truth" -gt 0 ] && nearly "$counted" "$truth"
result "R-12 the bytes of a group that had assigned counters from the start still equal the reference" $?

sim claim 1
within 10 grep -qx resctrl $devices/cache_qos/registers
sim claim 0
within 10 grep -qx cache_qos $devices/cache_qos/registers
# The driver has put all RMIDs that were free into limbo again.
passes
moved g1 $one
[ "$truth" -gt 0 ] && nearly "$counted" "$truth"
result "R-07 R-12 after other software has used the registers, the bytes of a group equal the reference" $?

kill $one $two
wait $one $two 2>/dev/null
for n in 1 $(seq 6 $last); do
	rmdir $groups/g$n
done
[ "$(refused)" = 0 ]
result "R-12 the simulated machine rejected no register access" $?
reload profile=spr lines=2048
exit $tap_failed
