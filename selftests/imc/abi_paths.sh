#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every path that the ABI documents promise is there and can be read.
. "$(dirname "$0")/tap.sh"
here=$(dirname "$0")
[ -d /sys/bus/event_source/devices/trace_imc ] || skip_all "no trace_imc"

# What: lines of a document, and the lines that continue them.
promised() {
	for file in "$here/$1" "$here/../../Documentation/ABI/testing/$1"; do
		[ -e "$file" ] && break
	done
	awk '/^What:/ { on = 1; sub(/^What:/, "") } /^[A-Z][A-Za-z]*:/ { on = 0 } on && NF { print $1 }' "$file"
}

# An event of each PMU stands for all; a sampled event has neither scale nor unit.
paths=$(promised sysfs-bus-event_source-devices-imc | sed "s/nest_<unit>/nest_mcs01/g
	s|<pmu>/events/<name>|nest_mcs01/events/PM_MCS01_64B_RD_DISP_PORT01|; s/<pmu>/trace_imc/; s/<chip>/0/"
	promised sysfs-devices-imc_engine | sed 's/<N>/0/')
[ "$(echo "$paths" | wc -l)" -gt 20 ] || { echo "Bail out! no What: lines"; exit 1; }
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
