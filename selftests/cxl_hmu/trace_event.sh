#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# trace_event.sh [DEVICE]: the trace event must have the same records, word by word, as the AUX area and as samples. The trace event also
# fires while the event of the PMU only counts.
. "$(dirname "$0")/hmu.sh"
device=${1:-0}

for program in pmukit perf; do
	command -v $program >/dev/null || skip_all "no $program"
done
pmu=$(pmu_of_device "$device") || skip_all "no CXL memory function $device with a PMU"
needs_model "$device"
event="$pmu/epoch_type=0,access_type=6,hotness_threshold=1,epoch_multiplier=1,epoch_scale=4,hotness_granual=12/"
workload="zipf_access --device $device --accesses 2000 --settle-ms 300"

# A separate trace instance leaves the global trace buffer unchanged.
trace=/sys/kernel/tracing/instances/pmukit_$$
mkdir "$trace" || skip_all "no tracefs"
trap 'echo 0 >"$trace/events/cxl_hmu/cxl_hmu_record/enable"; rmdir "$trace"' EXIT
echo 4096 >"$trace/buffer_size_kb"
echo "pmu == \"$pmu\"" >"$trace/events/cxl_hmu/cxl_hmu_record/filter"
echo 1 >"$trace/events/cxl_hmu/cxl_hmu_record/enable"

# traced NAME COMMAND...: runs the command and saves the trace in $work/NAME.trace
traced() {
	name=$1
	shift
	echo >"$trace/trace"
	"$@" >"$work/$name.said" 2>&1
	status=$?
	sed 's/^/# /' "$work/$name.said"
	cat "$trace/trace" >"$work/$name.trace"
	return $status
}

# words_of_*: print one line per record with its words from the third one, in hexadecimal. Dump and trace event print the first two
# words in different formats.
words_of_trace() {
	sed -n 's/.* cxl_hmu_record: .* words={\(.*\)}$/\1/p' "$1" | sed 's/0x//g; s/,/ /g' | cut -d' ' -f3-
}
words_of_dump() {
	awk '/^Header 0/ { if (line) print line; line = ""; next }
	     /^Header 1 / { next }
	     /^Header/ { sub(/.*: /, "") }
	     /^[0-9a-f]+$/ { sub(/^0+/, ""); line = line (line ? " " : "") ($0 == "" ? "0" : $0) }
	     END { if (line) print line }'
}
identical() {
	words_of_trace "$work/$1.trace" >"$work/$1.traced"
	pmukit dump -i "$work/$1.data" | words_of_dump >"$work/$1.recorded"
	echo "# $1: $(wc -l <"$work/$1.recorded") records, $(wc -w <"$work/$1.recorded") words"
	[ -s "$work/$1.recorded" ] && diff "$work/$1.recorded" "$work/$1.traced" >"$work/$1.diff" && return
	head -n 4 "$work/$1.diff" | sed 's/^/# /'
	return 1
}
# field NAME FIELD: prints the value of a field of each traced record
field() {
	sed -n "s/.* cxl_hmu_record: .* $2=\([^ ]*\) .*/\1/p" "$work/$1.trace"
}

plan 6
traced aux pmukit record --source model -a -e "$event" -o "$work/aux.data" -- $workload && identical aux
result "the records of the trace event are equal to those in the AUX area" $?
traced sample perf record -R -a -e "$event" -o "$work/sample.data" -- $workload && identical sample
result "the records of the trace event are equal to those in samples" $?

traced count perf stat -x , -a -e "$event" -- $workload
counted=$(sed -n "s/^\([0-9]*\),.*$pmu.*/\1/p" "$work/count.said")
entries=$(field count entries | awk '{ sum += $1 } END { print sum + 0 }')
echo "# counted $counted, traced $entries entries"
[ "$entries" -gt 0 ] && [ "$entries" = "$counted" ]
result "the trace event has all entries of an event that only counts" $?
[ "$(field count sequence | head -n 1)" = 0 ] && field count sequence | awk '$1 != NR - 1 { exit 1 }'
result "the trace event has all records of an event that only counts" $?

# perf uses the same recursion context for a sample and for a trace event, so the driver must emit
# the trace event after the sample.
traced both perf record -R -a -e "$event" -e cxl_hmu:cxl_hmu_record -o "$work/both.data" -- $workload &&
	perf script -i "$work/both.data" -F event >"$work/both.events" 2>/dev/null
sampled=$(grep -c "$pmu" "$work/both.events")
echo "# sampled $sampled, traced by perf $(grep -c cxl_hmu_record "$work/both.events")"
[ "$sampled" -gt 0 ] && [ "$(grep -c cxl_hmu_record "$work/both.events")" = "$sampled" ]
result "perf record has one trace event for each sample of the PMU" $?

perf record -a -e cxl_hmu:cxl_hmu_record -o "$work/beside.data" -- \
	pmukit top --once --json --top 1 --source model -e "$event" -- $workload >"$work/top.json" 2>"$work/said"
status=$?
sed 's/^/# /' "$work/said" "$work/top.json"
beside=$(perf script -i "$work/beside.data" -F event 2>/dev/null | grep -c cxl_hmu_record)
echo "# traced by perf $beside"
[ $status = 0 ] && [ "$beside" -gt 0 ] && grep -q '"feed":"bpf"' "$work/top.json" && grep -q '"lost":\[\]' "$work/top.json"
result "perf record and pmukit top can use the trace event at the same time" $?
exit $tap_failed
