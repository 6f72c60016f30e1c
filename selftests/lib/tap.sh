# SPDX-License-Identifier: GPL-2.0-only
# Sourced by test scripts in the same folder: TAP output.
tap_number=0
tap_failed=0
work=$(mktemp -d)

plan() {
	echo "TAP version 13"
	echo "1..$1"
}

# Exit status 4 is a skip: on a real machine a missing device is not a failure.
skip_all() {
	echo "TAP version 13"
	echo "1..0 # SKIP $*"
	exit 4
}

# result NAME STATUS: the test passes if STATUS is 0
result() {
	tap_number=$((tap_number + 1))
	if [ "$2" = 0 ]; then
		echo "ok $tap_number $1"
	else
		tap_failed=1
		echo "not ok $tap_number $1"
	fi
}

# within SECONDS COMMAND...: retries COMMAND until it succeeds, for SECONDS at most; drops its error output
within() {
	left=$(($1 * 5))
	shift
	until "$@" 2>/dev/null; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.2
	done
}
