#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# qualify.sh healthy|faults: pmukit qualify of the model of the uncore: a healthy function, or one function a fault:
#   0 healthy, 1 control-unaligned, 2 stride-2, 3 bar-prefetchable, 4 registers-all-ones
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/qualify_steps.sh"
[ -d /sys/module/uncore_pmon ] || skip_all "the module is not loaded"

if [ "$1" = faults ]; then
	plan 4
	qualify uncore_pmon
	is FAIL 1 3
	result "fault control-unaligned: an entry that cannot be" $?
	is FAIL 2 2
	result "fault stride-2: no table" $?
	is FAIL 3 1
	result "fault bar-prefetchable: no plain memory" $?
	is FAIL 4 10 && [ "$status" = 1 ]
	result "fault registers-all-ones: units do not answer" $?
	exit $tap_failed
fi

plan 6
qualify uncore_pmon
[ "$status" = 0 ] && none FAIL 0 && is PASS 0 1 2 3 4 5 6 7 8 9 10 11 12
result "the healthy function passes what is read, beside the driver" $?
qualify --active uncore_pmon
none FAIL 0 && is "NOT TESTED" 0 17 18 19 20
result "units that the driver programs are not written" $?
rmmod uncore_pmon
qualify uncore_pmon
[ "$status" = 0 ] && none FAIL 0
result "without the driver it passes what is read" $?
cp "$work/report" "$work/before"
qualify --active --bundle "$work/bundle.tar.zst" uncore_pmon
[ "$status" = 0 ] && none FAIL 0 && is PASS 0 17 18 19 20
result "and what is written" $?
[ -s "$work/bundle.tar.zst" ]
result "a bundle is written" $?
qualify uncore_pmon
# Clocks go on.
sed '/ 12  /,+2d' "$work/before" >"$work/a"
sed '/ 12  /,+2d' "$work/report" >"$work/b"
cmp "$work/a" "$work/b"
result "afterwards each register reads as before" $?
insmod /lib/vmrun/uncore_pmon.ko
exit $tap_failed
