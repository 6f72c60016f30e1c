#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# stock_driver.sh: pmukit with the kernel's own hisi_ptt, whose AUX areas have 16 MiB at least and whose cpumask names all CPUs of a node. Its
# recordings are judged elsewhere.
. "$(dirname "$0")/tap.sh"

pmu=hisi_ptt0_2
folder=/sys/bus/event_source/devices/$pmu
[ -d "$folder" ] || skip_all "no $pmu"
[ ! -e "$folder/stats" ] || skip_all "this hisi_ptt is ours"
event="$pmu/filter=0000:00:10.0,type=1,direction=1,format=1/"

plan 6
pmukit list >"$work/list" 2>&1 && grep "$pmu" "$work/list" | sed 's/^/# /' && grep -q "$pmu" "$work/list"
result "list: it is there" $?

pmukit record -e "$event" -o "$work/data" -- pcie_load --function 01:00.0 --writes 500 >"$work/said" 2>&1
status=$?
sed 's/^/# /' "$work/said"
result "record: by all defaults" $status

pmukit report --json -i "$work/data" >"$work/json" && grep -q '"tlps": *500' "$work/json"
result "report: has all stores" $?

pmukit top --once --json --feed aux -e "$event" -- pcie_load --function 01:00.0 --writes 300 >"$work/top" 2>"$work/said"
status=$?
sed 's/^/# /' "$work/said" "$work/top"
[ $status = 0 ] && grep -q '"tlps":300' "$work/top"
result "top: has all stores" $?

before=$(cat "$folder/tune/qos_tx_p")
pmukit tune --save "$work/tune" && pmukit tune $pmu/qos_tx_p=2 && [ "$(cat "$folder/tune/qos_tx_p")" = 2 ]
result "tune: a level is set" $?
pmukit tune --restore "$work/tune" && [ "$(cat "$folder/tune/qos_tx_p")" = "$before" ]
result "tune: and set back" $?
exit $tap_failed
