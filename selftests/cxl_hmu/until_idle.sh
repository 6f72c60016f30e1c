#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# until_idle.sh PMU ENTRIES [LEAST]: waits until the PMU has delivered at least LEAST (default 1) entries more than ENTRIES, and
# then no entry for a second.
counters=/sys/kernel/debug/pmukit/$1
before=$2 least=${3:-1}
last=$before quiet=0
for attempt in $(seq 1 1500); do
	sleep 0.1
	now=$(cat "$counters/entries")
	[ "$now" = "$last" ] && quiet=$((quiet + 1)) || quiet=0
	[ $((now - before)) -lt "$least" ] || [ $quiet -lt 10 ] || exit 0
	last=$now
done
exit 1
