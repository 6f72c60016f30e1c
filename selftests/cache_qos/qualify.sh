#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# qualify.sh: runs pmukit qualify on the simulated machine, through the driver, and on a processor without monitoring.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/qualify_steps.sh"
[ -d /sys/bus/event_source/devices/cache_qos ] || skip_all "no PMU"
plan 4

qualify cache_qos
[ "$status" = 0 ] && none FAIL 0 && is PASS 0 2 3 4 5 6 9 10
result "the simulated machine passes the read-only checks of pmukit qualify" $?
cp /sys/kernel/debug/cache_qos_sim/cpus "$work/before"
qualify --active cache_qos
[ "$status" = 0 ] && none FAIL 0 && is PASS 0 20 21
result "pmukit qualify --active: the simulated machine passes the checks that open events" $?
is "NOT TESTED" 0 11 12 14 17 18 19 && grep -q 'cache_qos is loaded and has the registers' "$work/report"
result "pmukit qualify --active with the driver loaded: checks that write registers report NOT TESTED" $?
rmmod cache_qos_sim cache_qos
if grep -q '^flags.* cqm ' /proc/cpuinfo; then
	result "a processor without monitoring: status 69 # SKIP this processor has monitoring" 0
else
	qualify cache_qos
	[ "$status" = 69 ] && [ "$(wc -l <"$work/error")" = 1 ] && ! [ -s "$work/report" ]
	result "on a processor without monitoring, pmukit qualify exits with status 69 and one error line" $?
fi
insmod /lib/vmrun/cache_qos.ko backend=sim && insmod /lib/vmrun/cache_qos_sim.ko profile=spr lines=2048
exit $tap_failed
