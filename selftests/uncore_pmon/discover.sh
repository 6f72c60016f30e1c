#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# discover.sh: pmukit discover on the live table, with the driver or without; a saved table reads as the live one.
. "$(dirname "$0")/tap.sh"
function=00:18.0
sysfs=/sys/bus/pci/devices/0000:$function

[ "$(cat $sysfs/device 2>/dev/null)" = 0x09a7 ] || skip_all "no uncore model at $function"

# Where the units of BAR 2 lie: Documentation/devices/uncore_pmon-model.rst. The seed's words, at this guest's addresses.
named() {
	base=$(sed -n 3p $sysfs/resource | cut -d' ' -f1)
	for unit in "6 ID 0 $((0x2a2800)) 4 ctrlOffset 64" "6 ID 1 $((0x2aa800)) 4 ctrlOffset 64" \
		"12 ID 0 $((0x10000)) 8 ctrlOffset 16" "13 ID 0 $((0x14000)) 4 ctrlOffset 16" "17 ID 0 $((0x18000)) 4 ctrlOffset 16"; do
		set -- $unit
		address=$(printf '0x%x' $((base + $4)))
		grep -q "of type $1 ID $3 box ctrl: $address (-) with access type MMIO width [0-9]* numRegs $5 $6 $7 ctrOffset " "$work/live" || {
			echo "# no unit of type $1 ID $3 at $address"
			return 1
		}
	done
}

# same OPTION...: the live table and the saved one, shown so; but for the length of the BAR, of which only the table is saved.
same() {
	pmukit discover "$@" >"$work/shown" && sed 's/"bar_bytes":[0-9]*/"bar_bytes":/' "$work/shown" >"$work/live" || return 1
	pmukit discover "$@" "$work/0000:$function" >"$work/shown" && sed 's/"bar_bytes":[0-9]*/"bar_bytes":/' "$work/shown" >"$work/saved" ||
		return 1
	[ -s "$work/live" ] && cmp "$work/live" "$work/saved"
}

plan 5
pmukit discover --save "$work/0000:$function" >"$work/live"
result "pmukit discover" $?
sed 's/^/# /' "$work/live"
named
result "it names the units at this guest's addresses" $?
same
result "the saved table reads the same" $?
same --addresses
result "with the addresses of controls and counters" $?
same --json
result "as JSON" $?
exit $tap_failed
