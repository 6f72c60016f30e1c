# SPDX-License-Identifier: GPL-2.0-only
# Sourced by test scripts behind tap.sh and sim.sh: walks over memory on an emulated processor with registers of RDT (tools/rdt), and
# readings of them for check_rdt.sh, in the file $readings.
resctrl=/sys/fs/resctrl
module=/lib/vmrun/cache_qos.ko
# What is watched runs on the last CPU, whose L3 has the same number.
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

# walks FILE COMMAND...: in the background, until it has walked; $walker
walks() {
	file=$1
	shift
	"$@" >"$file" &
	walker=$!
	within 240 grep -q walked "$file"
}

# Other lines are in the L3 of the last CPU, and none of pages that are free: the next walk begins at nothing. Its memory is kept.
evict() { walks "evicted.$1" $on_cpu cache_qos_walk 64 1 "$1" 900; }

# The page of the program's stack and a few more are walked as well.
is_walk() { [ "$1" -ge $((bytes - unit)) ] && [ "$1" -le $((bytes + 2 * unit)) ]; }

# never_ends MIB MARK: on the last CPU, in the background; $walker
never_ends() {
	$on_cpu cache_qos_walk "$1" 1000000000 "$2" &
	walker=$!
}
# busy_in_group GROUP MARK: the same, in a group of cache_qos
busy_in_group() {
	# shellcheck disable=SC2016
	sh -c 'echo 0 >"$1/tasks" && exec taskset -c "$3" cache_qos_walk 4 1000000000 "$2"' sh "$1" "$2" $cpu &
	walker=$!
}
end_walker() {
	kill "$1"
	wait "$1" 2>/dev/null
}

# msr CPU NUMBER: 16 hexadecimal digits; rmid_on CPU, class_on CPU: of PQR_ASSOC
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

# ends_watch WALKER...: the last check of a script that watched $group
ends_watch() {
	[ "$(stat_of pqr_faults)" = 0 ]
	result "R-09 no write was refused" $?
	for walker in "$@"; do end_walker "$walker"; done
	rmdir "$group"
	exit $tap_failed
}
