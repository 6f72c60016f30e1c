#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every file in the ABI documents exists, is readable and has the documented mode; the documents describe every file of the module.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/abi.sh"
here=$(dirname "$0")
ls -d /sys/bus/event_source/devices/hisi_ptt[0-9]* >/dev/null 2>&1 || skip_all "no hisi_ptt device"
abi "sysfs-bus-event_source-devices-hisi_ptt debugfs-pmukit" /sys/bus/event_source/devices/hisi_ptt[0-9]* /sys/kernel/debug/pmukit/hisi_ptt*
exit $tap_failed
