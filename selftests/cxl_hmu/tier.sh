#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# tier.sh: a program with all its memory on node 1, which is the device's, is recorded, and `pmukit tier --apply` moves its
# hottest pages to node 0, a fifth of them at most. What was accessed before and after is counted outside: judge_tier.sh.
. "$(dirname "$0")/hmu.sh"
blocks=/sys/devices/system/memory
accesses=1000000

pmu=$(pmu_of_device 0) || skip_all "no CXL memory function with a PMU"
command -v pmukit >/dev/null || skip_all "no pmukit"
first=$(ls -d /sys/devices/system/node/node1/memory[0-9]* 2>/dev/null | sed 's/.*memory//' | sort -n | head -n 1)
[ -n "$first" ] || skip_all "no memory on node 1"

# Where firmware has programmed the decoders, sysfs has them. This guest's firmware knows nothing of the device, so what
# it would have said is written here: the device's memory, from its first byte, is that of node 1.
describe_node() {
	block_bytes=$((0x$(cat $blocks/block_size_bytes)))
	start=$((first * block_bytes))
	size=$(($(ls -d /sys/devices/system/node/node1/memory[0-9]* | wc -l) * block_bytes))
	mkdir -p "$work/sys/devices/system" && ln -s $blocks /sys/devices/system/node "$work/sys/devices/system" || return
	mkdir -p "$work/sys/bus/cxl/devices" && cd "$work/sys/bus/cxl/devices" || return
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
}

# ask WORD...: one line to the program, one back
ask() {
	echo "$*" >&3
	read -r answer <&4
	echo "# $answer"
	case $answer in "tier_load: ran phase=$2 accesses=$3 ms="*) ;; *) return 1 ;; esac
}

# pages_on NODE: of the program, by the kernel's own book
pages_on() {
	sed -n "s/.* N$1=\([0-9]*\).*/\1/p" "/proc/$pid/numa_maps" | awk '{ sum += $1 } END { print sum + 0 }'
}

plan 6
mem=${pmu#cxl_hmu_} mem=${mem%%.*}
describe_node
result "node 1 is described as the device's memory" $?

mkfifo "$work/to" "$work/from"
tier_load --pages 2048 --node 1 <"$work/to" >"$work/from" &
pid=$!
exec 3>"$work/to" 4<"$work/from"
read -r answer <&4
echo "# $answer"
ask run 1 $accesses
result "the program runs, all its memory on node 1" $?

event="$pmu/epoch_type=0,access_type=6,hotness_threshold=2,epoch_multiplier=1,epoch_scale=4,hotness_granual=12/"
echo "# pmukit record --source model -a -e $event"
pmukit record --source model -a -e "$event" -o "$work/tier.data" -- \
	sh -c "echo run 0 $accesses >&3; read -r answer <&4; sleep 1" >"$work/said" 2>&1
result "what it does is recorded" $?
sed 's/^/# /' "$work/said"

tier() { pmukit tier -i "$work/tier.data" --pid $pid --cxl-topology "$work/sys" --budget 20% "$@"; }
slow=$(pages_on 1)
tier >"$work/plan" 2>&1 && [ "$(pages_on 1)" = "$slow" ]
result "a plan moves nothing" $?
sed 's/^/# /' "$work/plan"
echo "# pages on node 0: $(pages_on 0), on node 1: $slow"
tier --apply --json >"$out/tier.json" && [ "$(pages_on 1)" -lt "$slow" ]
result "the plan is carried out" $?
echo "# pages on node 0: $(pages_on 0), on node 1: $(pages_on 1)"

ask run 2 $accesses
result "the program runs as before" $?
exec 3>&- 4<&-
wait $pid
exit $tap_failed
