#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# qualify.sh: runs pmukit qualify with the software engine, with an invalid control block, with an invalid catalog, and without the engine.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/qualify_steps.sh"
[ -d /sys/bus/event_source/devices/trace_imc ] || skip_all "no PMU"
command=/sys/kernel/debug/imc/imc_cmd_0
catalogue=/lib/firmware/pmukit/imc-power9.dtb

# fails NUMBER: succeeds if the check with this number has failed, and no other check
fails() { [ "$status" = 1 ] && [ "$(said 0 FAIL)" = "$1" ]; }

# double: copies a catalog from stdin to stdout, but gives CCYC of cores and threads the offset of 32MHZ_CYC
double() {
	bytes=$(od -An -v -to1 | tr -d '\n')
	moved=$(echo "$bytes" | sed 's/ 000 000 000 200 000 000 000 010/ 000 000 000 210 000 000 000 010/')
	[ "$bytes" != "$moved" ] && printf %b "$(echo "$moved" | sed 's/ /\\0/g')"
}

plan 6

qualify imc
[ "$status" = 0 ] && none FAIL 0 && is PASS 0 1 2 3 4 5 6 7 8 9 10
result "pmukit qualify: imc with the software engine passes the read-only checks" $?
qualify --active imc
[ "$status" = 0 ] && none FAIL 0 && is PASS 0 13 14 15 16 17 18 19
result "pmukit qualify --active: imc with the software engine passes the checks that open events" $?
qualify --active --bundle "$work/bundle.tar.zst" imc
[ "$status" = 0 ] && [ -s "$work/bundle.tar.zst" ]
result "pmukit qualify --bundle writes a file" $?
before=$(cat $command)
echo 9 >$command && qualify imc && fails 8 && grep -q 'imc_cmd_0 is 0x9$' "$work/report"
result "pmukit qualify: an invalid command in a control block fails only check 8 (commands)" $?
echo "$before" >$command
cp $catalogue "$work/catalogue"
rmmod imc_engine && double <"$work/catalogue" >$catalogue && insmod /lib/vmrun/imc_engine.ko && qualify imc && fails 4
result "pmukit qualify: two events of a unit at the same offset fail only check 4 (offsets)" $?
rmmod imc_engine && cp "$work/catalogue" $catalogue
rmmod imc
qualify imc
[ "$status" = 69 ] && [ "$(wc -l <"$work/error")" = 1 ] && ! [ -s "$work/report" ]
result "without PMUs of imc, pmukit qualify exits with status 69 and one error line" $?
insmod /lib/vmrun/imc.ko && insmod /lib/vmrun/imc_engine.ko
exit $tap_failed
