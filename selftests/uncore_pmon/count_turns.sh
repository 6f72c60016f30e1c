#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# count_turns.sh LOG: what sharing counters cost the IMC units, from a log of the uncore model in which they did nothing else.
# Each time that perf gives a counter to another event it is read, its control is written, and it is read again; an event that
# comes back to its counter costs the first read alone. The accesses in between are time in which perf's clock of the events goes
# on, and a frozen unit counts nothing in all of it. So no counter is read twice in a turn without a cause, and nothing freezes.
set -eu
exec awk '
$2 == "reg" && $4 ~ /^6\./ {
	unit = $4
	counter = ""
	if ($5 ~ /^0x4[048c]$/)
		counter = index("048c", substr($5, 4))
	if ($3 == "R" && $5 in counters)
		counter = counters[$5]
	accesses[unit]++
	freezes[unit] += $3 == "W" && $5 == "0x0" && $7 ~ /[13579bdf]$/
	if (counter == "")
		next
	turns[unit] += $3 == "W" && $7 != "0x0"
	# A turn of perf takes two milliseconds and more.
	again[unit] += $3 == "R" && last[unit, counter] == "R" && $1 - at[unit, counter] < 1000000
	last[unit, counter] = $3
	at[unit, counter] = $1
}
BEGIN { counters["0x8"] = 1; counters["0x10"] = 2; counters["0x18"] = 3; counters["0x20"] = 4 }
END {
	for (unit in accesses) {
		printf "%s turns=%d accesses=%d again=%d freezes=%d\n", unit, turns[unit], accesses[unit], again[unit], freezes[unit]
		units++
		# The first and the last event of a program cost some more.
		bad += turns[unit] < 100 || again[unit] > 10 || freezes[unit] > 10
	}
	printf "units=%d bad=%d end\n", units, bad
	exit !(units == 2 && !bad)
}' "$1"
