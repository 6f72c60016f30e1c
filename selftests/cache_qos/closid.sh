#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Another tool (pqos -a, rdtset, wrmsr) changes the class of service of a CPU a thousand times, while a monitored task and an unmonitored
# one alternate on that CPU.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
need_machine
cd "$work" || exit 1
plan 3

mkdir $groups/g1
echo 1 >$groups/g1/monitor_cache
in_group g1 cq-ws4M-400M 400
one=$!
cache_qos_load cq-ws4M-400M 400 &
two=$!
sleep 2
taskset -p 1 $one >/dev/null
taskset -p 1 $two >/dev/null
yields=$(stat_of yields)
# Write the register on its own CPU, as wrmsr does: a write from another CPU could hit the simulated register during an update by the
# driver.
taskset 1 cache_qos_closid 0 1000 >said
lost=$?
sed 's/^/# /' said
[ $lost = 0 ]
result "R-09 the driver keeps each of the 1000 classes of service that the tool sets" $?
echo "# $(stat_of hijacks) RMIDs were written back, $(stat_of pqr_writes) writes, $(grep ^state $groups/g1/status)"
[ "$(stat_of yields)" = "$yields" ] && grep -q "^registers cache_qos" $groups/g1/status
result "R-08 the driver does not yield the registers to a tool that changes only the class of service" $?
kill $one $two
wait $one $two 2>/dev/null
rmdir $groups/g1
[ "$(refused)" = 0 ]
result "R-09 the simulated machine rejected no register write" $?
exit $tap_failed
