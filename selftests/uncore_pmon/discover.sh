#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# discover.sh: tests that pmukit discover prints the expected units of the live table, with or without the driver, and the same units for
# a saved table.
. "$(dirname "$0")/tap.sh"
function=00:18.0
sysfs=/sys/bus/pci/devices/0000:$function

[ "$(cat $sysfs/device 2>/dev/null)" = 0x09a7 ] || skip_all "no uncore model at $function"

# unit TYPE ID OFFSET COUNTERS CONTROL COUNTER: the expected line for a unit. Documentation/devices/uncore_pmon-model.rst has the
# offsets in BAR 2 and the registers. Counters are 48 bits wide, the model's default.
unit() {
	printf '    unit PMU  of type %s ID %s box ctrl: 0x%x (-) with access type MMIO width 48 numRegs %s ctrlOffset %s ctrOffset %s\n' \
		"$1" "$2" $((base + $3)) "$4" "$5" "$6"
}

expected() {
	base=$(sed -n 3p $sysfs/resource | cut -d' ' -f1)
	echo "PMU type 6 (2 boxes)"
	unit 6 0 0x2a2800 4 64 8
	unit 6 1 0x2aa800 4 64 8
	echo "PMU type 12 (1 boxes)"
	unit 12 0 0x10000 8 16 80
	echo "PMU type 13 (1 boxes)"
	unit 13 0 0x14000 4 16 80
	echo "PMU type 17 (1 boxes)"
	unit 17 0 0x18000 4 16 80
	echo "PMU type 99 (1 boxes)"
	unit 99 0 0x100000 2 16 32
}

# Compares all lines of the live table with the expected ones.
named() {
	expected >"$work/expected"
	diff "$work/expected" "$work/live" >"$work/other" && return
	sed 's/^/# /' "$work/other"
	return 1
}

# same OPTION...: succeeds if the output with these options is the same for the live and for the saved table, except for the length of
# the BAR, because only the table is saved.
same() {
	pmukit discover "$@" >"$work/shown" && sed 's/"bar_bytes":[0-9]*/"bar_bytes":/' "$work/shown" >"$work/live" || return 1
	pmukit discover "$@" "$work/0000:$function" >"$work/shown" && sed 's/"bar_bytes":[0-9]*/"bar_bytes":/' "$work/shown" >"$work/saved" ||
		return 1
	[ -s "$work/live" ] && cmp "$work/live" "$work/saved"
}

plan 5
pmukit discover --save "$work/0000:$function" >"$work/live"
result "pmukit discover --save saves the live table" $?
sed 's/^/# /' "$work/live"
named
result "pmukit discover prints the units at this guest's addresses" $?
same
result "pmukit discover: the output for the saved table is the same as for the live table" $?
same --addresses
result "pmukit discover --addresses: the output for the saved table is the same as for the live table" $?
same --json
result "pmukit discover --json: the output for the saved table is the same as for the live table" $?
exit $tap_failed
