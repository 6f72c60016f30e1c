#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# tier.sh: records a program whose memory is all on NUMA node 1, which belongs to the device. `pmukit tier --apply` then moves the hottest
# pages of the program, at most a fifth, to node 0. The emulator counts the accesses before and after; check_tier.sh compares the counts.
. "$(dirname "$0")/hmu.sh"
accesses=1000000

pmu=$(pmu_of_device 0) || skip_all "no CXL memory function with a PMU"
command -v pmukit >/dev/null || skip_all "no pmukit"
has_slow_node || skip_all "no memory on node 1"

# ask WORD...: writes one line to the program and reads its answer
ask() {
	echo "$*" >&3
	read -r answer <&4
	echo "# $answer"
	case $answer in "tier_load: ran phase=$2 accesses=$3 ms="*) ;; *) return 1 ;; esac
}

plan 6
describe_slow_node "$pmu"
result "a description of CXL decoders that map node 1 to the device is written" $?

mkfifo "$work/to" "$work/from"
tier_load --pages 2048 --node 1 <"$work/to" >"$work/from" &
pid=$!
exec 3>"$work/to" 4<"$work/from"
read -r answer <&4
echo "# $answer"
ask run 1 $accesses
result "the program runs with all its memory on node 1" $?

event="$pmu/epoch_type=0,access_type=6,hotness_threshold=2,epoch_multiplier=1,epoch_scale=4,hotness_granual=12/"
echo "# pmukit record --source model -a -e $event"
pmukit record --source model -a -e "$event" -o "$work/tier.data" -- \
	sh -c "echo run 0 $accesses >&3; read -r answer <&4; sleep 1" >"$work/said" 2>&1
result "pmukit record records the accesses of the program" $?
sed 's/^/# /' "$work/said"

tier() { pmukit tier -i "$work/tier.data" --pid $pid --cxl-topology "$work/sys" --budget 20% "$@"; }
slow=$(pages_on 1 $pid)
tier >"$work/plan" 2>&1 && [ "$(pages_on 1 $pid)" = "$slow" ]
result "pmukit tier without --apply moves no page" $?
sed 's/^/# /' "$work/plan"
echo "# pages on node 0: $(pages_on 0 $pid), on node 1: $slow"
tier --apply --json >"$out/tier.json" && [ "$(pages_on 1 $pid)" -lt "$slow" ]
result "pmukit tier --apply moves pages from node 1" $?
echo "# pages on node 0: $(pages_on 0 $pid), on node 1: $(pages_on 1 $pid)"

ask run 2 $accesses
result "the program runs again after its pages are moved" $?
exec 3>&- 4<&-
wait $pid
exit $tap_failed
