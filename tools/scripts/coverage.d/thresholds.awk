# SPDX-License-Identifier: GPL-2.0-only
# Evaluates the output of `gcov -t` from any number of runs: prints one line per folder below drivers or tools, and writes all lines
# that never ran to a file. Exits with 1 if too few lines ran. Variables:
#   root           folder of the sources
#   sources        pattern of the files that count
#   others         pattern of files that do not count although they match sources
#   least_lines    least share of lines that must run, in percent
#   least_errors   the same for lines of error paths
#   missed         file for the lines that never ran
#
# A line counts once, however often it ran. A line that creates or returns an error is an error path.
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
		driver = part[2]
		error = text[place] ~ /return (-E|err|ERR_|dev_err|NULL|false|Error|[a-z_]+[.]error)|goto |^[a-z_]+:$/
		lines[driver]++; errors[driver] += error
		if (place in ran) { run[driver]++; run_errors[driver] += error; continue }
		print place ":" text[place] | "sort >" missed
	}
	for (driver in lines) {
		share = 100 * run[driver] / lines[driver]
		of_errors = errors[driver] ? 100 * run_errors[driver] / errors[driver] : 100
		good = share >= least_lines && of_errors >= least_errors
		bad += !good
		seen++
		printf "coverage: %s %s: %.1f %% of %d lines, %.1f %% of %d lines of error paths\n", good ? "ok" : "NOT OK",
			driver, share, lines[driver], of_errors, errors[driver] | "sort -k 3"
	}
	if (!seen) print "coverage: NOT OK: gcov said nothing"
	exit bad || !seen
}
