#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# command.sh JOBS: in a throw-away Debian with the required packages only, builds the command and the
# library, and compares the reports of the recordings in corpus/ with those in expected/.
set -u
. "$(dirname "$0")/../lib/tap.sh"
jobs=$1
[ -e /usr/bin/c++ ] || export CXX=g++-11 CC=gcc-11

# A header of a required library is moved away, and back.
missing_library() {
	local status=0
	mv /usr/include/CLI /usr/include/CLI.away
	make pmukit JOBS="$jobs" >"$work/missing" 2>&1 || status=$?
	mv /usr/include/CLI.away /usr/include/CLI
	rm -rf build
	# make ends with its own status 2, and prints that of the command.
	[ $status = 2 ] && grep -q 'Error 69' "$work/missing" &&
		grep -q 'Debian, Ubuntu: apt install libcli11-dev$' "$work/missing"
}

builds() {
	local start=$SECONDS
	make pmukit JOBS="$jobs" >"$work/build" 2>&1 || { tail -n 40 "$work/build" | sed 's/^/# /'; return 1; }
	echo "# $(uname -m), $(${CXX:-c++} --version | head -n 1), $jobs jobs: $((SECONDS - start)) s"
	sed -n '/^Parts/,/^built/s/^/# /p' "$work/build"
}

# Only required parts are there, so the table says no of each optional part.
lists_parts() {
	[ "$(awk '$2 == "yes"' "$work/build" | wc -l)" -ge 5 ] && grep -q 'SQLite *no ' "$work/build" && grep -q 'Arrow *no ' "$work/build"
}

says_version() { [ "$(build/release/cli/pmukit --version)" = "pmukit $(cat VERSION)" ]; }

reports_the_corpus() {
	local file status different=0 number=0
	cd corpus || return 1
	for file in *; do
		status=0
		../build/release/cli/pmukit --no-pager report -i "$file" >"$work/report" 2>&1 || status=$?
		echo "exit status $status" >>"$work/report"
		number=$((number + 1))
		cmp -s "$work/report" "../expected/$file" && continue
		different=$((different + 1))
		diff "../expected/$file" "$work/report" | head -n 5 | sed "s/^/# $file: /"
	done
	cd ..
	echo "# reports: $number, different: $different"
	[ $number -ge 200 ] && [ $different = 0 ]
}

plan 5
missing_library
result "without a required library, make pmukit names its package and ends with status 69" $?
builds
result "make pmukit builds with the required packages only" $?
lists_parts
result "the table of parts says which ones are missing" $?
says_version
result "the command prints its version" $?
reports_the_corpus
result "the reports of the corpus equal those of the command with all parts" $?
exit $tap_failed
