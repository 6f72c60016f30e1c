#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# qualify.sh: pmukit qualify over the software engine; with it gone there is nothing to qualify.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/qualify_steps.sh"
[ -d /sys/bus/event_source/devices/trace_imc ] || skip_all "no PMU"
plan 4

qualify imc
[ "$status" = 0 ] && none FAIL 0 && is PASS 0 1 2 3 4 5 6 7 8 9 10
result "the engine passes what is read" $?
qualify --active imc
[ "$status" = 0 ] && none FAIL 0 && is PASS 0 13 14 15 16 17 18 19
result "and what events say" $?
qualify --active --bundle "$work/bundle.tar.zst" imc
[ "$status" = 0 ] && [ -s "$work/bundle.tar.zst" ]
result "a bundle is written" $?
rmmod imc_engine imc
qualify imc
[ "$status" = 69 ] && [ "$(wc -l <"$work/error")" = 1 ] && ! [ -s "$work/report" ]
result "without PMUs: status 69 and a line" $?
insmod /lib/vmrun/imc.ko && insmod /lib/vmrun/imc_engine.ko
exit $tap_failed
