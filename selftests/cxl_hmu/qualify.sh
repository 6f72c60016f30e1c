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
result "pmukit qualify with the driver loaded: the healthy device passes the read-only checks" $?
qualify --active cxl_hmu
none FAIL 0 && is "NOT TESTED" 0 20 21 25 31
result "pmukit qualify --active with the driver loaded: checks that write registers report NOT TESTED" $?
rmmod cxl_hmu
qualify cxl_hmu
none FAIL 0 && [ "$status" = 1 ]
result "pmukit qualify without the driver: the healthy device passes; devices with faults cause status 1" $?
cp "$work/report" "$work/before"
qualify --active cxl_hmu
none FAIL 0 && is PASS 0 20 21 22 23 24 25 26 27 30 31
result "pmukit qualify --active without the driver: the healthy device passes checks that write registers" $?
is PASS 0 28 29
result "pmukit qualify --active: the healthy device passes checks 28 and 29 of entries and status bits" $?
is FAIL 1 11
result "check 11 fails on the device with fault hot-list-size-1" $?
is FAIL 2 12
result "check 12 fails on the device with fault offsets-outside" $?
is FAIL 3 20
result "check 20 fails on the device with fault width-0" $?
is FAIL 4 27
result "check 27 fails on the device with fault tail-out-of-range" $?
is FAIL 5 25
result "check 25 fails on the device with fault enable-fails" $?
is FAIL 6 2
result "check 2 fails on the device with fault zero-instances" $?
qualify cxl_hmu
# Head and tail may have moved, because entries were read.
strip_positions() { grep -v 'head [0-9]*, tail' "$1"; }
strip_positions "$work/before" >"$work/a"
strip_positions "$work/report" >"$work/b"
cmp "$work/a" "$work/b"
result "after pmukit qualify --active, registers read as before, except for head and tail of hot lists" $?
insmod /lib/vmrun/cxl_hmu.ko
exit $tap_failed
