#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Tests that commands and faults of the simulated machine work as documented, and that the driver counts the faults.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
need_machine
cd "$work" || exit 1
plan 11

refuses() { ! writes $sim/control "$1" 2>/dev/null; }
refuses_all() { for command; do refuses "$command" || { echo "# took '$command'"; return 1; }; done; }
# strikes STAT KIND RMID VALUE: injects a fault of this kind; the driver must count the fault in the statistic STAT
strikes() {
	before=$(stat_of "$1")
	sim fault "$2" "$3" -1 0 1000 "$4" && within 10 counted "$1" "$before"
	result "R-48 the driver counts injected faults in the statistic $1" $?
	sim calm
}
counted() { [ "$(stat_of "$1")" -gt "$2" ]; }

l3=$(field cpus domain cpu 0)
refuses_all nonsense freeze "freeze 1 2" "freeze x" "calm 1" "flush 99" "shrink 99 1" "shrink $l3 1001" "pin 99 0 1" "fill 9999 1" \
	"fill 0 65537" "pqr 9999 0" "evtsel 9999 0" "fault 0 -1 -1 0 1 0" "fault 6 -1 -1 0 1 0"
result "the control file of the simulation rejects unknown or incomplete commands and invalid arguments" $?

sim freeze 1
sim flush "$l3"
sim fill 0 100
[ "$(field domains valid id "$l3")" = 100 ] && [ "$(field rmids lines domain "$l3")" = 100 ]
result "the control command 'fill' adds lines of the CPU's RMID to the CPU's L3" $?
sim pin "$l3" 0 40
sim shrink "$l3" 1000
[ "$(field domains valid id "$l3")" = 40 ]
result "the control command 'shrink' evicts all lines that are not pinned" $?
sim freeze 0

mkdir $groups/m && echo 1 >$groups/m/monitor_cache
in_group m cq-ws1M-100M 100
program=$!
strikes unavailable 1 -1 0
strikes errors 2 -1 0
# The driver checks QM_EVTSEL only after a read with an error.
sim fault 2 -1 -1 0 1000 0
strikes stolen 4 -1 1
strikes hijacks 5 -1 9
# The injected RMID 9 looks like that of another tool: the driver yields until no CPU has this RMID.
for cpu in $(awk '$1 == "cpu" { print $2 }' $sim/cpus); do
	sim pqr "$cpu" 0
done
within 8 grep -qx cache_qos $devices/cache_qos/registers
result "R-08 the driver takes the registers back when no CPU has the other tool's RMID" $?
strikes pqr_faults 3 0xc8f 0
kill $program
wait $program 2>/dev/null
rmdir $groups/m
within 5 stat_is probes 0
full=0
while [ $full -lt 100 ] && writes $sim/control "fault 1 0 -1 1000000 1 0" 2>/dev/null; do full=$((full + 1)); done
[ $full -gt 0 ] && [ $full -lt 100 ] && sim calm
result "the number of faults that can be injected is limited" $?

! reload profile=nonsense 2>/dev/null && dmesg | grep -q 'cache_qos_sim: profile=nonsense.*no such machine'
result "loading cache_qos_sim with an unknown profile fails, and the log names the profile" $?
insmod /lib/vmrun/cache_qos_sim.ko profile=spr lines=2048
exit $tap_failed
