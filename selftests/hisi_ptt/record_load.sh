#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# record_load.sh NAME TERMS [RECORDER-OPTION...] -- LOAD: records LOAD with pmukit, or with
# RECORDER=perf, into $out/NAME.data, as hisi_ptt<S>_<C>/TERMS/; with REPORT=1 the output of `perf
# report -D` into $out/NAME.report. The recording is checked on the host, by hisi_ptt_checker.
KSFT_SKIP=4
out=${OUT:-/out}
[ -d "$out" ] || out=$(mktemp -d)
# Recorded here first: what is shared with the host refuses writes straight from perf's ring.
work=$(mktemp -d)
name=$1 terms=$2
recorder=${RECORDER:-pmukit}
all=-a
[ "$recorder" != pmukit ] || all=	# it knows by itself
shift 2

pmu=$(ls /sys/bus/event_source/devices | grep '^hisi_ptt[0-9]*_[0-9]*$' | head -n 1)
[ -n "$pmu" ] || { echo "TAP version 13"; echo "1..0 # SKIP no hisi_ptt PMU"; exit $KSFT_SKIP; }

# What stock perf says of the recording, when that is asked for
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
