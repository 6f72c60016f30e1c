#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Loads the simulated machine twenty times, with each profile that supports monitoring: the values of a group and of an event are right
# each time.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
need_machine
cd "$work" || exit 1
plan 20

# Commands that wait, for ten seconds at most, until the group has lines in the cache: the program may start late.
some_lines="for _ in \$(seq 100); do [ \$(cat $groups/g1/occupancy) = 0 ] || break; sleep 0.1; done"

# live NAME PARAMETER...: loads the machine and runs a program with this name. Reads the group while the event is open: when the event
# ends, the driver frees the RMID that event and group share, and does not count the lines of this RMID if they are below the threshold.
live() {
	program=$1
	shift
	reload lines=2048 "$@" || return 1
	mkdir $groups/g1 && echo 1 >$groups/g1/monitor_cache || return 1
	in_group g1 "$program" 100
	task=$!
	sleep 0.5
	perf stat -x, -p $task -e cache_qos/llc_occupancy/ -- \
		sh -c "echo 'flush 0' >$sim/control; sleep 0.7; $some_lines; echo 'freeze 1' >$sim/control; sleep 0.2; cat $groups/g1/occupancy >group; sleep 0.2" 2>stat
	group=$(cat group) event=$(awk -F, '/llc_occupancy/ { print $1 }' stat) truth=$(reference_sum lines tid $task)
	sim freeze 0
	kill $task
	wait $task 2>/dev/null
	echo "# $*: group $group, event $event, the reference has $truth"
	rmdir $groups/g1 && [ "$truth" -gt 0 ] && nearly "$group" "$truth" && nearly "$event" "$truth" && [ "$(refused)" = 0 ]
}

round=0
for seed in 1 2; do
	for kind in hsw bdx clx spr gnr-snc emr wide amd-rome amd-genoa amd-turin; do
		round=$((round + 1))
		# On AMD, a unit of the counters is 64 bytes, so the program accesses less memory.
		case $kind in
		amd-*) program=cq-ws16K-4M nodes=1 ;;
		gnr-snc) program=cq-ws2M-400M nodes=2 ;;
		*) program=cq-ws2M-400M nodes=1 ;;
		esac
		live $program nodes=$nodes profile=${kind%-snc} seed=$seed domains=1 mbm_start=$((seed * 16777000))
		result "R-04 simulated machine loaded as $kind, round $round: the occupancy of group and event equals the reference" $?
	done
done
reload profile=spr lines=2048
exit $tap_failed
