#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# count_turns.sh LOG: what sharing counters cost the IMC units, from a log of the uncore model in which they did nothing else.
# Each time that perf gives a counter to another event its control is written; the register accesses in between are time in which
# perf's clock of the events goes on, and a frozen unit counts nothing in all of it. So there must be few, and no freezing.
set -eu
exec awk '
$2 == "reg" && $4 ~ /^6\./ {
	accesses[$4]++
	turns[$4] += $3 == "W" && $5 ~ /^0x4[048c]$/ && $7 != "0x0"
	freezes[$4] += $3 == "W" && $5 == "0x0" && $7 ~ /[13579bdf]$/
}
END {
	for (unit in accesses) {
		printf "%s turns=%d accesses=%d freezes=%d\n", unit, turns[unit], accesses[unit], freezes[unit]
		units++
		# Finding the unit, and the first and the last event of a program, cost some more.
		bad += turns[unit] < 100 || accesses[unit] > 3 * turns[unit] + 100 || freezes[unit] > 10
	}
	printf "units=%d bad=%d end\n", units, bad
	exit !(units == 2 && !bad)
}' "$1"
