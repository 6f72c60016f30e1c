#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# record_load.sh NAME TERMS [RECORDER-OPTION...] -- LOAD: records the command LOAD with the event hisi_ptt<S>_<C>/TERMS/ into
# $out/NAME.data, with pmukit, or with perf if RECORDER=perf. With REPORT=1 the script also writes the output of `perf report -D` to
# $out/NAME.report. hisi_ptt_checker checks the recording on the host.
KSFT_SKIP=4
out=${OUT:-/out}
[ -d "$out" ] || out=$(mktemp -d)
# Recordings are written here first, because the directory shared with the host rejects writes
# directly from perf's ring.
work=$(mktemp -d)
name=$1 terms=$2
recorder=${RECORDER:-pmukit}
all=-a
[ "$recorder" != pmukit ] || all=	# pmukit needs no -a
shift 2

pmu=$(ls /sys/bus/event_source/devices | grep '^hisi_ptt[0-9]*_[0-9]*$' | head -n 1)
[ -n "$pmu" ] || { echo "TAP version 13"; echo "1..0 # SKIP no hisi_ptt PMU"; exit $KSFT_SKIP; }

# Writes stock perf's report of the recording if REPORT is set.
reported() {
	[ -n "$REPORT" ] || return 0
	perf report -D -i "$work/$name.data" >"$work/$name.report" 2>>"$out/$name.said" && cp "$work/$name.report" "$out"
}

echo "TAP version 13"
echo "1..1"
echo "# $recorder record $all -e $pmu/$terms/ $*"
if "$recorder" record $all -e "$pmu/$terms/" -o "$work/$name.data" "$@" >"$out/$name.said" 2>&1 &&
		cp "$work/$name.data" "$out" && reported; then
	status=0
	echo "ok 1 $name: the load ran and was recorded"
else
	status=1
	echo "not ok 1 $name: the load ran and was recorded"
fi
sed 's/^/# /' "$out/$name.said"
exit $status
