# SPDX-License-Identifier: GPL-2.0-only
# Sourced by test scripts after tap.sh and sim.sh: starts walks over memory (cache_qos_walk.c) on a processor emulated with RDT registers
# (tools/rdt), and writes readings for check_rdt.sh to the file $readings.
resctrl=/sys/fs/resctrl
module=/lib/vmrun/cache_qos.ko
# Monitored programs run on the last CPU. The id of this CPU's L3 equals the CPU's number.
cpu=$(($(nproc) - 1))
on_cpu="taskset -c $cpu"
mib=8
bytes=$((mib << 20))
unit=65536

mark() { cache_qos_walk 0 0 "$1"; }
reading() {
	echo "$*" >>"$readings"
	echo "# $*"
}

# recorded EVENT DOMAIN: prints the last value of resctrl's group walk in resctrl.data
recorded() {
	pmukit export --format jsonl -o - -i resctrl.data |
		sed -n "s|.*\"domain\":$2,\"event\":\"$1\",\"bytes\":\([0-9]*\),.*\"backend\":\"resctrl\",\"name\":\"/mon_groups/walk .*|\1|p" | tail -n 1
}
# between A B C: succeeds if B is a number from A to C or from C to A
between() { [ -n "$2" ] && { { [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; } || { [ "$3" -le "$2" ] && [ "$2" -le "$1" ]; }; }; }

# walks FILE COMMAND...: starts COMMAND in the background and waits until it has walked; $walker is its pid
walks() {
	file=$1
	shift
	"$@" >"$file" &
	walker=$!
	within 240 grep -q walked "$file"
}

# evict MARK: fills the L3 of the last CPU with lines of another program. The program does not free its memory, so its lines stay in the
# L3, and the next walk starts without lines.
evict() { walks "evicted.$1" $on_cpu cache_qos_walk 64 1 "$1" 900; }

# is_walk BYTES [UNITS]: succeeds if BYTES is the size of the walk, with tolerance for UNITS (default 2) units of other memory, such as the
# program's stack and its page tables
is_walk() { [ "$1" -ge $((bytes - unit)) ] && [ "$1" -le $((bytes + ${2:-2} * unit)) ]; }

# never_ends MIB MARK: starts an endless walk on the last CPU in the background; $walker is its pid
never_ends() {
	$on_cpu cache_qos_walk "$1" 1000000000 "$2" &
	walker=$!
}
# busy_in_group GROUP MARK: starts an endless walk of 4 MiB on the last CPU, in a group of cache_qos; $walker is its pid
busy_in_group() {
	# shellcheck disable=SC2016
	sh -c 'echo 0 >"$1/tasks" && exec taskset -c "$3" cache_qos_walk 4 1000000000 "$2"' sh "$1" "$2" $cpu &
	walker=$!
}
end_walker() {
	kill "$1"
	wait "$1" 2>/dev/null
}

# msr CPU NUMBER: prints the register as 16 hexadecimal digits; rmid_on CPU, class_on CPU: print these fields of PQR_ASSOC
msr() { dd if="/dev/cpu/$1/msr" bs=8 count=1 skip=$(($2)) iflag=skip_bytes 2>/dev/null | od -An -tx8 | tr -d ' '; }
rmid_on() {
	pqr=$(msr "$1" 0xc8f)
	echo $((0x${pqr#????????}))
}
class_on() {
	pqr=$(msr "$1" 0xc8f)
	echo $((0x${pqr%????????}))
}
registers_are() { [ "$(cat $devices/cache_qos/registers)" = "$1" ]; }
logged() { dmesg | grep -c "cache_qos.*$1"; }

# ends_watch WALKER...: makes the last check of a script that monitors $group; ends the walks and removes the group
ends_watch() {
	[ "$(stat_of pqr_faults)" = 0 ]
	result "R-09 no register write failed" $?
	for walker in "$@"; do end_walker "$walker"; done
	rmdir "$group"
	exit $tap_failed
}
