#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every path that the ABI documents promise is there and can be read, and says what the simulated machine is.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/book.sh"
here=$(dirname "$0")
device=/sys/bus/event_source/devices/cache_qos
groups=/sys/kernel/config/cache_qos
[ -d $device ] || skip_all "no cache_qos"
mount -t configfs configfs /sys/kernel/config 2>/dev/null
mkdir $groups/promised && echo 1 >$groups/promised/monitor_cache || exit 1

# What: lines of a document, and the lines that continue them.
promised() {
	for file in "$here/$1" "$here/../../Documentation/ABI/testing/$1"; do
		[ -e "$file" ] && break
	done
	awk '/^What:/ { on = 1; sub(/^What:/, "") } /^[A-Z][A-Za-z]*:/ { on = 0 } on && NF { print $1 }' "$file"
}

paths=$(promised sysfs-bus-event_source-devices-cache_qos; promised configfs-cache_qos | sed 's|/\.\.\./|/promised/|')
[ "$(echo "$paths" | wc -l)" -gt 14 ] || { echo "Bail out! no What: lines"; exit 1; }
plan $(($(echo "$paths" | wc -l) + 5))
for path in $paths; do
	if [ -d "$path" ]; then
		ls "$path" >/dev/null
	else
		cat "$path" >/dev/null
	fi
	result "$path" $?
done

cap() { cat $device/caps/"$1"; }
echo "# $(cap backend): $(cap nr_rmid) RMIDs, units of $(cap scale), $(cap width) bits, quirks '$(cap quirks)'"
[ "$(cap backend)" = sim ] && [ "$(cap source)" = model ]
result "R-03 a simulation says that it is one" $?
[ "$(cap nr_rmid)" = 256 ] && [ "$(cap scale)" = "$(scale)" ] && [ "$(cap width)" = 32 ] && [ -z "$(cap quirks)" ]
result "R-03 RMIDs, unit, width and quirks are the machine's" $?
[ "$(awk '{ print $1, $2, $3 }' $device/domains)" = "$(awk '{ print $2, $4, $6 }' $book/domains)" ]
result "R-03 so are the L3s" $?
[ "$(ls $device/events | grep -v '\.' | tr '\n' ' ')" = "llc_occupancy local_bytes remote_bytes total_bytes " ]
result "R-05 R-38 so are the events" $?
grep -qa "vermagic=$(uname -r) " /lib/vmrun/cache_qos.ko
result "R-64 the driver was built for this kernel" $?
rmdir $groups/promised
exit $tap_failed
