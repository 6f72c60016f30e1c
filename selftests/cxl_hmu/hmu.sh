# SPDX-License-Identifier: GPL-2.0-only
# Sourced by the scripts of this folder: TAP functions, and functions that find the PMU of a device.
. "$(dirname "$0")/tap.sh"
# Folder in debugfs with the driver's counters of each PMU; debugfs is already mounted.
counters=/sys/kernel/debug/pmukit
# Folder for recordings: the one that vmrun shares with the guest, or $OUT.
out=${OUT:-/out}
[ -d "$out" ] || out=$(mktemp -d)
# Recorders write to $work first, because the shared folder rejects writes directly from perf's ring.

# pmu_of_device N: prints the PMU of instance 0 of the N-th CXL memory function (from 0). Waits for the asynchronous probe of
# cxl_pci; fails if there is no such function or no PMU.
pmu_of_device() {
	pci=$(grep -lx 0x050210 /sys/bus/pci/devices/*/class 2>/dev/null | sort | sed -n "$(($1 + 1))p")
	[ -n "$pci" ] || return 1
	for attempt in 1 2 3 4 5 6 7 8 9 10; do
		mem=$(ls "${pci%/class}" | grep -x 'mem[0-9]*' | head -n 1)
		pmu=cxl_hmu_$mem.0.0
		[ -z "$mem" ] || [ ! -e "/sys/bus/event_source/devices/$pmu" ] || { echo "$pmu"; return 0; }
		sleep 1
	done
	return 1
}

# needs_model N: skips the test unless device N is the model. Programs can access the memory of the model only, and only the
# model logs all accesses.
needs_model() {
	pci=$(grep -lx 0x050210 /sys/bus/pci/devices/*/class | sort | sed -n "$(($1 + 1))p")
	[ "$(cat "${pci%/class}/vendor" "${pci%/class}/device" | tr '\n' ' ')" = "0x1234 0x4348 " ] || skip_all "device $1 is not the model"
}

# NUMA node 1 is the slow node: its memory belongs to the CXL device.
blocks=/sys/devices/system/memory
slow_blocks() { ls -d /sys/devices/system/node/node1/memory[0-9]* 2>/dev/null; }
has_slow_node() { [ -n "$(slow_blocks)" ]; }

# pages_on NODE PID: prints how many pages of the process are on the node, from /proc
pages_on() {
	sed -n "s/.* N$1=\([0-9]*\).*/\1/p" "/proc/$2/numa_maps" | awk '{ sum += $1 } END { print sum + 0 }'
}

# describe_slow_node PMU: writes a substitute for sysfs to $work/sys. sysfs shows CXL decoders only if firmware has programmed
# them, and the firmware of these guests does not know the device. The substitute has decoders that map node 1 to the device's
# memory, from its first byte.
describe_slow_node() {
	mem=${1#cxl_hmu_} mem=${mem%%.*}
	block_bytes=$((0x$(cat $blocks/block_size_bytes)))
	first=$(slow_blocks | sed 's/.*memory//' | sort -n | head -n 1)
	start=$((first * block_bytes))
	size=$(($(slow_blocks | wc -l) * block_bytes))
	mkdir -p "$work/sys/devices/system" &&
		ln -s $blocks /sys/devices/system/node "$work/sys/devices/system" &&
		ln -s /sys/devices/virtual "$work/sys/devices" || return
	(
		mkdir -p "$work/sys/bus/cxl/devices" && cd "$work/sys/bus/cxl/devices" || exit
		mkdir -p decoder0.0 region0 endpoint1 decoder1.0 "${mem}/ram"
		for at in decoder0.0 region0 decoder1.0; do
			printf '0x%x\n' $size >$at/size
			printf '0x%x\n' $start >$at/start
		done
		mv region0/start region0/resource
		for at in decoder0.0 region0; do
			echo 1 >$at/interleave_ways
			echo 256 >$at/interleave_granularity
		done
		echo 1 >decoder0.0/cap_ram && echo 0 >decoder0.0/target_list
		echo ram >region0/mode && echo 1 >region0/commit && echo decoder1.0 >region0/target0
		echo 1 >"$mem/serial" && echo 1 >"$mem/numa_node" && printf '0x%x\n' $size >"$mem/ram/size"
		echo "$mem" >endpoint1/uport
		echo ram >decoder1.0/mode && echo region0 >decoder1.0/region
		echo 0x0 >decoder1.0/dpa_resource && printf '0x%x\n' $size >decoder1.0/dpa_size
	)
}
