#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# tierd.sh: runs `pmukit tierd` with a program whose memory is all on NUMA node 1, which belongs to the device, and which accesses some
# pages far more often than others. tierd must move hot pages to node 0, within its budget, while the program runs.
. "$(dirname "$0")/hmu.sh"
accesses=50000 budget_percent=20

pmu=$(pmu_of_device 0) || skip_all "no CXL memory function with a PMU"
command -v pmukit >/dev/null || skip_all "no pmukit"
has_slow_node || skip_all "no memory on node 1"
event="$pmu/epoch_type=0,access_type=6,hotness_threshold=2,epoch_multiplier=1,epoch_scale=4,hotness_granual=12/"
# Demotion needs idle page tracking, which not every kernel has.
demote=--no-demote
[ ! -e /sys/kernel/mm/page_idle/bitmap ] || demote=

# load: keeps the program busy until $work/enough exists. Fails if an answer is wrong.
load() {
	until [ -e "$work/enough" ]; do
		echo "run 0 $accesses" >&3
		read -r answer <&4
		case $answer in "tier_load: ran phase=0 accesses=$accesses ms="*) ;; *) return 1 ;; esac
	done
}
begin_load() { rm -f "$work/enough"; load & load=$!; }
end_load() { : >"$work/enough"; wait $load; }

# tierd NAME OPTION...: what it prints goes to $work/NAME
tierd() {
	name=$1
	shift
	# shellcheck disable=SC2086
	exec pmukit tierd --source model -e "$event" -p $pid --policy hottest-first $demote --cxl-topology "$work/sys" "$@" \
		>"$work/$name" 2>&1
}
# within SECONDS PID COMMAND...: succeeds if the command does within this time, and before the process ends
within() {
	until=$(($(date +%s) + $1)) watched=$2
	shift 2
	until "$@"; do
		[ "$(date +%s)" -lt $until ] && kill -0 "$watched" 2>/dev/null || return 1
		sleep 0.5
	done
}
fast_pages() { pages_on 0 $pid; }
has_fast_pages() { [ "$(fast_pages)" -ge "$1" ]; }
say() { sed 's/^/# /' "$1"; }
# is_refused NAME TEXT OPTION...: tierd must end at once with status 1 and one line that has this text.
is_refused() {
	name=$1 text=$2
	shift 2
	(tierd "$name" "$@")
	status=$?
	say "$work/$name"
	[ $status = 1 ] && [ "$(wc -l <"$work/$name")" = 1 ] && grep -q "$text" "$work/$name"
}

mkdir -p /run
plan 11
describe_slow_node "$pmu"
result "a description of CXL decoders that map node 1 to the device is written" $?
mkfifo "$work/to" "$work/from"
tier_load --pages 2048 --node 1 <"$work/to" >"$work/from" &
pid=$!
exec 3>"$work/to" 4<"$work/from"
read -r answer <&4
say "/proc/$pid/numa_maps" | head -n 3
slow=$(pages_on 1 $pid) before=$(fast_pages)
echo "# $answer, pages on node 0: $before, on node 1: $slow"
[ "$slow" -ge 2048 ]
result "the program has its memory on node 1" $?

# The program waits: the kernel moves no page meanwhile.
echo 1 >/proc/sys/kernel/numa_balancing
is_refused balanced 'NUMA balancing'
result "tierd is refused while NUMA balancing is on" $?
echo 0 >/proc/sys/kernel/numa_balancing

begin_load
tierd dry --dry-run --audit "$work/dry.jsonl" &
dry=$!
within 100 $dry grep -q 'would have promoted [1-9]' "$work/dry"
found=$?
kill -INT $dry
wait $dry
status=$?
say "$work/dry"
[ "$found $status" = "0 0" ] && [ "$(pages_on 1 $pid)" = "$slow" ] && grep -q '"result":"planned"' "$work/dry.jsonl"
result "with --dry-run, promotions are reported and no page moves" $?

tierd run --budget $budget_percent% --audit "$work/run.jsonl" --metrics "$work/run.prom" &
run=$!
within 100 $run has_fast_pages $((before + 100))
result "hot pages are promoted while the program runs" $?
echo "# pages on node 0: $(fast_pages), on node 1: $(pages_on 1 $pid)"
is_refused second 'another pmukit tierd runs'
result "a second tierd is refused" $?
kill -TERM $run
wait $run
status=$?
say "$work/run"
all=$(($(fast_pages) + $(pages_on 1 $pid)))
[ $status = 0 ] && grep -q '^[0-9]* intervals: promoted [1-9]' "$work/run" && [ "$(fast_pages)" -le $((all * budget_percent / 100)) ]
result "SIGTERM ends tierd with a summary; the pages on the fast node are within the budget" $?
page=$(sed -n 's/.*"page":\([0-9]*\),.*"result":"moved".*/\1/p' "$work/run.jsonl" | head -n 1)
pmukit tierd --explain "$page" --audit "$work/run.jsonl" >"$work/explained" 2>&1
status=$?
say "$work/explained"
[ $status = 0 ] && grep -q 'promotion from node 1 to node 0: it was hot' "$work/explained" && grep -q 'result: it moved' "$work/explained"
result "--explain says why a page was promoted" $?
grep '^pmukit_tierd_promoted_pages_total{source="model"} [1-9]' "$work/run.prom" && tail -n 1 "$work/run.prom" | grep -qx '# EOF'
result "the metrics have the promoted pages" $?

now=$(fast_pages)
tierd killed --budget 60% &
killed=$!
within 100 $killed has_fast_pages $((now + 20))
found=$?
kill -KILL $killed
wait $killed 2>/dev/null
end_load
[ $? = 0 ] && [ $found = 0 ] && kill -0 $pid
result "the program runs on after tierd is killed while it moves pages" $?
say "$work/killed"
begin_load
within 60 $pid sh -c "timeout -s INT 20 pmukit tierd --source model -e '$event' -p $pid $demote --cxl-topology '$work/sys' -d 0.5 >'$work/next' 2>&1"
say "$work/next"
grep -q '^[0-9]* intervals' "$work/next" && end_load
result "the next tierd runs" $?
exec 3>&- 4<&-
wait $pid
exit $tap_failed
