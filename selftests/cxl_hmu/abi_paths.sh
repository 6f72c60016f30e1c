#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What the ABI document promises is there, can be read and has its mode, and it describes every file of the module.
. "$(dirname "$0")/hmu.sh"
. "$(dirname "$0")/abi.sh"
here=$(dirname "$0")
pmu_of_device "${PMUKIT_DEVICE:-0}" >/dev/null || skip_all "no CXL memory function with a PMU"
abi "sysfs-bus-event_source-devices-cxl_hmu debugfs-pmukit" /sys/bus/event_source/devices/cxl_hmu_* \
	/sys/module/cxl_hmu/parameters "$counters"/cxl_hmu_*
exit $tap_failed
