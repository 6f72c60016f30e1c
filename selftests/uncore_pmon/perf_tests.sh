#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# perf_tests.sh: perf's own tests of whatever PMUs are there, with ours among them.
. "$(dirname "$0")/tap.sh"

command -v perf >/dev/null || skip_all "no perf"
[ -d /sys/bus/event_source/devices/uncore_imc_0 ] || skip_all "no uncore_imc_0"
# Some of perf's tests are bash scripts that use nothing the guest's shell has not.
if [ ! -e /bin/bash ]; then
	printf '#!/bin/sh\nexec /bin/sh "$@"\n' >/bin/bash
	chmod 755 /bin/bash
fi

# passes NAME: the tests whose name has this in it, in any case; there is at least one and none fails or is skipped
passes() {
	perf test -v "$1" >"$work/said" 2>&1
	sed 's/^/# /' "$work/said"
	# 6.1's test of events looks at the PMU of the CPU alone, which an emulated CPU has not.
	if grep -q 'omitting PMU cpu tests' "$work/said"; then
		result "perf test: $1 (this release looks at no PMU here)" 0
		return
	fi
	# -v takes the name off the line with the verdict in some releases.
	grep -qi "$1" "$work/said" && grep -q ': *Ok' "$work/said" && ! grep -q 'FAILED\|: *Skip' "$work/said"
	result "perf test: $1" $?
}

plan 3
passes "Parsing of all PMU events from sysfs"
passes "perf all PMU test"
# Later releases list units that differ only in their number once.
perf list --raw-dump pmu 2>/dev/null | tr ' ' '\n' >"$work/list"
grep -q 'uncore_imc\(_0\)\?/cas_count_read/' "$work/list"
result "perf list has our events" $?
sed 's/^/# /' "$work/list" | grep uncore
exit $tap_failed
