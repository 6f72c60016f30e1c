#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# parameters.sh MODULE: units that are MSRs or lie in PCI configuration space are listed in every case, and touched only where
# the module is told to: nothing is behind those of the model, and only who asks them finds out.
# parameters.sh MODULE packages: nobody says in which of two packages the function is, so nobody asks its MSRs. There are more
# of these units than a file of sysfs has room for.
. "$(dirname "$0")/tap.sh"
module=$1
sysfs=/sys/bus/event_source/devices

function=$(ls -d /sys/bus/pci/devices/*/uncore_pmon 2>/dev/null | head -n 1)
[ -n "$function" ] || skip_all "no uncore function"
bdf=$(basename "$(dirname "$function")")

reload() { rmmod uncore_pmon && insmod "$module" "$@"; }
pmus() { ls $sysfs | grep -c "^uncore_$1_"; }

# lists FILE UNIT...: exactly these
lists() {
	file=$function/$1
	shift
	[ "$(cat "$file")" = "$(printf '%s\n' "$@")" ] || { sed "s|^|# ${file##*/}: |" "$file"; return 1; }
}

# refuses UNITS WHY: so many entries, all for that, and nothing else
refuses() {
	sed 's/^/# refused: /' "$function/refused"
	[ "$(grep -c . "$function/refused")" = "$1" ] && [ "$(grep -c ": $2\$" "$function/refused")" = "$1" ]
}

# says PMUS LISTED REFUSED: in the last line of the log about the function
says() {
	line=$(dmesg | grep "uncore_pmon $bdf: [0-9]* PMUs" | tail -n 1)
	echo "# ${line##*] }"
	[ "${line##*"$bdf": }" = "$1 PMUs, $2 units only listed, $3 refused" ]
}

if [ "${2-}" = packages ]; then
	plan 3
	[ "$(grep -c '^cha_' "$function/msr")" = 120 ]
	result "units that are MSRs are listed" $?
	reload program_msr=1 && [ "$(pmus cha)" = 0 ] && says 3 0 120
	result "program_msr=1: without a package none of them is asked" $?
	refused=$(grep -c ': no CPU of its package is known$' "$function/refused")
	more=$(sed -n 's/^and \([0-9]*\) more$/\1/p' "$function/refused")
	[ "${more:-0}" -gt 0 ] && [ $((refused + more)) = 120 ]
	result "those for which there is no room are counted" $?
	exit $tap_failed
fi

absent="there is no unit at its control address"
plan 13
lists msr cha_0 cha_1 && lists pci m2m_0 m2m_1
result "units that are MSRs or in PCI configuration space are listed" $?
lists mmio imc_0 imc_1 type_99_0
result "and those in memory" $?
[ "$(pmus cha)" = 0 ] && [ "$(pmus m2m)" = 0 ] && [ "$(pmus imc)" = 2 ] && says 3 4 0
result "PMUs are those in memory" $?
refuses 0 ''
result "nothing is refused, for nobody has asked" $?

reload program_pci=1 && lists msr cha_0 cha_1 && lists pci && says 3 2 2
result "program_pci=1: units in PCI configuration space are asked" $?
refuses 2 "there is no such PCI function"
result "and are not there" $?
reload program_msr=1 && lists msr && lists pci m2m_0 m2m_1 && says 3 2 2
result "program_msr=1: units that are MSRs are asked" $?
refuses 2 "$absent"
result "and are not there" $?
[ "$(pmus cha)" = 0 ] && [ "$(pmus m2m)" = 0 ] && [ "$(pmus imc)" = 2 ]
result "PMUs are those in memory still" $?

! insmod "$module" 2>/dev/null && rmmod uncore_pmon && ! insmod "$module" platform=somewhere 2>"$work/said"
result "platform=somewhere is refused" $?
dmesg | grep -q "uncore_pmon: platform=somewhere is none of auto, spr and gnr"
result "and the log says what there is" $?
insmod "$module" platform=gnr && grep -q event=0x06 $sysfs/uncore_imc_0/events/cas_count_read_sch1 &&
	[ ! -e $sysfs/uncore_imc_0/events/cas_count_read ]
result "platform=gnr: its events" $?
reload platform=spr && grep -q event=0x05 $sysfs/uncore_imc_0/events/cas_count_read &&
	[ ! -e $sysfs/uncore_imc_0/events/cas_count_read_sch1 ]
result "platform=spr: its events" $?
exit $tap_failed
