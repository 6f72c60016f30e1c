#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# check_rounds.sh ROUNDS OUT: compares the rounds of hisi_ptt_flood_test, in the file ROUNDS, with OUT/buffers-CORE.log, which has the
# number of entries that the model wrote in each trace. Either a round is exact (delivered + lost = written), or its loss is a lower bound.
# A lower bound is valid only if more than three of the four buffers, of 131072 entries each, were unread. The devices with core numbers
# 10 to 12 must have at least one exact round each, the device with core number 16 at least one round with a lower bound.
set -eu
awk '
FILENAME != rounds && /^stop / {
	core = FILENAME
	sub(/.*buffers-/, "", core)
	sub(/\.log$/, "", core)
	sub(/^.*entries=/, "")
	written[core, traces[core]++ + 0] = $0
	next
}
FILENAME != rounds { next }
{
	core = $1
	sum = 0
	first = written[core, used[core] + 0]
	for (i = 0; i < $2; i++) {
		if (!((core, used[core] + 0) in written)) {
			print "core " core ": the model had no trace for this round: " $0
			bad++
			break
		}
		sum += written[core, used[core]++ + 0]
	}
	right = $5 ? $3 + $4 <= sum : $3 + $4 == sum
	if ($5) at_least[core]++; else exact[core]++
	if ($5 && first - $6 <= 3 * 131072) {
		print "core " core ": at least " $4 " lost, and no more than " first - $6 " entries waited"
		bad++
	}
	if (!right) {
		print "core " core ": " sum " written, " $3 " delivered, " ($5 ? "at least " : "") $4 " lost, in " $2 " traces"
		bad++
	}
	all[core]++
}
END {
	for (core = 10; core <= 16; core++) {
		print "core " core ": " all[core] + 0 " rounds, " exact[core] + 0 " exact, " at_least[core] + 0 " with a lower bound"
		if (used[core] != traces[core]) {
			print "core " core ": " traces[core] + 0 " traces, " used[core] + 0 " reported"
			bad++
		}
		if (core <= 12 ? !exact[core] : core == 16 && !at_least[core]) {
			print "core " core ": not one round as it should have"
			bad++
		}
	}
	print (bad ? "rounds wrong=" bad : "rounds all right")
	exit bad != 0
}' rounds="$1" "$2"/buffers-*.log "$1"
