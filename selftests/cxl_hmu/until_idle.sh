#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# until_idle.sh PMU ENTRIES: waits until the PMU has handed over more than so many entries and then nothing for a second.
stats=/sys/bus/event_source/devices/$1/stats
before=$2
last=$before quiet=0
for attempt in $(seq 1 300); do
	sleep 0.1
	now=$(cat "$stats/entries")
	[ "$now" = "$last" ] && quiet=$((quiet + 1)) || quiet=0
	[ "$now" = "$before" ] || [ $quiet -lt 10 ] || exit 0
	last=$now
done
exit 1
