#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Turns of monitors (rotate_ms) on a machine with three RMIDs for monitors, two of which serve turns: shares of time and bytes of
# five events, occupancy, groups of events, and what ends or interrupts a turn.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
need_machine
cd "$work" || exit 1
plan 18
driver=/lib/vmrun/cache_qos.ko machine=/lib/vmrun/cache_qos_sim.ko
parameter=/sys/module/cache_qos/parameters/rotate_ms

# load MS PARAMETER...: loads the driver with rotate_ms=MS, and a machine with these parameters
load() {
	rmmod cache_qos_sim cache_qos
	ms=$1
	shift
	insmod $driver backend=sim ${ms:+rotate_ms=$ms} && insmod $machine "$@"
}
show() { sed 's/^/# /' "$@"; }
# total TID: bytes that the task has moved, as the machine counts them
total() { reference_sum total tid "$1"; }
# shares FILE...: prints the percentage of running time in each file
shares() { awk -F, '/cache_qos/ { print $5 + 0 }' "$@"; }
pqr() { awk -v cpu="$1" '$1 == "cpu" && $2 == cpu { print $6 }' $sim/cpus; }
none_waits() { stat_is waiting 0 && stat_is rmids_used 0 && stat_is probes 0; }

[ "$(cat $parameter)" = 0 ]
result "by default there are no turns" $?
load 5 profile=hsw lines=1024
[ "$(cat $parameter)" = 100 ] && dmesg | grep -q "rotate_ms=5 is not in 100 to 60000: using 100"
result "R-28 rotate_ms is clamped, with one line in the log" $?
dmesg | grep -q "no turns (rotate_ms): this CPU counts no bandwidth"
result "R-28 on a processor without total_bytes, there are no turns and one line in the log" $?

# The programs need more memory than the cache has, so their traffic does not end.
load 200 profile=tiny lines=1024
within 5 stat_is rmids_free 3
sim pqr 0 $((3 << 32))
sim pqr 1 $((5 << 32))
tasks=
for i in 1 2 3 4 5; do
	cache_qos_load cq-ws128M-400M 300 &
	tasks="$tasks $!"
done
sleep 2
for task in $tasks; do
	perf stat --no-scale -x, -o "raw.$task" -p "$task" -e cache_qos/total_bytes/ -- sleep 30 &
	echo $! >>perfs
done
within 25 stat_is waiting 3
result "R-28 five events are open on two RMIDs" $?
for task in $tasks; do
	total "$task" >"before.$task"
done
refused_with "in use\|temporarily\|busy" rmmod cache_qos_sim
result "R-13 the machine cannot be unloaded during turns" $?
# shellcheck disable=SC2046
wait $(cat perfs)
show raw.*
good=0
for task in $tasks; do
	awk -F, -v all=$(($(total "$task") - $(cat "before.$task"))) '/total_bytes/ {
		scaled = $5 > 0 ? $1 / $5 * 100 : 0
		printf "# counted %.0f MB in %.1f %%: %.0f MB of %.0f MB\n", $1, $5, scaled, all / 1e6
		bad = !($1 > 0 && $1 <= all / 1e6 && scaled > all / 1e6 * 0.6 && scaled < all / 1e6 * 1.5)
	} END { exit bad }' "raw.$task" || good=1
done
result "R-28 the bytes are no more than those of the task, and scaled by the share of time they are about all of them" $good
shares raw.* | awk '{ n++; sum += $1; if (!least || $1 < least) least = $1; if ($1 > most) most = $1 }
	END { printf "# %d shares from %.1f to %.1f %%, %.1f %% together\n", n, least, most, sum
	      exit !(n == 5 && least > 5 && most < 3 * least && sum < 205) }'
result "R-28 each event runs for a similar share of the time, together on two RMIDs" $?
[ $(($(pqr 0) >> 32)) = 3 ] && [ $(($(pqr 1) >> 32)) = 5 ]
result "R-09 turns do not change the class of service" $?
within 10 none_waits
result "R-28 after the last event is closed, no monitor waits and no RMID is used" $?

# Occupancy is a gauge: it is never scaled.
rm -f perfs
for task in $tasks; do
	perf stat -x, -o "gauge.$task" -p "$task" -e cache_qos/llc_occupancy/ &
	echo $! >>perfs
done
within 60 stat_is waiting 3
sleep 5
pmukit record --source model -o snapshots.data -a -e cache_qos_aux/snapshot/ -- sleep 3 >said 2>&1 || show said
# shellcheck disable=SC2046
kill -INT $(cat perfs)
# shellcheck disable=SC2046
wait $(cat perfs)
show gauge.*
awk -F, '/llc_occupancy/ { if ($1 ~ /not counted/) next; n++; if ($5 + 0 < 99.9 || $1 > 1024 * 65536) bad = 1 }
	END { exit !(n >= 3 && !bad) }' gauge.*
result "R-28 an occupancy is at most the cache, for the whole time, or it is not counted" $?
pmukit report -i snapshots.data >rows 2>said || show said
show rows
grep -q 'task .*llc_occupancy.*unsettled' rows && grep -q 'task .*total_bytes.*partial' rows
result "R-28 snapshots mark the occupancy of a monitor that waits or has just begun its turn" $?

perf stat -e '{cache_qos/llc_occupancy/,cache_qos/total_bytes/}' -- true >said 2>&1
! grep -q "[0-9] *Bytes\|[0-9] *MB" said
result "R-44 a group of occupancy and bandwidth is refused" $?

# Disturbances during turns
set -- $tasks
rm -f perfs
for task in $tasks; do
	perf stat -x, -o "raw.$task" -p "$task" -e cache_qos/total_bytes/ -- sleep 300 &
	echo $! >>perfs
done
within 5 stat_is waiting 3
mkdir $groups/g1
within 5 writes $groups/g1/monitor_cache 1
result "R-55 a group gets the RMID that turns leave free" $?
before=$(stat_of turns)
sim claim 1
within 8 grep -qx resctrl $devices/cache_qos/registers
yielded=$?
turns=$(stat_of turns)
sleep 2
[ $yielded = 0 ] && [ "$turns" -gt 0 ] && [ "$(stat_of turns)" = "$turns" ]
result "R-07 while resctrl is mounted, no turn begins" $?
sim claim 0
within 8 grep -qx cache_qos $devices/cache_qos/registers
more() { [ "$(stat_of turns)" -gt $((turns + 2)) ]; }
within 10 more
result "R-07 turns continue after resctrl is unmounted" $?
echo "# $before turns before, $turns then, $(stat_of turns) now"
online=/sys/devices/system/cpu/cpu1/online
turns=$(stat_of turns)
echo 0 >$online
within 10 more && echo 1 >$online
result "R-60 turns continue when a CPU goes offline" $?
kill "$1"
# shellcheck disable=SC2046
kill $(cat perfs)
# shellcheck disable=SC2046
wait $(cat perfs) 2>/dev/null
rmdir $groups/g1
within 10 none_waits
result "R-28 when events end during turns, no monitor waits and no RMID is used" $?
# shellcheck disable=SC2086
kill $tasks 2>/dev/null
# shellcheck disable=SC2086
wait $tasks 2>/dev/null
[ "$(refused)" = 0 ] && [ "$(stat_of violations)" = 0 ]
result "R-31 no register write was rejected, and no value was impossible" $?
load "" profile=spr lines=2048
exit $tap_failed
