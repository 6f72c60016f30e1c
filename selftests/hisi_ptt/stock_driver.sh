#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# stock_driver.sh: pmukit with the in-tree hisi_ptt driver, which requires AUX areas of at least
# 16 MiB and whose cpumask has all CPUs of a node. The recordings are checked on the host.
. "$(dirname "$0")/tap.sh"

pmu=hisi_ptt0_2
folder=/sys/bus/event_source/devices/$pmu
[ -d "$folder" ] || skip_all "no $pmu"
[ ! -e "$folder/caps/section_bytes" ] || skip_all "this hisi_ptt is ours"
event="$pmu/filter=0000:00:10.0,type=1,direction=1,format=1/"

plan 7
pmukit list >"$work/list" 2>&1 && grep "$pmu" "$work/list" | sed 's/^/# /' && grep -q "$pmu" "$work/list"
result "pmukit list shows the PMU of the in-tree driver" $?

pmukit record -e "$event" -o "$work/data" -- pcie_load --function 01:00.0 --writes 500 >"$work/said" 2>&1
status=$?
sed 's/^/# /' "$work/said"
result "pmukit record records with the in-tree driver and default options" $status

pmukit report --json -i "$work/data" >"$work/json" && grep -q '"tlps": *500' "$work/json"
result "pmukit report shows all 500 stores of the recording" $?

pmukit top --once --json --feed aux -e "$event" -- pcie_load --function 01:00.0 --writes 300 >"$work/top" 2>"$work/said"
status=$?
sed 's/^/# /' "$work/said" "$work/top"
[ $status = 0 ] && grep -q '"tlps":300' "$work/top"
result "pmukit top shows all 300 stores of the program" $?

# The load stops the recorder while the area fills: the in-tree driver then ends its trace without a report. The stores after the recorder
# continues have another width. They must be recorded, and the file must show that entries are missing before them. 524288 entries of 32
# bytes are 16 MiB.
cat >"$work/load" <<'LOAD'
#!/bin/sh
kill -STOP "$PPID"
pcie_load --function 01:00.0 --writes 530000 --width 4
kill -CONT "$PPID"
sleep 2
pcie_load --function 01:00.0 --writes 100 --width 8
LOAD
chmod +x "$work/load"
pmukit record -e "$event" -o "$work/full" -- "$work/load" >"$work/said" 2>&1
status=$?
pmukit dump --tlp -i "$work/full" >"$work/dump"
mark='lost an unknown number of bytes at AUX offset 0x1000000$'
before=$(sed "/$mark/q" "$work/dump" | grep -c ' MWr .* length 1 ')
behind=$(sed "1,/$mark/d" "$work/dump" | grep -c ' MWr .* length 2 ')
sed 's/^/# /' "$work/said"
grep "$mark" "$work/dump"
echo "# $before of 530000 entries before the area was full, $behind of 100 behind that"
[ $status = 0 ] && [ "$before" = 524288 ] && [ "$behind" = 100 ] &&
	pmukit report --json -i "$work/full" | grep -q '"aux_truncations": *1'
result "the file of pmukit record says where entries were lost because the AUX area was full" $?

before=$(cat "$folder/tune/qos_tx_p")
pmukit tune --save "$work/tune" && pmukit tune $pmu/qos_tx_p=2 && [ "$(cat "$folder/tune/qos_tx_p")" = 2 ]
result "pmukit tune sets the level qos_tx_p" $?
pmukit tune --restore "$work/tune" && [ "$(cat "$folder/tune/qos_tx_p")" = "$before" ]
result "pmukit tune --restore restores the saved level" $?
exit $tap_failed
