#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every path that the ABI document promises is there and can be read.
document=sysfs-bus-event_source-devices-hisi_ptt
here=$(dirname "$0")
for file in "$here/$document" "$here/../../Documentation/ABI/testing/$document"; do
	[ -e "$file" ] && break
done

pmu=$(ls /sys/bus/event_source/devices | grep -m 1 '^hisi_ptt[0-9]')
[ -n "$pmu" ] || { echo "1..0 # SKIP no hisi_ptt device"; exit 4; }
port=$(ls "/sys/bus/event_source/devices/$pmu/root_port_filters" | grep -m 1 :)
requester=$(ls "/sys/bus/event_source/devices/$pmu/requester_filters" | grep -m 1 :)
# What: lines, and the lines that continue them.
paths=$(awk '/^What:/ { on = 1; sub(/^What:/, "") } /^[A-Z][A-Za-z]*:/ { on = 0 } on && NF { print $1 }' "$file" |
	sed "s/hisi_ptt<S>_<C>/$pmu/; s/root_port_filters\/<.*>/root_port_filters\/$port/; s/requester_filters\/<.*>/requester_filters\/$requester/")
[ -n "$paths" ] || { echo "Bail out! no What: lines in $file"; exit 1; }

echo "TAP version 13"
echo "1..$(echo "$paths" | wc -l)"
number=0 failed=0
for path in $paths; do
	number=$((number + 1))
	if { [ -d "$path" ] && ls "$path" >/dev/null; } || cat "$path" >/dev/null; then
		echo "ok $number $path"
	else
		echo "not ok $number $path"
		failed=1
	fi
done
exit $failed
