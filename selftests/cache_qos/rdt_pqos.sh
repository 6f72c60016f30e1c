#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Tests Debian's pqos, which uses the MSRs of a processor emulated with RDT registers (tools/rdt): first without the driver, then together
# with the driver. The readings are in /out/rdt_pqos.readings; check_rdt.sh compares them with the reference log.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sim.sh"
. "$(dirname "$0")/walk.sh"
readings=/out/rdt_pqos.readings
group=$groups/watched

command -v pqos >/dev/null || skip_all "no pqos"
[ -c /dev/cpu/1/msr ] || skip_all "no msr"
cd "$work" || exit 1
plan 13
: >$readings
# All programs except the walks run on CPU 0.
taskset -p 1 $$ >/dev/null
mkdir -p /var/lock

pqos() { /usr/bin/pqos --iface=msr "$@"; }
# watches FILE: starts pqos, which monitors CPU 1 and writes a line to FILE each second until unwatch is called; $watcher is the pid of pqos
watches() {
	rm -f "$1"
	/usr/bin/pqos --iface=msr -m llc:1 -u csv -o "$1" >said 2>&1 &
	watcher=$!
	within 20 has_lines "$1" 2
}
has_lines() { [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]; }
# later_line FILE: waits for two more lines in FILE, because pqos may have read the value of the next line already
later_line() { within 20 has_lines "$1" $(($(wc -l <"$1") + 2)); }
unwatch() {
	kill -INT $watcher
	wait $watcher 2>/dev/null
}
# llc_of FILE: prints the last occupancy that pqos wrote to FILE, in bytes
llc_of() { awk -F, 'NR > 1 { kib = $3 } END { printf "%d\n", kib * 1024 }' "$1"; }
# has_yielded LINES: succeeds if the driver has yielded to pqos on CPU 1, and has logged LINES lines about RMIDs of other tools
has_yielded() {
	grep -q "^cpu 1 rmid [1-9]" $devices/cache_qos/registers && grep -q "^state.* yielded" $group/status &&
		[ "$(logged "is another tool's")" = "$1" ]
}

# pqos alone
rmmod cache_qos
watches alone
result "pqos starts to monitor CPU 1" $?
walks walked.pqos taskset 2 cache_qos_walk $mib 3 10 900
mark 1
later_line alone
occupancy=$(llc_of alone)
mark 2
reading occupancy pqos 1 10 1 2 "$occupancy"
[ "$occupancy" -ge $((bytes / 16 * 15)) ]
result "without the driver, pqos shows about the size of the walked memory as occupancy" $?
end_walker $walker
unwatch
[ "$(rmid_on 1)" = 0 ]
result "after pqos has ended, CPU 1 has RMID 0" $?

# pqos starts while the driver has the registers.
insmod $module && mount -t configfs configfs /sys/kernel/config
mkdir $group
echo 1 >$group/monitor_cache
busy_in_group $group 20
one=$walker
within 20 sh -c "[ \$(cat $group/occupancy) -gt 0 ]"
result "cache_qos monitors a group on CPU 1" $?
# pqos reads PQR_ASSOC once, at its start. If an unmonitored task runs at that moment, pqos monitors the CPU and the driver yields.
if pqos -m llc:1 -t 4 >said 2>&1; then
	[ "$(logged "is another tool's")" = 1 ] && within 20 registers_are cache_qos
else
	grep -q "Monitoring start error on core(s) 1" said
fi
result "R-08 pqos rejects a CPU with an RMID of the driver, or the driver yields" $?
yields=$(stat_of yields) lines=$(logged "is another tool's")
never_ends 4 30
two=$walker
pqos -e "llc:1=0x00f" >said 2>&1 && pqos -a "llc:1=1" >>said 2>&1
result "pqos limits the ways of class of service 1 and assigns CPU 1 to it" $?
writes_before=$(stat_of pqr_writes)
within 20 sh -c "[ \$(cat /sys/kernel/debug/pmukit/cache_qos/pqr_writes) -gt $((writes_before + 20)) ]"
taskset 2 cache_qos_walk 0 0 40
pqos -s >said 2>&1
reading class pqos 40 "$(sed -n 's/^ *Core 1, .*=> COS\([0-9]*\),.*/\1/p' said)"
[ "$(class_on 1)" = 1 ] && [ "$(grep -c "COS1 => MASK 0xf$" said)" = 2 ]
result "R-09 after 20 RMID writes of the driver, CPU 1 has the class of service and the ways that pqos set" $?
passes
mark 41
occupancy=$(awk '$2 == 1 { print $3 }' $group/occupancy_domains)
mark 42
reading occupancy cache_qos 1 20 41 42 "$occupancy"
pqos -R >said 2>&1
result "pqos resets allocation" $?
[ "$(class_on 1)" = 0 ] && registers_are cache_qos && [ "$(stat_of yields)" = "$yields" ]
result "R-08 the driver does not yield while pqos resets allocation" $?

# Stop the monitored task, so that CPU 1 has RMID 0 and pqos monitors the CPU before the task runs again.
kill -STOP $one
within 20 sh -c "[ \$(dd if=/dev/cpu/1/msr bs=8 count=1 skip=$((0xc8f)) iflag=skip_bytes 2>/dev/null | od -An -tu4 -N4) = 0 ]"
watches beside
result "pqos starts to monitor CPU 1 while no monitored task of the driver runs there" $?
kill -CONT $one
within 60 has_yielded $((lines + 1))
result "R-08 when a monitored task runs on the CPU that pqos monitors, the driver yields and logs one line" $?
unwatch
within 20 registers_are cache_qos && within 20 sh -c "[ \$(cat $group/occupancy) -gt 0 ]"
result "R-08 the driver has the registers and values again after pqos has ended" $?
ends_watch $one $two
