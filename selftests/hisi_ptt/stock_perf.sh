#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# stock_perf.sh: the distribution's perf must list the named events in events/ and must require a value for their filter. The period of a
# sample must be its number of entries.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/perf_test.sh"

command -v perf >/dev/null || skip_all "no perf"
pmu=$(ls /sys/bus/event_source/devices | grep '^hisi_ptt[0-9]*_[0-9]*$' | head -n 1)
[ -n "$pmu" ] || skip_all "no hisi_ptt PMU"
names="posted_inbound nonposted_inbound completions_inbound posted_outbound nonposted_outbound completions_outbound"
port=0x80001
load() { "$@" -- pcie_load --function 01:00.0 --writes 100 --width 4; }

# quiet COMMAND...: runs the command and prints its output as TAP comments
quiet() {
	"$@" >"$work/said" 2>&1
	status=$?
	sed 's/^/# /' "$work/said"
	return $status
}

listed() {
	perf list --raw-dump pmu 2>/dev/null | tr ' ' '\n' >"$work/list"
	grep '^hisi_ptt' "$work/list" | sed 's/^/# /'
	for name in $names; do
		grep -q "^hisi_ptt[0-9_]*/${name}[,/]" "$work/list" || return 1
	done
}

opened() {
	for name in $names; do
		quiet perf stat -x ' ' -a -e "$pmu/$name,filter=$port/" -- true && grep -q "^[0-9].*$name" "$work/said" || return 1
	done
}

wants_filter() {
	for name in $names; do
		! quiet "$@" "$pmu/$name/" -- true || return 1
	done
}

# In perf 6.1 this test reads only the PMU named cpu; perf skips the test on an emulated processor, which has no such PMU.
parses_all() {
	says_ok "Parsing of all PMU events from sysfs" || grep -q 'omitting PMU cpu tests' "$work/said"
}

# periods FILE: prints the sum of the periods of all samples; entries FILE: prints the number of entries in all samples
periods() { perf script -i "$1" -F period 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }'; }
entries() { pmukit dump --tlp -i "$1" | grep -c '^0x'; }

# perf on arm64 knows the PMU and maps an AUX area, so it takes no samples.
samples=yes
[ "$(uname -m)" != aarch64 ] || samples=
plan $((7 + ${samples:+1}+0))
listed
result "perf list shows the named events of hisi_ptt" $?
opened
result "perf stat opens each named event with a filter" $?
wants_filter perf stat -a -e
result "perf stat rejects each named event without a filter" $?
load quiet perf stat -x ' ' -a -e "$pmu/posted_outbound,filter=$port/" && [ "$(sed -n 's/^\([0-9]*\) .*/\1/p' "$work/said")" -ge 100 ]
result "perf stat counts stores with the event posted_outbound" $?
parses_all
result "perf test 'Parsing of all PMU events from sysfs' passes" $?
says_ok "perf all PMU test"
result "perf test 'perf all PMU test' passes" $?
wants_filter pmukit record -o "$work/none.data" -e && grep -q 'filter: it must be given; root ports: ' "$work/said" &&
	load quiet pmukit record -o "$work/named.data" -e "$pmu/posted_outbound,filter=0000:00:10.0/" &&
	[ "$(pmukit dump --tlp -i "$work/named.data" | grep -c ' MWr ')" -ge 100 ]
result "pmukit record accepts a named event with the name of a port as filter, and rejects it without a filter" $?
if [ "$samples" ]; then
	load quiet perf record -R -a -e "$pmu/filter=$port,type=1,direction=1,format=1/" -o "$work/samples.data"
	status=$?
	echo "# entries $(entries "$work/samples.data"), periods $(periods "$work/samples.data")"
	[ $status = 0 ] && [ "$(entries "$work/samples.data")" -ge 100 ] &&
		[ "$(entries "$work/samples.data")" = "$(periods "$work/samples.data")" ]
	result "perf record: the periods of the samples add up to the number of trace entries" $?
fi
exit $tap_failed
