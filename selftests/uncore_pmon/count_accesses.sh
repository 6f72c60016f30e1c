#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# count_accesses.sh LOG [PORT...]: computes the expected counts from the accesses and register writes in a log of the uncore model
# (Documentation/devices/uncore_pmon-model.rst). Prints one line each time an event is removed from a counter, or the counter is cleared
# while it counts the event:
#
#   <type>.<id> <counter> <control> <count>
#
# and one line with the totals at the end. Supports IMC events with whole umasks (0xcf, 0xf0, 0xff), and requests and data of
# CXL units; the count of any other event is '?'. If the model serves several PCIe ports, PORTs are these ports in the model's order.
set -eu
log=$1
shift
exec awk -v ports="$*" '
function number(hex,    i, value) {
	value = 0
	for (i = 3; i <= length(hex); i++)
		value = value * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
	return value
}
BEGIN {
	nr_ports = split(ports, port_of, " ")
	# Accesses that a control value counts (R reads, W writes): ddr accesses for unit type 6, cxl accesses for the other types.
	kinds["6 0xcf05"] = "R"; kinds["6 0xf005"] = "W"; kinds["6 0xff05"] = "RW"
	kinds["12 0x802"] = "R"; kinds["12 0x1002"] = "W"; kinds["12 0x1041"] = "R"; kinds["12 0x841"] = "W"
	kinds["13 0x1002"] = "R"; kinds["13 0x2002"] = "W"
	kinds["17 0x424"] = "R"; kinds["17 0x1025"] = "W"
	# Control registers of each unit type: offset of the first, distance between two, number of the last.
	first[6] = 64; step[6] = 4; last[6] = 3
	first[12] = 16; step[12] = 8; last[12] = 7
	first[13] = first[17] = 16; step[13] = step[17] = 8; last[13] = last[17] = 3
	# Events that only counters 0 to 3 (low) or 4 to 7 (high) can count.
	low["12 0x802"] = low["12 0x1002"] = 1; high["12 0x1041"] = high["12 0x841"] = 1
}
function end_of(unit, counter,    key) {
	key = unit " " counter
	if (control[key] != "" && control[key] != "0x0")
		print unit, counter, control[key], counted[key] == "" ? 0 : counted[key]
	counted[key] = unknown(unit, control[key]) ? "?" : 0
}
function unknown(unit, value) { return value != "" && !((type_of(unit) " " value) in kinds) }
function type_of(unit) { return substr(unit, 1, index(unit, ".") - 1) }
function id_of(unit) { return substr(unit, index(unit, ".") + 1) }
function write_box(unit, value,    i, type) {
	type = type_of(unit)
	for (i = 0; i <= last[type]; i++) {
		if (int(value / 256) % 4)
			end_of(unit, i)
		if (int(value / 256) % 2)
			control[unit " " i] = "0x0"
	}
	frozen[unit] = value % 2
}
function write_control(unit, at, value,    type, counter) {
	type = type_of(unit)
	counter = (at - first[type]) / step[type]
	if (counter < 0 || counter > last[type] || counter != int(counter))
		return
	end_of(unit, counter)
	control[unit " " counter] = value
	counted[unit " " counter] = unknown(unit, value) && value != "0x0" ? "?" : 0
	seen[unit] = 1
}
function count(unit, kind,    i, key, what) {
	if (frozen[unit] || !seen[unit])
		return
	for (i = 0; i <= last[type_of(unit)]; i++) {
		key = unit " " i
		what = type_of(unit) " " control[key]
		if (what in low && i > 3 || what in high && i < 4)
			continue
		if (what in kinds && index(kinds[what], kind))
			counted[key]++
	}
}
$2 == "reg" && $3 == "W" && type_of($4) in first {
	if ($5 == "0x0")
		write_box($4, number($7))
	else
		write_control($4, number($5), $7)
}
$2 == "ddr" {
	all[$2 $3]++
	count("6." substr($6, 5), $3)
}
$2 == "cxl" {
	all[$2 $3]++
	id = 0
	for (i = 1; i <= nr_ports; i++)
		if ($6 == "port=" port_of[i])
			id = i - 1
	count("12." id, $3)
	count("13." id, $3)
	count("17." id, $3)
}
END {
	for (unit in seen)
		for (i = 0; i <= last[type_of(unit)]; i++)
			end_of(unit, i)
	printf "ddr_reads=%d ddr_writes=%d cxl_reads=%d cxl_writes=%d end\n", all["ddrR"], all["ddrW"], all["cxlR"], all["cxlW"]
}' "$log"
