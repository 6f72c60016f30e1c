#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Unloads modules while events and groups use them, and loads them again.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
need_machine
cd "$work" || exit 1
plan 15
driver=/lib/vmrun/cache_qos.ko machine=/lib/vmrun/cache_qos_sim.ko

carries() { ! idle; }
stays() { refused_with "in use\|temporarily\|busy" rmmod "$1"; }
idle() { awk '$1 == "cpu" && $6 != "0" && $6 != "0x0" { bad = 1 } END { exit bad }' $sim/cpus; }

within 5 stat_is probes 0
result "R-14 without a monitor, no probe is attached" $?
perf stat -e cache_qos/llc_occupancy/ -- sleep 100 >/dev/null 2>&1 &
stat=$!
within 60 stat_is probes 3 && stays cache_qos_sim && stays cache_qos
result "R-13 modules cannot be unloaded while an event is open" $?
kill -INT $stat
wait $stat
mkdir $groups/g1
echo 1 >$groups/g1/monitor_cache
in_group g1 cq-ws2M-100M 100
one=$!
sleep 1
within 5 carries && stays cache_qos_sim && stays cache_qos
result "R-13 modules cannot be unloaded while a group is monitored" $?
kill $one
wait $one 2>/dev/null
rmdir $groups/g1
within 5 stat_is probes 0 && idle
result "R-13 after the last group is removed, no probe is attached and all RMIDs are 0" $?

# The simulated machine is unloaded and loaded while events and groups use it.
use() {
	while [ ! -e stop ]; do
		perf stat -a -e cache_qos/llc_occupancy/ -- sleep 0.1
		perf stat -e cache_qos/total_bytes/,cache_qos/llc_occupancy/ -- true
		perf record -R -o use.data -a -e cache_qos_aux/snapshot/ -- sleep 0.1
	done >/dev/null 2>&1
}
use_groups() {
	while [ ! -e stop ]; do
		mkdir $groups/g1 && echo 1 >$groups/g1/monitor_cache && echo 0 >$groups/g1/tasks && cat $groups/g1/occupancy
		rmdir $groups/g1
	done >/dev/null 2>&1
}
use &
first=$!
use_groups &
second=$!
gone=0
for round in 1 2 3 4 5 6 7 8; do
	for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		rmmod cache_qos_sim 2>/dev/null && break
		sleep 0.05
	done
	[ -d $sim ] && continue
	gone=$((gone + 1))
	insmod $machine lines=2048
done
echo stop >stop
wait $first $second
echo "# gone $gone times"
[ $gone -gt 0 ] && [ -d $sim ]
result "R-13 the simulated machine can be unloaded and loaded while programs use events and groups" $?
rmdir $groups/g1 2>/dev/null
within 5 stat_is probes 0
result "R-14 after the programs that use events and groups have ended, no probe is attached" $?
rm stop

rmmod cache_qos_sim && [ ! -d $groups ] && [ ! -d $devices/cache_qos ] && [ ! -d $devices/cache_qos_aux ]
result "R-02 without a simulated machine, the driver has no PMU and no groups" $?
rmmod cache_qos
result "the driver can be unloaded" $?
said=$(dmesg | grep -c "cache_qos: msr: CPU 0: ")
refused_with "no such device" insmod $driver
result "R-01 without hardware support, loading the driver fails with ENODEV" $?
# Each attempt to load logs one line, and insmod may try twice.
said=$(($(dmesg | grep -c "cache_qos: msr: CPU 0: ") - said))
[ $said -ge 1 ] && [ $said -le 2 ]
result "R-01 each failed load logs one line" $?
dmesg | grep "cache_qos: msr: CPU 0: " | tail -n 1 | sed 's/^/# /'
insmod $driver backend=sim && [ ! -d $devices/cache_qos ]
result "R-01 backend=sim registers no PMU before a simulated machine is loaded" $?
refused_with "no such device\|invalid" insmod $machine profile=skx
result "R-04 loading a simulated machine of a processor without monitoring fails" $?
refused=0
for wrong in profile=z80 profile= domains=0 lines=1000 ways=0 seed=0 tick_ms=-1 core_threads=no; do
	refused_with "invalid" insmod $machine $wrong || { echo "# $wrong: $(cat "$work/said")"; refused=1; }
done
result "R-04 loading a simulated machine with invalid parameters fails" $refused
dmesg | grep -q "cache_qos_sim: .* lines=1000 .*: no such machine"
result "R-04 the log shows the rejected parameters" $?
insmod $machine lines=2048 && [ -d $devices/cache_qos ] && [ "$(cat $devices/cache_qos/caps/backend)" = sim ]
result "R-03 caps/backend is sim after a simulated machine is loaded" $?
exit $tap_failed
