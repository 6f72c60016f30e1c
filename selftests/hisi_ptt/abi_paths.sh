#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What the ABI document promises is there, can be read and has its mode, and it describes every file of the module.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/abi.sh"
here=$(dirname "$0")
ls -d /sys/bus/event_source/devices/hisi_ptt[0-9]* >/dev/null 2>&1 || skip_all "no hisi_ptt device"
abi "sysfs-bus-event_source-devices-hisi_ptt debugfs-pmukit" /sys/bus/event_source/devices/hisi_ptt[0-9]* /sys/kernel/debug/pmukit/hisi_ptt*
exit $tap_failed
