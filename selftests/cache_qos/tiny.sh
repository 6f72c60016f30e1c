#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A machine with four RMIDs, of which RMID 0 is never assigned: rejected monitors, values marked as
# partial, and recovery once RMIDs are free.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
need_machine
reload profile=tiny lines=1024 || skip_all "no tiny machine"
cd "$work" || exit 1
plan 17

scale=$(scale)
passes
within 5 stat_is rmids_free 3
result "R-21 three RMIDs can be given out" $?
[ "$(cat $devices/cache_qos/threshold)" = $((1024 / 4 * scale)) ]
result "R-23 the threshold is the cache by RMIDs" $?
refused_with "invalid" writes $devices/cache_qos/threshold $((1025 * scale)) && writes $devices/cache_qos/threshold 0
result "R-23 it cannot be more than the cache" $?

mkdir $groups/g1 $groups/g2 $groups/g3 $groups/g4
echo 1 >$groups/g1/monitor_cache && echo 1 >$groups/g2/monitor_cache && echo 1 >$groups/g3/monitor_cache
result "R-21 all of them are" $?
refused_with "temporarily unavailable" writes $groups/g4/cacheqos.monitor_cache 1
result "R-55 monitor_cache: EAGAIN when there is none" $?
grep -qx "rmids_used 3" $groups/g4/status && [ "$(cat $groups/g4/monitor_cache)" = 0 ]
result "R-55 status tells where they are" $?
! perf stat -e cache_qos/llc_occupancy/ -- true >said 2>&1 || grep -q "not supported\|not counted" said
result "R-40 perf stat does not print 0 for what cannot be counted" $?

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
result "R-22 an RMID whose lines are there still is not given out" $?

# alloc_dirty: a value that is too large, with an error bound, instead of an error
sim freeze 1
writes $devices/cache_qos/alloc_dirty 1 && writes $groups/g4/monitor_cache 1
result "R-25 alloc_dirty gives it out all the same" $?
value=$(cat $groups/g4/occupancy) bound=$(cat $groups/g4/occupancy_error)
echo "# occupancy $value, error $bound, and none of it is g4's"
[ "$value" = "$left" ] && [ "$bound" -ge "$value" ] && grep -q "^state.* dirty" $groups/g4/status
result "R-26 the truth is within the bound" $?
echo 0 >$devices/cache_qos/alloc_dirty
echo 0 >$groups/g4/monitor_cache
sim freeze 0

sim flush 0
within 5 writes $groups/g4/monitor_cache 1
result "R-55 it is given out once its lines are gone" $?
echo 0 >$groups/g4/monitor_cache
within 5 grep -qx "rmids_free 1" $groups/g4/status
result "R-24 and given back" $?

# The task has its own event, then joins g1, too: no RMID is left for the combination.
cache_qos_load cq-ws2M-100M 100 &
task=$!
sleep 0.5
perf stat -x, -p $task -e cache_qos/llc_occupancy/ -- sleep 8 2>stat &
stat=$!
within 10 grep -qx "rmids_used 3" $groups/g4/status
result "R-40 a task takes the last one" $?
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
result "R-20 without an RMID for both a value is too small, never too large" $?
task_has=$(awk -F, '/llc_occupancy/ { print $1 }' stat)
# One of the two has the whole value, the other is marked as partial.
if grep -q "^state.* partial" $groups/g1/status; then
	[ "$task_has" -gt 0 ]
else
	[ "$value" -gt 0 ]
fi
result "R-20 and says so" $?
sim freeze 0
kill $task
wait $task 2>/dev/null

# Each RMID still has lines in the cache, and no task is monitored any more.
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
result "R-18 a task that could not be watched is forgotten" $?

[ "$(refused)" = 0 ]
result "R-14 no write was refused by the machine" $?
reload profile=spr lines=2048
exit $tap_failed
