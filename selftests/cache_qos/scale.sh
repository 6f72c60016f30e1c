#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Tests the cost of monitoring: interrupts of CPUs, wake-ups of CPUs to read counters, and the passes of the sampler. Reading a file can
# cause a pass.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
need_machine
cd "$work" || exit 1
# The debug kernels are built without CONFIG_NO_HZ_FULL.
case $(uname -r) in
*-debug) has_nohz_full=0 ;;
*) has_nohz_full=1 ;;
esac
plan $((6 + has_nohz_full))
cpus=$(nproc)

calls() { awk '$1 == "CAL:" { for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]+$/) s += $i; print s + 0 }' /proc/interrupts; }
mark() { ipis=$(stat_of ipis) wakes=$(stat_of wakes) passes=$(stat_of passes) calls=$(calls); }
since() { echo "# $1 on $cpus CPUs: $(($(stat_of ipis) - ipis)) interrupts, $(($(stat_of wakes) - wakes)) wake-ups, $(($(stat_of passes) - passes)) passes, CAL $(($(calls) - calls))"; }
no_limbo() { [ "$(stat_of rmids_limbo)" = 0 ]; }

reload profile=spr lines=1024 domains=2
mkdir $groups/g1
echo 1 >$groups/g1/monitor_cache
sleep 1000 &
asleep=$!
echo $asleep >$groups/g1/tasks
within 20 no_limbo
sleep 1
mark
sleep 10
since "a task that sleeps, 10 s"
[ "$(stat_of ipis)" = "$ipis" ]
result "no CPU is interrupted while only sleeping tasks are monitored" $?
[ $(($(stat_of wakes) - wakes)) -le 2 ]
result "CPUs are woken at most twice in ten seconds while only sleeping tasks are monitored" $?

mark
start=$(awk '{ print int($1 * 10) }' /proc/uptime)
for _ in $(seq 100); do
	cat $groups/g1/occupancy $groups/g1/mbm_total $groups/g1/mbm_local $groups/g1/occupancy_domains >/dev/null
done
read_by=$(stat_of passes)
tenths=$(($(awk '{ print int($1 * 10) }' /proc/uptime) - start))
since "400 reads of files in $tenths tenths of a second"
[ $((read_by - passes)) -le $((tenths + tenths / 4 + 3)) ]
result "reads of files within sample_ms of each other cause one pass of the sampler" $?

many=
for _ in $(seq 30); do
	sleep 1000 &
	many="$many $!"
done
sleep 1
mark
for task in $many; do
	echo "$task"
done | tr '\n' ' ' >$groups/g1/tasks
since "30 sleeping tasks into a group"
[ "$(stat_of ipis)" = "$ipis" ]
result "moving sleeping tasks into a group interrupts no CPU" $?
mark
# shellcheck disable=SC2086
perf stat -p "$(echo $many | tr ' ' ,)" -e cache_qos/llc_occupancy/,cache_qos/total_bytes/,cache_qos/local_bytes/ -- true 2>/dev/null
since "perf stat -p of 30 sleeping tasks, 3 events"
[ $(($(stat_of ipis) - ipis)) -le "$cpus" ]
result "opening events of sleeping tasks interrupts each CPU at most once" $?

in_group g1 cq-ws1M-100M 100
busy=$!
sleep 1
mark
sleep 5
since "one task that runs, 5 s"
[ $(($(stat_of ipis) - ipis)) -le $((10 + 5 * cpus / 2)) ]
result "in five seconds, one running task causes at most 10 interrupts plus 2.5 per CPU" $?

# not_interrupted CPU: succeeds if the check of PQR_ASSOC did not interrupt the nohz_full CPU, which runs the monitored task
not_interrupted() {
	taskset -pc "$1" $busy >/dev/null
	sleep 1
	mark
	sleep 5
	since "one task that runs on the nohz_full CPU $1, 5 s"
	[ "$(awk -v cpu="$1" '$1 == "cpu" && $2 == cpu { print $6 }' $sim/cpus)" != 0 ] && [ "$(stat_of ipis)" = "$ipis" ]
}
if [ $has_nohz_full = 1 ]; then
	isolated=$(cat /sys/devices/system/cpu/nohz_full)
	[ -n "$isolated" ] && not_interrupted "$isolated"
	result "a nohz_full CPU that runs a monitored task is not interrupted" $?
fi
# shellcheck disable=SC2086
kill $asleep $busy $many
wait
rmdir $groups/g1
exit $tap_failed
