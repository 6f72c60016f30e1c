#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# parameters.sh MODULE: the driver always lists units in MSRs or PCI configuration space, and
# accesses them only if a module parameter enables that. In the model, units of these kinds have no
# registers. The driver can detect this only by an access.
# parameters.sh MODULE packages: the function may belong to either of two packages, so the driver
# does not access its MSRs.
. "$(dirname "$0")/tap.sh"
module=$1
sysfs=/sys/bus/event_source/devices

list=/sys/kernel/debug/uncore_pmon/units

[ -d $sysfs/uncore_imc_0 ] || skip_all "no uncore_imc_0"

reload() { rmmod uncore_pmon && insmod "$module" "$@"; }
pmus() { ls $sysfs | grep -c "^uncore_$1_"; }

# lists ACCESS STATE UNIT...: succeeds if exactly these units have the access type and the state
lists() {
	access=$1 state=$2
	shift 2
	sed -n "s/^[^ ]* [0-9]* \([^ ]*\) $access package 0: $state\$/\1/p" $list >"$work/units"
	[ "$(cat "$work/units")" = "$(printf '%s\n' "$@")" ] || { sed 's/^/# /' $list; return 1; }
}

# rejects UNITS WHY: succeeds if the driver rejects exactly UNITS entries, all for the reason WHY
rejects() {
	[ "$(grep -c ' rejected: ' $list)" = "$1" ] && [ "$(grep -c " rejected: $2\$" $list)" = "$1" ]
}

# says PMUS LISTED REJECTED: succeeds if the driver's last summary in the log has these numbers
says() {
	line=$(dmesg | grep "uncore_pmon: [0-9]* PMUs" | tail -n 1)
	echo "# ${line##*] }"
	[ "${line##*"uncore_pmon: "}" = "$1 PMUs, $2 units only listed, $3 rejected" ]
}

if [ "${2-}" = packages ]; then
	plan 3
	[ "$(grep -c ' cha_[0-9]* msr package 0: listed' $list)" = 120 ]
	result "without parameters, debugfs lists the units in MSRs as unused" $?
	reload program_msr=1 && [ "$(pmus cha)" = 0 ] && says 3 0 120
	result "program_msr=1: units in MSRs of an unknown package have no PMU" $?
	rejects 120 "no CPU of its package is known" && [ "$(dmesg | grep -c ": no CPU of its package is known")" = 8 ]
	result "program_msr=1: all units in MSRs of an unknown package are rejected, and 8 lines in the log say so" $?
	exit $tap_failed
fi

plan 13
lists msr "listed: used with program_msr=1" cha_0 cha_1 && lists pci "listed: used with program_pci=1" m2m_0 m2m_1
result "without parameters, debugfs lists the units in MSRs and in PCI configuration space as unused" $?
lists mmio uncore_imc_. imc_0 imc_1 && lists mmio uncore_type_99_0 type_99_0
result "without parameters, debugfs lists the units in MMIO with their PMUs" $?
[ "$(pmus cha)" = 0 ] && [ "$(pmus m2m)" = 0 ] && [ "$(pmus imc)" = 2 ] && says 3 4 0
result "without parameters, only units in MMIO have PMUs" $?
rejects 0 ''
result "without parameters, no unit is rejected, because the driver accesses no unit in MSRs or PCI" $?

reload program_pci=1 && lists msr "listed: used with program_msr=1" cha_0 cha_1 && says 3 2 2
result "program_pci=1: units in PCI configuration space are rejected, those in MSRs are listed as unused" $?
rejects 2 "there is no such PCI function"
result "program_pci=1: debugfs says that units are rejected because the PCI function is missing" $?
# An emulated CPU reads an MSR that it does not have as 0, and ignores writes.
reload program_msr=1 && lists pci "listed: used with program_pci=1" m2m_0 m2m_1 && says 3 2 2
result "program_msr=1: units in MSRs are rejected, those in PCI configuration space are listed as unused" $?
rejects 2 "there is no unit at its control address"
result "program_msr=1: debugfs says that units are rejected because no unit is at their address" $?
[ "$(pmus cha)" = 0 ] && [ "$(pmus m2m)" = 0 ] && [ "$(pmus imc)" = 2 ]
result "program_msr=1: only units in MMIO have PMUs" $?

! insmod "$module" 2>/dev/null && rmmod uncore_pmon && ! insmod "$module" platform=somewhere 2>"$work/said"
result "the invalid parameter platform=somewhere: the module does not load" $?
dmesg | grep -q "uncore_pmon: platform=somewhere is none of auto, spr and gnr"
result "the invalid parameter platform=somewhere: the log has the names of the valid platforms" $?
insmod "$module" platform=gnr && grep -q event=0x06 $sysfs/uncore_imc_0/events/cas_count_read_sch1 &&
	[ ! -e $sysfs/uncore_imc_0/events/cas_count_read ]
result "platform=gnr: sysfs has the events of gnr" $?
reload platform=spr && grep -q event=0x05 $sysfs/uncore_imc_0/events/cas_count_read &&
	[ ! -e $sysfs/uncore_imc_0/events/cas_count_read_sch1 ]
result "platform=spr: sysfs has the events of spr" $?
exit $tap_failed
