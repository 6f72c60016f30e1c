#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every file in the ABI documents exists, is readable and has the documented mode; the documents describe every file of the modules.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/abi.sh"
here=$(dirname "$0")
pmus=/sys/bus/event_source/devices
[ -d $pmus/trace_imc ] || skip_all "no trace_imc"
abi "sysfs-bus-event_source-devices-imc sysfs-devices-imc_engine debugfs-imc_engine debugfs-pmukit" $pmus/nest_* $pmus/core_imc $pmus/thread_imc $pmus/trace_imc \
	/sys/kernel/debug/imc /sys/kernel/debug/imc_engine /sys/kernel/debug/pmukit/*_imc /sys/devices/imc_engine /sys/module/imc_engine/parameters
exit $tap_failed
