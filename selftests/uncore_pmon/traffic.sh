#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# traffic.sh: the uncore function and the expander have the addresses given to the model. Without a
# driver, this script programs the units' registers, and then reads exact counts of the memory
# accesses of a program. The host checks the model's log with count_accesses.sh.
. "$(dirname "$0")/tap.sh"
uncore=00:18.0
expander=01:00.0

# at BDF IDS: checks that the function at BDF has these IDs
at() {
	device=/sys/bus/pci/devices/0000:$1
	[ "$(cat "$device/vendor" "$device/device" 2>/dev/null | tr '\n' ' ')" = "$2 " ]
	result "$1 has the vendor and device IDs $2" $?
}

register() { uncore_load --function $uncore --bar 2 "$@"; }
# holds NAME OFFSET VALUE: checks the value of the counter at OFFSET
holds() {
	value=$(register --peek "$2")
	[ "$value" = "$3" ]
	result "$1: counter is $value, expected $3" $?
}

# Offsets of the units in BAR 2: Documentation/devices/uncore_pmon-model.rst.
imc0=$((0x2a2800)) imc1=$((0x2aa800)) cxlcm=$((0x10000)) cxldp=$((0x14000)) b2cxl=$((0x18000))

[ "$(cat /sys/bus/pci/devices/0000:$uncore/device 2>/dev/null)" = 0x09a7 ] || skip_all "no uncore model at $uncore"
plan 18
at $uncore "0x8086 0x09a7"
at $expander "0x1234 0x4348"
uncore_load --function $uncore --bar 4 --peek 0 >/dev/null
result "the uncore function responds to a read of its BAR 4" $?

# Reset the units: a driver may have left them frozen.
for unit in $imc0 $imc1 $cxlcm $cxldp $b2cxl; do
	register --width 4 --poke "$unit=0x300"
done
register --width 4 --poke $((imc0 + 0x40))=0xcf05
register --width 4 --poke $((imc0 + 0x44))=0xf005
register --width 4 --poke $((imc1 + 0x40))=0xff05
register --width 4 --poke $((cxlcm + 0x10))=0x0802
register --width 4 --poke $((cxlcm + 0x18))=0x1002
register --width 4 --poke $((cxlcm + 0x30))=0x1041
register --width 4 --poke $((cxldp + 0x10))=0x2002
register --width 4 --poke $((b2cxl + 0x10))=0x0424

uncore_load --function $uncore --bar 4 --reads 700 --writes 300
result "uncore_load loads and stores in the DDR range" $?
uncore_load --function $uncore --bar 4 --offset $((1 << 20)) --reads 50 --width 1 --step 1
result "uncore_load loads from the DDR range of the second IMC unit" $?
uncore_load --function $expander --bar 2 --reads 400 --writes 250 --width 4
result "uncore_load loads and stores in the expander's memory" $?
uncore_load --function $expander --bar 0 --reads 30 --bytes 4096
result "uncore_load loads from the expander's registers" $?

register --width 4 --poke $imc0=1
uncore_load --function $uncore --bar 4 --reads 20
result "uncore_load loads from the DDR range while the first IMC unit is frozen" $?

holds "imc 0 reads" $((imc0 + 0x08)) 700
holds "imc 0 writes" $((imc0 + 0x10)) 300
holds "imc 1 reads and writes" $((imc1 + 0x08)) 50
holds "cxlcm M2S requests" $((cxlcm + 0x50)) 400
holds "cxlcm M2S data" $((cxlcm + 0x58)) 250
holds "cxlcm S2M data" $((cxlcm + 0x70)) 400
holds "cxldp M2S data" $((cxldp + 0x50)) 250
holds "b2cxl M2S requests" $((b2cxl + 0x50)) 400

register --width 4 --poke $imc0=0x300
holds "imc 0 reads after a reset" $((imc0 + 0x08)) 0
for unit in $imc1 $cxlcm $cxldp $b2cxl; do
	register --width 4 --poke "$unit=0x300"
done
uncore_load --function $uncore --bar 4 --reads 10
holds "imc 0 without an event" $((imc0 + 0x08)) 0
exit $tap_failed
