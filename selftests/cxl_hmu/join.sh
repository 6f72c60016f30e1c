#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# join.sh: records three PMUs together and checks `pmukit report --join`. A program and a PCIe endpoint use memory of NUMA node 1, which
# belongs to the CXL device; a group of programs occupies a part of a (simulated) cache. The endpoint's reads and writes are known to
# the byte. The script also checks that `pmukit top` shows all three PMUs. The recording is left in $out.
. "$(dirname "$0")/hmu.sh"
accesses=200000 transfers=50 transfer_bytes=4096
devices=/sys/bus/event_source/devices
groups=/sys/kernel/config/cache_qos
control=/sys/kernel/debug/cache_qos_sim/control

hmu=$(pmu_of_device 0) || skip_all "no CXL memory function with a PMU"
ptt=$(ls $devices | grep '^hisi_ptt[0-9]*_[0-9]*$' | head -n 1)
[ -n "$ptt" ] || skip_all "no hisi_ptt PMU"
mount -t configfs configfs /sys/kernel/config 2>/dev/null
[ -d $groups ] && [ -w $control ] || skip_all "no simulated cache"
has_slow_node || skip_all "no memory on node 1"

say() { sed 's/^/# /' "$1"; }

hmu_event="$hmu/epoch_type=0,access_type=6,hotness_threshold=1,epoch_multiplier=1,epoch_scale=4,hotness_granual=12/"
ptt_event="$ptt/filter=0000:00:10.0,type=3,direction=0,format=0/"
qos_event="cache_qos_aux/snapshot,period_ms=100/"
# Snapshots of cache_qos always have times of CLOCK_MONOTONIC, so all PMUs must be recorded with this clock.
record() { pmukit record -k monotonic --source model -a -e "$hmu_event" -e "$ptt_event" -e "$qos_event" "$@" -- sh "$work/load"; }

plan 8
describe_slow_node "$hmu" && mkdir $groups/app && echo 1 >$groups/app/monitor_cache
result "a description of CXL decoders that map node 1 to the device is written, and a group is monitored" $?
cat >"$work/in_group" <<GROUP
echo 0 >$groups/app/tasks && exec cache_qos_load cq-ws4M-400M \$1
GROUP
# The group is busy until the other programs have ended, even on a slow host.
cat >"$work/load" <<LOAD
sh "$work/in_group" 600 &
echo run 0 $accesses | tier_load --pages 512 --node 1 &&
pcie_load --function 01:00.0 --node 1 --fetches $transfers --stores $transfers --bytes $transfer_bytes --pause-us 2000
status=\$?
sleep 1
kill \$!
wait \$! 2>/dev/null
exit \$status
LOAD

record -o "$work/join.data" >"$work/said" 2>&1
result "pmukit record records three PMUs together" $?
say "$work/said"
cp "$work/join.data" "$out"

join() { pmukit report -i "$work/join.data" --join --cxl-topology "$work/sys" --range-bytes 65536 "$@"; }
join --top 8 >"$work/join.txt" 2>&1
say "$work/join.txt"
# The kernel uses memory of all nodes. So on a busy host more units are hot than fit into the hot
# lists, and only the other two PMUs must have no losses.
pmukit report -i "$work/join.data" --top 1 >"$work/report" 2>&1
say "$work/report"
grep -q '^join by host address.* source=model$' "$work/join.txt" && [ "$(grep -c '^  nothing lost$' "$work/report")" -ge 2 ]
result "the report shows that the devices are models, and two PMUs have no losses" $?

pmukit dump -i "$work/join.data" | sed -n 's/^# \(.*\): recorded with CLOCK_MONOTONIC$/\1/p' >"$work/clocks"
say "$work/clocks"
[ "$(wc -l <"$work/clocks")" = 3 ] && ! grep -q 'clocks were used' "$work/join.txt"
result "all three PMUs are recorded with CLOCK_MONOTONIC, and the report does not warn of two clocks" $?

# All ranges (--top 0): ranges of the kernel may be hotter than those of the endpoint.
join --json --top 0 | tr '{' '\n' >"$work/join.json"
# of_node NAME: prints the number NAME that the report has for node 1
of_node() { sed -n "s/^\"node\":1,.*\"$1\":\([0-9]*\).*/\1/p" "$work/join.json" | head -n 1; }
bytes=$((transfers * transfer_bytes))
echo "# node 1: $(of_node accesses) accesses; read by endpoints: $(of_node read_bytes), written: $(of_node written_bytes), both should be $bytes"
[ "$(of_node accesses)" -ge $accesses ] && [ "$(of_node read_bytes)" = $bytes ] && [ "$(of_node written_bytes)" = $bytes ]
result "the report has, for node 1, all bytes that the endpoint read and wrote and all accesses of the program" $?
# Finds a range on node 1 that the endpoint accessed and that has a share of its accesses while the
# group was busy.
awk '/^"hpa":/ { range = /"node":1,"tier":[0-9]/; requester = 0 }
	range && /^"requester":"01:00.0"/ { requester = 1 }
	requester && /"group [^"]*":(1|0\.[0-9]*[1-9])/ { found = 1 }
	END { exit !found }' "$work/join.json"
result "the report shows a hot range with its node, tier and requester, and a group that was busy meanwhile" $?
join --html "$out/join.html"

record -o - 2>"$work/said" | tee "$out/live.data" | pmukit top --once --json --top 3 - >"$work/top.json"
say "$work/said"
say "$work/top.json"
grep -q '"pages":\[{.*"requesters":\[{.*"groups":\[{' "$work/top.json"
result "pmukit top shows pages, requesters and groups of one recording" $?

# The script freezes the simulated cache, so that the occupancy of the group stays the same. pmukit top,
# which reads trace events, must show this value.
sh "$work/in_group" 60 &
for _ in $(seq 30); do
	sleep 1
	[ "$(cat $groups/app/occupancy)" -eq 0 ] || break
done
echo freeze 1 >$control
pmukit top --once --json --top 0 --source model -e "$qos_event" -- sleep 1 >"$work/top.json" 2>"$work/said"
say "$work/said"
say "$work/top.json"
occupancy=$(cat $groups/app/occupancy)
echo "# occupancy of the group: $occupancy"
[ "$occupancy" -gt 0 ] && grep -q "\"group [^\"]*llc_occupancy\",[^}]*\"bytes\":${occupancy}[,}]" "$work/top.json" && grep -q '"feed":"bpf"' "$work/top.json"
result "pmukit top shows the occupancy of a group of cache_qos" $?
echo freeze 0 >$control
kill $!
wait
rmdir $groups/app
exit $tap_failed
