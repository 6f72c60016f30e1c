#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# qualify.sh healthy|faults: pmukit qualify on the uncore model: one healthy function; or, for faults, these functions in this order:
#   0 healthy, 1 control-unaligned, 2 stride-2, 3 bar-prefetchable, 4 registers-all-ones, 5 healthy, with an MMIO global control
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/qualify_steps.sh"
[ -d /sys/module/uncore_pmon ] || skip_all "the module is not loaded"

if [ "$1" = faults ]; then
	plan 6
	qualify uncore_pmon
	is FAIL 1 3
	result "pmukit qualify: a unit with unaligned registers fails check 3 (table entries)" $?
	is FAIL 2 2
	result "pmukit qualify: a table with a stride of 2 words fails check 2 (entry 0)" $?
	is FAIL 3 1
	result "pmukit qualify: a table in a prefetchable BAR fails check 1 (BAR of the table)" $?
	is "NOT TESTED" 4 10 11 && none FAIL 4 && [ "$status" = 1 ]
	result "pmukit qualify: registers that read as all ones fail no check; checks 10 and 11 are not tested" $?
	none FAIL 5 && is PASS 5 27
	result "pmukit qualify, driver loaded: check 27 passes, because the global control freezes no unit" $?
	rmmod uncore_pmon
	for function in /sys/bus/pci/devices/*; do
		[ "$(cat "$function/vendor" "$function/device")" = "$(printf '0x8086\n0x09a7')" ] && last=${function##*/0000:}
	done
	uncore_load --function "$last" --bar 2 --width 4 --poke 0=1 && qualify --active uncore_pmon
	is FAIL 5 27 && is "NOT TESTED" 5 20 26 && is PASS 5 17 18 19
	result "pmukit qualify: a freezing global control fails check 27; clock checks 20 and 26 are not tested" $?
	insmod /lib/vmrun/uncore_pmon.ko
	exit $tap_failed
fi

# Offset of the first memory controller in BAR 2: Documentation/devices/uncore_pmon-model.rst.
imc0=$((0x2a2800))
register() { uncore_load --function 00:18.0 --bar 2 --width 4 "$@"; }

plan 7
qualify uncore_pmon
[ "$status" = 0 ] && none FAIL 0 && is PASS 0 1 2 3 4 5 6 7 8 9 10 11 12 29
result "pmukit qualify, driver loaded: the function without faults passes the read-only checks" $?
qualify --active uncore_pmon
none FAIL 0 && is "NOT TESTED" 0 17 18 19 20 26
result "pmukit qualify --active, driver loaded: checks that write registers are not tested" $?
rmmod uncore_pmon
qualify uncore_pmon
[ "$status" = 0 ] && none FAIL 0
result "pmukit qualify, driver unloaded: the function without faults passes the read-only checks" $?
cp "$work/report" "$work/before"
qualify --active --bundle "$work/bundle.tar.zst" uncore_pmon
[ "$status" = 0 ] && none FAIL 0 && is PASS 0 17 18 19 20 26
result "pmukit qualify --active, driver unloaded: the function passes the checks that write registers" $?
[ -s "$work/bundle.tar.zst" ]
result "pmukit qualify --bundle writes a file" $?
qualify uncore_pmon
# Check 12 reads running clocks: leave it out of the comparison.
sed '/ 12  /,+2d' "$work/before" >"$work/a"
sed '/ 12  /,+2d' "$work/report" >"$work/b"
cmp "$work/a" "$work/b"
result "after pmukit qualify --active, all checks but that of running clocks report the same as before" $?

# Program the unit as PCM and likwid do.
register --poke $imc0=0x200 && register --poke $((imc0 + 0x40))=0xcf05 && uncore_load --function 00:18.0 --reads 70 >/dev/null
qualify --active uncore_pmon
[ "$status" = 0 ] && none FAIL 0 && is "NOT TESTED" 0 17 18 19 20 26 && grep -q 'uncore_imc_0 is not frozen and has an event' "$work/report" &&
	[ "$(register --peek $((imc0 + 0x40)))" = $((0xcf05)) ] && [ "$(register --peek $((imc0 + 0x08)))" = 70 ]
result "pmukit qualify --active does not write registers of a unit that another program uses" $?
register --poke $imc0=0x301
insmod /lib/vmrun/uncore_pmon.ko
exit $tap_failed
