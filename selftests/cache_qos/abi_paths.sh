#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Each file in the ABI documents exists, is readable and has the documented mode; the documents describe every file of the module. The
# capabilities in sysfs match the simulated machine.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/abi.sh"
. "$(dirname "$0")/sim.sh"
here=$(dirname "$0")
device=/sys/bus/event_source/devices/cache_qos
groups=/sys/kernel/config/cache_qos
[ -d $device ] || skip_all "no cache_qos"
mount -t configfs configfs /sys/kernel/config 2>/dev/null
mkdir $groups/promised && echo 1 >$groups/promised/monitor_cache || exit 1

abi_more=5
abi "sysfs-bus-event_source-devices-cache_qos configfs-cache_qos debugfs-pmukit" $device ${device}_aux $groups /sys/kernel/debug/pmukit/cache_qos* /sys/module/cache_qos/parameters

cap() { cat $device/caps/"$1"; }
echo "# $(cap backend): $(cap nr_rmid) RMIDs, units of $(cap scale), $(cap width) bits, quirks '$(cap quirks)'"
[ "$(cap backend)" = sim ] && [ "$(cap source)" = model ]
result "R-03 caps/backend and caps/source show that the machine is simulated" $?
[ "$(cap nr_rmid)" = 352 ] && [ "$(cap scale)" = "$(scale)" ] && [ "$(cap width)" = 32 ] && [ -z "$(cap quirks)" ]
result "R-03 caps/ shows the number of RMIDs, scale, counter width and quirks of the simulated machine" $?
[ "$(awk '{ print $1, $2, $3 }' $device/domains)" = "$(awk '{ print $2, $4, $6 }' $sim/domains)" ]
result "R-03 the file 'domains' lists the L3s of the simulated machine" $?
[ "$(ls $device/events | grep -v '\.' | tr '\n' ' ')" = "llc_occupancy local_bytes remote_bytes total_bytes " ]
result "R-05 R-38 events/ has exactly the four events that the simulated machine supports" $?
grep -qa "vermagic=$(uname -r) " /lib/vmrun/cache_qos.ko
result "R-64 the driver was built for this kernel" $?
rmdir $groups/promised
exit $tap_failed
