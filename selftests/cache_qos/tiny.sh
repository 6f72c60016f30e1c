#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Tests a machine with four RMIDs, of which RMID 0 is never assigned: rejected monitors, values that
# are marked as partial, and new monitors after RMIDs are free again.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
need_machine
reload profile=tiny lines=1024 || skip_all "no tiny machine"
cd "$work" || exit 1
plan 17

scale=$(scale)
passes
within 5 stat_is rmids_free 3
result "R-21 on a machine with four RMIDs, three RMIDs are free" $?
[ "$(cat $devices/cache_qos/threshold)" = $((1024 / 4 * scale)) ]
result "R-23 the default limbo threshold is the cache size divided by the number of RMIDs" $?
refused_with "invalid" writes $devices/cache_qos/threshold $((1025 * scale)) && writes $devices/cache_qos/threshold 0
result "R-23 a threshold above the cache size is rejected" $?

mkdir $groups/g1 $groups/g2 $groups/g3 $groups/g4
echo 1 >$groups/g1/monitor_cache && echo 1 >$groups/g2/monitor_cache && echo 1 >$groups/g3/monitor_cache
result "R-21 with three free RMIDs, three groups can be monitored" $?
refused_with "temporarily unavailable" writes $groups/g4/cacheqos.monitor_cache 1
result "R-55 without a free RMID, a write to monitor_cache fails with EAGAIN" $?
grep -qx "rmids_used 3" $groups/g4/status && [ "$(cat $groups/g4/monitor_cache)" = 0 ]
result "R-55 the status shows three used RMIDs, and the group is not monitored" $?
! perf stat -e cache_qos/llc_occupancy/ -- true >said 2>&1 || grep -q "not supported\|not counted" said
result "R-40 perf stat does not print 0 for an event without an RMID" $?

in_group g3 cq-ws2M-100M 100
filler=$!
sleep 2
kill $filler
wait $filler 2>/dev/null
left=$(cat $groups/g3/occupancy)
echo 0 >$groups/g3/monitor_cache
passes
echo "# $left bytes were left behind"
[ "$left" -gt 0 ] && refused_with "temporarily unavailable" writes $groups/g4/monitor_cache 1 &&
	grep -qx "rmids_limbo 1" $groups/g4/status
result "R-22 an RMID with lines in the cache is not assigned to another group" $?

# With alloc_dirty=1 a group gets an RMID that still has lines: its value is too large, but has an error bound.
sim freeze 1
writes $devices/cache_qos/alloc_dirty 1 && writes $groups/g4/monitor_cache 1
result "R-25 alloc_dirty=1: an RMID with lines in the cache is assigned" $?
value=$(cat $groups/g4/occupancy) bound=$(cat $groups/g4/occupancy_error)
echo "# occupancy $value, error $bound, and none of it is g4's"
[ "$value" = "$left" ] && [ "$bound" -ge "$value" ] && grep -q "^state.* dirty" $groups/g4/status
result "R-26 alloc_dirty=1: the error bound covers the lines of the previous group" $?
echo 0 >$devices/cache_qos/alloc_dirty
echo 0 >$groups/g4/monitor_cache
sim freeze 0

sim flush 0
within 5 writes $groups/g4/monitor_cache 1
result "R-55 an RMID is assigned again after its lines are evicted" $?
echo 0 >$groups/g4/monitor_cache
within 5 grep -qx "rmids_free 1" $groups/g4/status
result "R-24 the RMID is free again after monitoring ends" $?

# The task has its own event, then joins g1, too: no RMID is left for the combination.
cache_qos_load cq-ws2M-100M 100 &
task=$!
sleep 0.5
perf stat -x, -p $task -e cache_qos/llc_occupancy/ -- sleep 8 2>stat &
stat=$!
within 10 grep -qx "rmids_used 3" $groups/g4/status
result "R-40 an event of a task uses the last free RMID" $?
partial=$(stat_of partial)
echo $task >$groups/g1/tasks
sim flush 0
sleep 2
sim freeze 1
value=$(cat $groups/g1/occupancy) truth=$(reference_sum lines tid $task)
wait $stat
sed 's/^/# /' stat
echo "# g1 has $value, the task $truth; $(stat_of partial) times partial"
[ "$(stat_of partial)" -gt "$partial" ] && [ "$value" -le "$truth" ]
result "R-20 with no RMID left for a task in an event and a group, the group's value is not too large" $?
task_has=$(awk -F, '/llc_occupancy/ { print $1 }' stat)
# Either the task's event or g1 has the whole value, and the other one is marked as partial.
if grep -q "^state.* partial" $groups/g1/status; then
	[ "$task_has" -gt 0 ]
else
	[ "$value" -gt 0 ]
fi
result "R-20 with no RMID left for a task in an event and a group, the monitor not partial is above 0" $?
sim freeze 0
kill $task
wait $task 2>/dev/null

# Bring all RMIDs into limbo: each has lines in the cache, but no task is monitored any more.
sim flush 0
within 5 writes $groups/g3/monitor_cache 1
for group in g1 g2 g3; do
	in_group $group cq-ws1M-100M 1
	wait $!
done
rmdir $groups/g1 $groups/g2 $groups/g3 $groups/g4
within 5 stat_is probes 0
perf stat -p $$ -e cache_qos/llc_occupancy/ -- true >said 2>&1
echo "# $(stat_of rmids_limbo) RMIDs in limbo, $(stat_of tasks) tasks"
stat_is rmids_limbo 3 && within 5 stat_is probes 0 && within 5 stat_is tasks 0
result "R-18 after opening an event has failed, the driver monitors no task and has no probe attached" $?

[ "$(refused)" = 0 ]
result "R-14 the simulated machine rejected no register write" $?
reload profile=spr lines=2048
exit $tap_failed
