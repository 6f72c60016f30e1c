# SPDX-License-Identifier: GPL-2.0-only
# Sourced by test scripts behind tap.sh and book.sh: walks over memory on an emulated processor with registers of RDT (tools/rdt), and
# readings of them for check_rdt.sh, in the file $readings.
resctrl=/sys/fs/resctrl
module=/lib/vmrun/cache_qos.ko
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

# Other lines are in the L3 of CPU 1, and none of pages that are free: the next walk begins at nothing. Its memory is kept.
evict() { walks "evicted.$1" taskset 2 cache_qos_walk 64 1 "$1" 900; }

# The page of the program's stack and a few more are walked as well.
is_walk() { [ "$1" -ge $((bytes - unit)) ] && [ "$1" -le $((bytes + 2 * unit)) ]; }
