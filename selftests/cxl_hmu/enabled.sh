#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# enabled.sh N: tests the driver with a function that has an instance that was enabled before the driver attached: the N-th
# CXL memory function (from 0). Needs the module's file in PMUKIT_MODULE, and the module loaded without parameters.
. "$(dirname "$0")/hmu.sh"
module=${PMUKIT_MODULE:-}

[ -e "$module" ] || skip_all "no module in PMUKIT_MODULE"

plan 3
! pmu_of_device "$1" >/dev/null && [ "$(dmesg | grep -c 'cxl_hmu.*: left alone: it is enabled')" = 1 ]
result "an instance that is enabled is left alone, with one line" $?
rmmod cxl_hmu && insmod "$module" take_enabled=1 && pmu_of_device "$1" >/dev/null
result "take_enabled=1 takes it" $?
rmmod cxl_hmu && insmod "$module" && pmu_of_device "$1" >/dev/null
result "the driver leaves it disabled" $?
exit $tap_failed
