#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Each file in the ABI document exists, is readable and has the documented mode; the document describes every file of the module.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/abi.sh"
here=$(dirname "$0")
ls -d /sys/bus/event_source/devices/uncore_imc_* >/dev/null 2>&1 || skip_all "no uncore unit"
abi "sysfs-bus-event_source-devices-uncore_pmon debugfs-pmukit" /sys/bus/event_source/devices/uncore_* /sys/kernel/debug/uncore_pmon /sys/kernel/debug/pmukit/uncore_* \
	/sys/module/uncore_pmon/parameters
exit $tap_failed
