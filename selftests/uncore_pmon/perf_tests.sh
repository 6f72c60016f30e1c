#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# perf_tests.sh: runs perf's own tests of all registered PMUs, which include the PMUs of uncore_pmon.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/perf_test.sh"

command -v perf >/dev/null || skip_all "no perf"
[ -d /sys/bus/event_source/devices/uncore_imc_0 ] || skip_all "no uncore_imc_0"
sysfs=/sys/bus/event_source/devices

# In perf 6.1, the test that parses events in sysfs reads only the PMU called cpu; perf skips it on an emulated processor without that PMU.
# So this function runs the test once per uncore PMU, in a copy of sysfs that has the uncore PMU under the name and the type number of cpu.
# In all releases the test only parses events/ and format/ and opens no event.
each_as_cpu() {
	for pmu in $sysfs/uncore_*; do
		tree=$work/as-cpu
		rm -rf "$tree"
		mkdir -p "$tree/bus/event_source/devices/cpu"
		for folder in /sys/*; do
			[ "$folder" = /sys/bus ] || ln -s "$folder" "$tree/"
		done
		cp -r "$pmu/events" "$pmu/format" "$tree/bus/event_source/devices/cpu/" || return 1
		echo 4 >"$tree/bus/event_source/devices/cpu/type"
		says_ok "$1" "SYSFS_PATH=$tree" || return 1
		echo "# passed by ${pmu##*/} in the place of cpu"
	done
}

parses_all() {
	if says_ok "$1"; then
		return 0
	fi
	grep -q 'omitting PMU cpu tests' "$work/said" && each_as_cpu "$1"
}

# Opens each event in events/ of each uncore PMU by its name, which no test of perf 6.1 does.
opens_all() {
	opened=0
	for pmu in $sysfs/uncore_*; do
		events=$(ls "$pmu/events" | grep -v '\.' | sed "s|.*|${pmu##*/}/&/|")
		[ -n "$events" ] || continue
		perf stat -a -e "$(echo "$events" | tr '\n' ',' | sed 's/,$//')" -- true >"$work/said" 2>&1 &&
			! grep -q 'not supported' "$work/said" || { sed 's/^/# /' "$work/said"; return 1; }
		opened=$((opened + $(echo "$events" | wc -l)))
	done
	echo "# $opened events opened"
	[ "$opened" -gt 50 ]
}

plan 4
parses_all "Parsing of all PMU events from sysfs"
result "perf test 'Parsing of all PMU events from sysfs' passes" $?
says_ok "perf all PMU test"
result "perf test 'perf all PMU test' passes" $?
opens_all
result "perf stat opens every event in sysfs" $?
# Later releases of perf list PMUs that differ only in their number as one PMU, without the number.
perf list --raw-dump pmu 2>/dev/null | tr ' ' '\n' >"$work/list"
grep -q 'uncore_imc\(_0\)\?/cas_count_read/' "$work/list"
result "perf list shows the events of uncore_imc" $?
sed 's/^/# /' "$work/list" | grep uncore
exit $tap_failed
