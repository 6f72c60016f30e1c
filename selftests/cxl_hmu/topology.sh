#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# topology.sh: creates a region of one CXL memory device behind a CXL root port, records accesses to the device and saves sysfs of
# the decoders. In $out: topology.data, topology.region (the numbers of the region) and topology/ (the copy), for `pmukit report
# --cxl-topology` and cxl_hmu_topology_checker.
. "$(dirname "$0")/hmu.sh"
bus=/sys/bus/cxl/devices
size=0x10000000

pmu=$(pmu_of_device 0) || skip_all "no CXL memory function with a PMU"
root=$(ls $bus/*/create_ram_region 2>/dev/null | head -n 1)
[ -n "$root" ] || skip_all "no CXL root decoder for volatile memory"
# The endpoint appears a moment after the memory device.
for attempt in 1 2 3 4 5 6 7 8 9 10; do
	decoder=$(ls -d $bus/endpoint*/decoder*.0 2>/dev/null | head -n 1)
	[ -z "$decoder" ] || break
	sleep 1
done

make_region() {
	region=$(cat "$root") && echo "$region" >"$root" || return
	region=$bus/$region
	echo 256 >"$region/interleave_granularity" && echo 1 >"$region/interleave_ways" &&
		echo ram >"$decoder/mode" && echo $size >"$decoder/dpa_size" && echo $size >"$region/size" &&
		echo "${decoder##*/}" >"$region/target0" && echo 1 >"$region/commit"
}

# Copies sysfs of the decoders with the command that Documentation/components/topology.rst recommends.
save_copy() {
	mkdir -p "$work/topology" && cd /sys || return
	find -L bus/cxl/devices devices/system/memory devices/virtual/memory_tiering firmware/acpi/tables/CEDT \
		-maxdepth 3 -name subsystem -prune -o -type f -perm -400 \( -path 'bus/*' ! -path 'bus/*/*/*/*/*' -o \
		-path '*/ram/size' -o -path '*/uport/dev' -o -name block_size_bytes -o -name cpulist -o -name nodelist -o \
		-name CEDT \) 2>/dev/null >"$work/list"
	while read -r file; do
		mkdir -p "$work/topology/${file%/*}"
		cat "$file" >"$work/topology/$file" 2>/dev/null
	done <"$work/list"
	cp -r "$work/topology" "$out"
}

plan 4
[ -n "$decoder" ] && make_region
result "a region of the memory device can be created" $?
[ "$(cat "$region/commit")" = 1 ]
result "the region is committed to the decoders" $?
echo "resource $(cat "$region/resource") dpa $(cat "$decoder/dpa_resource") size $(cat "$region/size")" >"$out/topology.region"
sed 's/^/# /' "$out/topology.region"
save_copy
result "the sysfs files of the CXL decoders are copied" $?
event="$pmu/epoch_type=0,access_type=6,hotness_threshold=1,epoch_multiplier=2,epoch_scale=3,hotness_granual=12/"
pmukit record --source model -a -e "$event" -o "$work/topology.data" -- zipf_access --accesses 3000 --units 512 --burst 100 --settle-ms 300 \
	>"$work/said" 2>&1 && cp "$work/topology.data" "$out"
result "pmukit record records accesses to the device" $?
sed 's/^/# /' "$work/said"
exit $tap_failed
