#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every path that the ABI document promises is there and can be read.
. "$(dirname "$0")/hmu.sh"
document=sysfs-bus-event_source-devices-cxl_hmu
here=$(dirname "$0")
for file in "$here/$document" "$here/../../Documentation/ABI/testing/$document"; do
	[ -e "$file" ] && break
done

pmu=$(pmu_of_device "${PMUKIT_DEVICE:-0}") || skip_all "no CXL memory function with a PMU"
# What: lines, and the lines that continue them; <X> stands for a number.
paths=$(awk '/^What:/ { on = 1; sub(/^What:/, "") } /^[A-Z][A-Za-z]*:/ { on = 0 } on && NF { print $1 }' "$file" |
	sed "s/cxl_hmu_mem<X>\.<Y>\.<Z>/$pmu/")
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
