#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# check_recording.sh PMUKIT CHECKER GUEST OUT NAME TRACE AT-LEAST KERNEL: decodes the recording GUEST/NAME.data with the program PMUKIT
# and compares it, with the program CHECKER, with the model's logs in OUT. TRACE is the number of the trace in the logs.
set -eu
pmukit=$1 checker=$2 guest=$3 out=$4 name=$5 trace=$6 at_least=$7 kernel=$8
"$pmukit" dump --tlp -i "$guest/$name.data" >"$out/$name.dump"
grep '^#' "$out/$name.dump" || :
exec "$checker" --dump "$out/$name.dump" --traced "$out/traced.log" --seen "$out/seen.log" --run "$trace" \
	--at-least "$at_least" --kernel "$kernel"
