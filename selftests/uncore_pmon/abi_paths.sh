#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every path that the ABI document promises is there and can be read.
. "$(dirname "$0")/tap.sh"
document=sysfs-bus-event_source-devices-uncore_pmon
here=$(dirname "$0")
for file in "$here/$document" "$here/../../Documentation/ABI/testing/$document"; do
	[ -e "$file" ] && break
done

pmu=$(ls /sys/bus/event_source/devices | grep -m 1 '^uncore_imc_')
[ -n "$pmu" ] || skip_all "no uncore unit"
function=$(basename "$(dirname "$(ls -d /sys/bus/pci/devices/*/uncore_pmon | head -n 1)")")
# What: lines, and the lines that continue them.
paths=$(awk '/^What:/ { on = 1; sub(/^What:/, "") } /^[A-Z][A-Za-z]*:/ { on = 0 } on && NF { print $1 }' "$file" |
	sed "s/uncore_<type>_<id>/$pmu/; s/<name>/cas_count_read/; s/<function>/$function/")
[ -n "$paths" ] || { echo "Bail out! no What: lines in $file"; exit 1; }
plan "$(echo "$paths" | wc -l)"
for path in $paths; do
	if [ -d "$path" ]; then
		ls "$path" >/dev/null
	else
		cat "$path" >/dev/null
	fi
	result "$path" $?
done
exit $tap_failed
