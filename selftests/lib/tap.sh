# SPDX-License-Identifier: GPL-2.0-only
# Sourced by test scripts, beside which it is installed: TAP.
tap_number=0
tap_failed=0
work=$(mktemp -d)

plan() {
	echo "TAP version 13"
	echo "1..$1"
}

# No device is no failure on a real machine.
skip_all() {
	echo "TAP version 13"
	echo "1..0 # SKIP $*"
	exit 4
}

# result NAME STATUS: 0 is good
result() {
	tap_number=$((tap_number + 1))
	if [ "$2" = 0 ]; then
		echo "ok $tap_number $1"
	else
		tap_failed=1
		echo "not ok $tap_number $1"
	fi
}

# within SECONDS COMMAND...: until it succeeds; its errors until then are dropped
within() {
	left=$(($1 * 5))
	shift
	until "$@" 2>/dev/null; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.2
	done
}
