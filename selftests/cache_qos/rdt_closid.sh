#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rdt_closid.sh ROUNDS: runs on a processor emulated with RDT registers (tools/rdt). Another tool changes the class of service of CPU 1
# through its MSR, ROUNDS times from CPU 1 and ROUNDS times from CPU 0. Meanwhile a monitored task and an unmonitored task alternate on
# CPU 1. The number of changes is in /out/rdt_closid.readings, for check_rdt.sh.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
. "$(dirname "$0")/walk.sh"
readings=/out/rdt_closid.readings
rounds=$1
group=$groups/watched

[ -c /dev/cpu/1/msr ] || skip_all "no msr"
cd "$work" || exit 1
plan 4
: >$readings
mount -t configfs configfs /sys/kernel/config
taskset -p 1 $$ >/dev/null

mkdir $group
echo 1 >$group/monitor_cache
busy_in_group $group 110
one=$walker
never_ends 4 120
two=$walker
within 20 registers_are cache_qos
yields=$(stat_of yields)

# contest CPU MARK: runs the tool on this CPU; wherever the tool runs, it writes the register of CPU 1
contest() {
	mark "$2"
	taskset $((1 << $1)) cache_qos_closid 1 "$rounds" msr >said 2>&1
	lost=$?
	mark $(($2 + 1))
	sed 's/^/# /' said
	reading changes "CPU$1" 1 "$2" $(($2 + 1)) "$rounds"
	[ $lost = 0 ]
	result "R-09 the driver overwrites none of the $rounds classes of service that the tool sets from CPU $1" $?
}
contest 1 130
contest 0 132
echo "# $(stat_of hijacks) RMIDs were written back, $(stat_of pqr_writes) writes"
[ "$(stat_of yields)" = "$yields" ] && registers_are cache_qos
result "R-08 the driver does not yield the registers to a tool that changes only the class of service" $?
ends_watch $one $two
