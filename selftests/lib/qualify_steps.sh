# SPDX-License-Identifier: GPL-2.0-only
# Sourced behind tap.sh: runs of pmukit qualify, and what they said of a device.

# qualify OPTIONS...: in $work/report, with its exit status in $status; shown as comments
qualify() {
	status=0
	pmukit qualify "$@" >"$work/report" 2>"$work/error" || status=$?
	echo "# pmukit qualify $*: status $status"
	sed 's/^/# /' "$work/report" "$work/error"
}

# said DEVICE VERDICT: the numbers with it of the DEVICE-th device, from 0, in a line
said() {
	awk -v device="$1" -v verdict="$2" '
		/^[a-z_]*: / { n++ }
		n - 1 == device && /^(PASS|FAIL|NOT TESTED) / && index($0, verdict) == 1 {
			sub(/^(PASS|FAIL|NOT TESTED) +/, "")
			printf "%s%s", sep, $1
			sep = " "
		}' "$work/report"
}

# is VERDICT DEVICE NUMBER...: each of them has that verdict
is() {
	verdict=$1 device=$2
	shift 2
	numbers=" $(said "$device" "$verdict") "
	for number; do
		case $numbers in
		*" $number "*) ;;
		*) echo "# device $device: $number is not $verdict, but these are:$numbers"; return 1 ;;
		esac
	done
}

# none VERDICT DEVICE
none() { [ -z "$(said "$2" "$1")" ] || { echo "# device $2: $1: $(said "$2" "$1")"; return 1; }; }
