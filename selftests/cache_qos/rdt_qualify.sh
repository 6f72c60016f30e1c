#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rdt_qualify.sh [silent]: pmukit qualify on a processor emulated with RDT registers (tools/rdt), with the driver, without it, and while
# another program or resctrl has the registers. The number of register writes is in /out/rdt_qualify.readings, for check_rdt.sh.
# silent: a processor on which each read of QM_CTR returns an error.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
. "$(dirname "$0")/walk.sh"
. "$(dirname "$0")/qualify_steps.sh"
readings=/out/rdt_qualify.readings

[ -c /dev/cpu/0/msr ] || skip_all "no msr"
cd "$work" || exit 1

if [ "${1-}" = silent ]; then
	plan 1
	qualify --active cache_qos
	[ "$status" = 1 ] && [ "$(said 0 FAIL)" = 11 ] && is "NOT TESTED" 0 14 16 19 && is PASS 0 12 15 17 18
	result "check 11 of pmukit qualify fails on a processor whose QM_CTR always returns an error" $?
	exit $tap_failed
fi

# registers: prints the monitoring registers of all CPUs
registers() {
	for each in 0 1; do
		echo "$each $(msr $each 0xc8d) $(msr $each 0xc8f)"
	done
}
# set_pqr CPU RMID: writes the RMID and class of service 0 to PQR_ASSOC
set_pqr() {
	printf "\\$(printf %03o "$2")\\0\\0\\0\\0\\0\\0\\0" |
		dd of="/dev/cpu/$1/msr" bs=8 count=1 seek=$((0xc8f)) oflag=seek_bytes conv=notrunc 2>/dev/null
}
# held MARK WHY: succeeds if pmukit qualify reads the registers, which are in use, writes none of them and reports the reason WHY
held() {
	registers >before
	mark "$1"
	qualify --active cache_qos
	mark $(($1 + 1))
	registers >after
	for each in 0 1; do
		reading writes pmukit $each "$1" $(($1 + 1)) 0
	done
	[ "$status" = 0 ] && none FAIL 0 && is PASS 0 1 2 3 4 5 6 7 8 9 10 && is "NOT TESTED" 0 11 12 13 14 15 16 17 18 19 &&
		grep -q "not written: .*$2" report && ! grep -q taint error && cmp before after
}

plan 6
: >$readings
qualify --active cache_qos
[ "$status" = 0 ] && none FAIL 0 && is PASS 0 1 2 3 4 5 6 7 8 9 10 20 21 && is "NOT TESTED" 0 11 19 &&
	grep -q '^cache_qos: this processor$' report && grep -q 'cache_qos is loaded' report
result "pmukit qualify with the driver loaded: checks that read or open events pass, writes NOT TESTED" $?

rmmod cache_qos
registers >before
mark 1
qualify --active cache_qos
mark 2
registers >after
for each in 0 1; do
	reading changes pmukit $each 1 2 0
done
# Check 13 needs an SMT sibling, and these CPUs have none. The checks 20 and 21 need the driver.
[ "$status" = 0 ] && none FAIL 0 && is PASS 0 1 2 3 4 5 6 7 8 9 10 11 12 14 15 16 17 18 19 && is "NOT TESTED" 0 13 20 21 &&
	[ "$(grep -c 'taint flag S' error)" = 1 ]
result "pmukit qualify without the driver: the processor passes the checks that read or write registers" $?
cmp before after
result "after pmukit qualify --active, each register reads as before" $?

set_pqr 1 5 && [ "$(rmid_on 1)" = 5 ] && held 3 "CPU 1 carries RMID 5"
result "while another program uses an RMID, pmukit qualify writes no register" $?
set_pqr 1 0

mount -t resctrl resctrl $resctrl && held 5 "resctrl is mounted"
result "while resctrl is mounted, pmukit qualify writes no register" $?
unshare -m sh -c "umount $resctrl && ! grep -q resctrl /proc/mounts && pmukit qualify --active cache_qos" >report
sed 's/^/# /' report
is "NOT TESTED" 0 11 12 17 18 19 && grep -q "not written: resctrl is mounted" report
result "pmukit qualify writes no register if resctrl is mounted in another mount namespace" $?
umount $resctrl
insmod $module
exit $tap_failed
