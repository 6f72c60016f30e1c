#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Checks that each file of the ABI documents exists, is readable and has its mode, and that the documents describe every file of
# the module.
. "$(dirname "$0")/hmu.sh"
. "$(dirname "$0")/abi.sh"
here=$(dirname "$0")
pmu_of_device "${PMUKIT_DEVICE:-0}" >/dev/null || skip_all "no CXL memory function with a PMU"
abi "sysfs-bus-event_source-devices-cxl_hmu debugfs-pmukit" /sys/bus/event_source/devices/cxl_hmu_* \
	/sys/module/cxl_hmu/parameters "$counters"/cxl_hmu_*
exit $tap_failed
