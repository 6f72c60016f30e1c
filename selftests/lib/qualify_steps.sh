# SPDX-License-Identifier: GPL-2.0-only
# Sourced after tap.sh: runs pmukit qualify and checks its verdicts.

# qualify OPTIONS...: runs pmukit qualify; the report is in $work/report, the exit status in $status; prints both as TAP comments
qualify() {
	status=0
	pmukit qualify "$@" >"$work/report" 2>"$work/error" || status=$?
	echo "# pmukit qualify $*: status $status"
	sed 's/^/# /' "$work/report" "$work/error"
}

# said DEVICE VERDICT: prints, in one line, the numbers of the checks of the DEVICE-th device (counted from 0) that have this verdict
said() {
	awk -v device="$1" -v verdict="$2" '
		/^[a-z_]*: / { n++ }
		n - 1 == device && /^(PASS|FAIL|NOT TESTED) / && index($0, verdict) == 1 {
			sub(/^(PASS|FAIL|NOT TESTED) +/, "")
			printf "%s%s", sep, $1
			sep = " "
		}' "$work/report"
}

# is VERDICT DEVICE NUMBER...: succeeds if each check with one of these numbers has this verdict for the DEVICE-th device
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

# none VERDICT DEVICE: succeeds if no check of the DEVICE-th device has this verdict
none() { [ -z "$(said "$2" "$1")" ] || { echo "# device $2: $1: $(said "$2" "$1")"; return 1; }; }
