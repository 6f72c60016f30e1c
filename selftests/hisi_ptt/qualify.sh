#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# qualify.sh: runs pmukit qualify on models of a trace device: a healthy one, then one per fault. Their numbers and faults:
#   0 healthy, 1 range-reversed, 2 tune-never-finishes, 3 reset-never-finishes, 4 never-idle
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/qualify_steps.sh"
driver=/sys/bus/pci/drivers/hisi_ptt
[ -d $driver ] || skip_all "the module is not loaded"
plan 10

# Linux 6.1 does not show which function a PMU belongs to, so only one device stays bound.
unbind() { echo "$1" >$driver/unbind; }
for device in $(basename -a $driver/0000:* | sort | tail -n +2); do
	unbind "$device"
done

qualify hisi_ptt
none FAIL 0 && is PASS 0 1 2 3 12 && is "NOT TESTED" 0 4 8
result "pmukit qualify with the driver loaded: checks that read registers report NOT TESTED" $?
qualify --active hisi_ptt
none FAIL 0 && is "NOT TESTED" 0 13 15 17 && is PASS 0 18
result "pmukit qualify --active with the driver loaded: register writes NOT TESTED, check of a trace passes" $?
is PASS 0 19 20
result "pmukit qualify --active with the driver loaded: checks 19 and 20, which read entries, pass" $?

unbind "$(basename $driver/0000:*)"
qualify hisi_ptt
none FAIL 0 && is PASS 0 4 5 6 7 8 9 10 11
result "pmukit qualify without the driver: the healthy device passes the checks that read registers" $?
cp "$work/report" "$work/before"
qualify --active hisi_ptt
none FAIL 0 && is PASS 0 13 14 15 16 17 && is "NOT TESTED" 0 18
result "pmukit qualify --active without the driver: the healthy device passes checks that write registers" $?
is FAIL 1 5
result "check 5 fails on the device with fault range-reversed" $?
is FAIL 2 16
result "check 16 fails on the device with fault tune-never-finishes" $?
is FAIL 3 15
result "check 15 fails on the device with fault reset-never-finishes" $?
is FAIL 4 8
result "check 8 fails on the device with fault never-idle" $?
qualify hisi_ptt
# constant REPORT: prints the report without the checks of values that may change: the write pointer, which was reset, and a tune
# operation that never ends.
constant() {
	awk '/^(PASS|FAIL|NOT TESTED) / { skip = / (9|11)  / } / PASS,/ { next } /^[a-z_]*: / { skip = 0 } !skip' "$1"
}
constant "$work/before" >"$work/a"
constant "$work/report" >"$work/b"
cmp "$work/a" "$work/b"
result "after pmukit qualify --active, registers read as before, except for the write pointer" $?
exit $tap_failed
