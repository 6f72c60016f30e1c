#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# check_tier.sh TALLY MODEL-LOG TIER-JSON: checks how many accesses of a program to the slow node the emulator counted, before and
# after `pmukit tier --apply`, and that the model received each of these accesses.
set -u
tally=$1 model=$2 plan=$3
failed=0

# check TEXT COMMAND...: prints one line; if the command fails, the script will exit with status 1
check() {
	text=$1
	shift
	if "$@"; then echo "checker: ok: $text"; else echo "checker: NOT OK: $text"; failed=1; fi
}

# of_json NAME: prints an integer of the plan
of_json() { grep -o "\"$1\":[0-9]*" "$plan" | head -n 1 | cut -d: -f2; }
of_tally() { awk -v name="$1" '$1 == name { print $2 }' "$tally"; }
slow() { awk -v phase="$1" '$1 == "sum" && $2 == phase { print $3 + $4 }' "$tally"; }
fast() { awk -v phase="$1" '$1 == "sum" && $2 == phase { print $5 }' "$tally"; }

taken=$(sed -n 's/^tap: taken=\([0-9]*\) .*/\1/p' "$model")
refused=$(sed -n 's/^tap: .* refused=\([0-9]*\)$/\1/p' "$model")
before=$(slow 1) after=$(slow 2)
pages=$(of_json movable_pages) budget=$(of_json budget_pages) resident=$(of_json fast_pages_after)

check "the model received all accesses that the emulator sent: $taken of $(of_tally handed)" [ "$taken" = "$(of_tally handed)" ]
check "each access reached the model, was accepted and had a known physical address" \
	[ "$(of_tally left) $refused $(of_tally unknown)" = "0 0 0" ]
check "before the migration, at least 1000000 accesses went to the slow node: $before" [ "$before" -ge 1000000 ]
check "the budget of pmukit tier is at most a fifth of the program's pages: $budget of $pages" [ $((budget * 5)) -le "$pages" ]
check "after the migration, no more pages than the budget are on the fast node: $resident" [ "$resident" -le "$budget" ]
check "after the migration, the accesses to the slow node are at most 40 % of those before" [ $((after * 100)) -le $((before * 40)) ]
awk -v before="$before" -v after="$after" -v fast_before="$(fast 1)" -v fast_after="$(fast 2)" 'BEGIN {
	printf "tier: driver=cxl_hmu source=model slow_before=%d slow_after=%d ratio=%.3f", before, after, after / before
	printf " share_before=%.4f share_after=%.4f\n", before / (before + fast_before), after / (after + fast_after)
}'
exit $failed
