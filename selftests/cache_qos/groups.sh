#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Groups in configfs, with the interface of the 2014 patches, compared with the simulation's reference counters while programs are frozen.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
root=/sys/kernel/config/cache_qos

mount -t configfs configfs /sys/kernel/config 2>/dev/null
[ -d $root ] || skip_all "no $root"
[ -r $sim/reference ] || skip_all "no simulated machine"
plan 15

# number GROUP: prints the number of the group's monitor
number() { awk '$1 == "monitor" { print $2 }' "$1/status"; }

# in_group GROUP NAME SECONDS: starts a program in the group
in_group() { sh -c 'echo $$ >"$1"/tasks && exec cache_qos_load "$2" "$3"' sh "$@" & }

cd $root || exit 1
writes=$(pqr_writes)
cache_qos_load cq-ws1M-100M 1
[ "$(pqr_writes)" = "$writes" ]
result "R-14 without a monitor, the driver writes no RMID" $?

mkdir g1 && [ "$(cat g1/monitor_cache)" = 0 ] && [ "$(cat g1/cacheqos.monitor_cache)" = 0 ]
result "R-49 a new group is not monitored" $?

! cat g1/cacheqos.occupancy >"$work/out" 2>"$work/err" && grep -qi "no data" "$work/err"
result "R-52 reading the occupancy of an unmonitored group fails with ENODATA" $?

echo 1 >g1/cacheqos.monitor_cache && echo 1 >g1/monitor_cache && [ "$(cat g1/monitor_cache)" = 1 ]
result "R-50 a second write of 1 to monitor_cache has no effect" $?

mkdir g2
before=$(number g1) none=$(number g2)
echo 0 >g1/monitor_cache && echo 1 >g2/monitor_cache && echo 1 >g1/monitor_cache
echo "# group g1 was $before and is $(number g1), g2 was $none and is $(number g2)"
[ "$(number .)" = 0 ] && [ "$none" = - ] && [ "$before" -gt 0 ] && [ "$(number g1)" -gt "$(number g2)" ] && [ "$(number g2)" -gt "$before" ]
result "R-50 the status shows the number of the monitor, which is new each time monitoring starts" $?
rmdir g2

! (echo 2 >g1/monitor_cache) 2>/dev/null && ! (echo x >g1/monitor_cache) 2>/dev/null &&
	[ "$(cat g1/monitor_cache)" = 1 ]
result "R-50 monitor_cache rejects values other than 0 and 1" $?

! (echo 99999999 >g1/tasks) 2>"$work/err" && grep -qi "no such process" "$work/err"
result "R-50 writing a PID that no task has to the file 'tasks' fails with ESRCH" $?

in_group $root/g1 cq-ws4M-200M 600
first=$!
sleep 3
sim freeze 1
occupancy=$(cat g1/cacheqos.occupancy)
truth=$(reference_sum lines tid "$first")
echo "# occupancy $occupancy, the reference has $truth"
[ "$occupancy" -gt 0 ] && [ "$occupancy" = "$truth" ] && [ "$(cat g1/occupancy)" = "$occupancy" ]
result "R-02 R-50 the occupancy of a group equals the reference" $?
grep -qx "$first" g1/tasks
result "R-50 the file 'tasks' lists the task of the group" $?
sim freeze 0

mkdir g1/in && in_group $root/g1/in cq-ws2M-200M 600
second=$!
sleep 3
sim freeze 1
occupancy=$(cat g1/occupancy)
truth=$(reference_sum lines tid "$first" "$second")
echo "# occupancy $occupancy, the reference has $truth"
[ "$occupancy" = "$truth" ]
result "R-51 the occupancy of a group includes its unmonitored child group" $?
echo 1 >g1/in/monitor_cache && [ "$(cat g1/occupancy)" = "$occupancy" ]
result "R-51 the occupancy of a group stays the same when its child group is monitored" $?
sim flush 0
sim freeze 0
sleep 3
sim freeze 1
child=$(cat g1/in/occupancy) parent=$(cat g1/occupancy)
echo "# child $child of $(reference_sum lines tid "$second"), parent $parent of $(reference_sum lines tid "$first" "$second")"
[ "$child" -gt 0 ] && [ "$child" = "$(reference_sum lines tid "$second")" ] &&
	[ "$parent" = "$(reference_sum lines tid "$first" "$second")" ]
result "R-51 the occupancies of a group and of its child group equal the reference" $?
sim freeze 0

kill "$first" "$second"
wait "$first" "$second" 2>/dev/null
! rmdir g1 2>/dev/null && rmdir g1/in && rmdir g1
result "R-53 a group can be removed only after its child group" $?

# come_and_go GROUP: makes and removes this group, which no other process uses, and a group "all" for which the processes compete
come_and_go() {
	for _ in $(seq 100); do
		mkdir "$1" && rmdir "$1" || return 1
		mkdir all 2>/dev/null || continue
		echo 1 >all/monitor_cache
		rmdir all || return 1
	done
}
crowd=
for n in 1 2 3 4; do
	come_and_go "one$n" 2>"$work/err$n" &
	crowd="$crowd $!"
done
failed=0
for one in $crowd; do
	wait "$one" || failed=$((failed + 1))
done
cat "$work"/err[1-4] | head -n 3 | sed 's/^/# /'
[ $failed = 0 ] && ! ls -d ./*/ 2>/dev/null
result "R-49 R-53 four processes can make and remove groups at the same time" $?

[ "$(refused)" = 0 ]
result "R-21 the simulated machine rejected no register write" $?
exit $tap_failed
