#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# qualify.sh: runs pmukit qualify on models of a CXL device: a healthy one with traffic, then one per fault. Their numbers and faults:
#   0 healthy, 1 hot-list-size-1, 2 offsets-outside, 3 width-0, 4 tail-out-of-range, 5 enable-fails, 6 zero-instances
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/qualify_steps.sh"
[ -d /sys/module/cxl_hmu ] || skip_all "the module is not loaded"
plan 12

qualify cxl_hmu
none FAIL 0 && is PASS 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
result "with the driver loaded, the healthy device passes the read-only checks" $?
qualify --active cxl_hmu
none FAIL 0 && is "NOT TESTED" 0 20 21 25 31
result "--active with the driver loaded: the checks that write registers report NOT TESTED" $?
rmmod cxl_hmu
qualify cxl_hmu
none FAIL 0 && [ "$status" = 1 ]
result "without the driver, the healthy device passes, and the faults lead to exit status 1" $?
cp "$work/report" "$work/before"
qualify --active cxl_hmu
none FAIL 0 && is PASS 0 20 21 22 23 24 25 26 27 30 31
result "--active without the driver: the healthy device passes the checks that write registers" $?
is PASS 0 28 29
result "--active: the healthy device passes checks 28 and 29, which test entries and status bits" $?
is FAIL 1 11
result "fault hot-list-size-1 fails check 11" $?
is FAIL 2 12
result "fault offsets-outside fails check 12" $?
is FAIL 3 20
result "fault width-0 fails check 20" $?
is FAIL 4 27
result "fault tail-out-of-range fails check 27" $?
is FAIL 5 25
result "fault enable-fails fails check 25" $?
is FAIL 6 2
result "fault zero-instances fails check 2" $?
qualify cxl_hmu
# Head and tail may have moved, because entries were read.
strip_positions() { grep -v 'head [0-9]*, tail' "$1"; }
strip_positions "$work/before" >"$work/a"
strip_positions "$work/report" >"$work/b"
cmp "$work/a" "$work/b"
result "after --active each register reads as before, except for head and tail" $?
insmod /lib/vmrun/cxl_hmu.ko
exit $tap_failed
