# SPDX-License-Identifier: GPL-2.0-only
# What `gcov -t` said, in any number of runs: one line a folder below drivers or tools, and all lines that never ran into the
# file missed. Ends with 1 when too few ran. Variables: root of the sources, sources (a pattern of those that count), others (of
# those that do not), least_lines and least_errors (in 100), missed.
#
# A line counts once, whoever ran it. An error path is where an error comes from or is passed on.
/^ *-: *0:Source:/ {
	file = $0
	sub(/^.*Source:/, "", file)
	if (index(file, root) == 1) file = substr(file, length(root) + 1)
	wanted = file ~ sources && !(others && file ~ others)
}
!wanted || /^ *-:/ { next }
match($0, /^ *[^:]+: *[0-9]+:/) {
	split(substr($0, 1, RLENGTH), part, ":")
	place = sprintf("%s:%05d", file, part[2])
	text[place] = substr($0, RLENGTH + 1)
	if (part[1] ~ /[0-9]/) ran[place] = 1
}
END {
	for (place in text) {
		split(place, part, "/")
		unit = part[2]
		error = text[place] ~ /return (-E|err|ERR_|dev_err|NULL|false|Error|[a-z_]+[.]error)|goto |^[a-z_]+:$/
		lines[unit]++; errors[unit] += error
		if (place in ran) { run[unit]++; run_errors[unit] += error; continue }
		print place ":" text[place] | "sort >" missed
	}
	for (unit in lines) {
		share = 100 * run[unit] / lines[unit]
		of_errors = errors[unit] ? 100 * run_errors[unit] / errors[unit] : 100
		good = share >= least_lines && of_errors >= least_errors
		bad += !good
		seen++
		printf "coverage: %s %s: %.1f %% of %d lines, %.1f %% of %d lines of error paths\n", good ? "ok" : "NOT OK",
			unit, share, lines[unit], of_errors, errors[unit] | "sort -k 3"
	}
	if (!seen) print "coverage: NOT OK: gcov said nothing"
	exit bad || !seen
}
