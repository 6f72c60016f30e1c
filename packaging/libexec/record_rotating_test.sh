#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# record_rotating_test.sh SCRIPT: tests the rotation with a fake recorder that writes its arguments.
set -u
script=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
# The fake recorder: `pmukit record WORDS... -o FILE -- sleep N` fails from recording number RECORDER_FAILS. `pmukit recover -i FILE
# --write FILE` writes nothing for an empty file, and cannot run for the content "unread".
cat >"$work/pmukit" <<'RECORDER'
#!/bin/sh
words=$*
if [ "$1" = recover ]; then
	[ "$2 $4" = "-i --write" ] || exit 2
	grep -q unread "$3" && exit 69
	[ -s "$3" ] && cp "$3" "$5"
	exit 1
fi
while [ "$1" != -o ]; do shift; done
echo run >>"$RECORDER_LOG"
echo "$words" >"$2"
[ "$(wc -l <"$RECORDER_LOG")" -lt "${RECORDER_FAILS:-1000}" ] || exit 7
trap 'kill "$!"; echo closed >>"$RECORDER_LOG"; exit 0' INT TERM
shift 3
"$@" &
wait
RECORDER
chmod +x "$work/pmukit"

# expect WHAT COMMAND...
expect() {
	what=$1
	shift
	"$@" && return 0
	echo "not so: $what"
	failed=1
}
rotate() { PATH=$work:$PATH RECORDER_LOG=$work/log PMUKIT_RECORD='-a -e some//' "$script" "$work/out"; }
recordings() { find "$work/out" -name '*.data' | wc -l; }

mkdir "$work/out"
touch "$work/out/19700101T000000.data" "$work/out/old.partial" "$work/out/notes"
(export PMUKIT_PERIOD_S=0.1 PMUKIT_KEEP=2; rotate) 2>"$work/said"
expect 'a period that is not a number is refused' [ $? = 2 ]
printf '#!/bin/sh\nexec /bin/sleep 0.05\n' >"$work/sleep"
chmod +x "$work/sleep"

(export PMUKIT_PERIOD_S=1 PMUKIT_KEEP=3 RECORDER_FAILS=6; rotate)
expect 'the exit status is that of the failed recording' [ $? = 7 ]
expect 'three of five are kept' [ "$(recordings)" = 3 ]
expect 'the oldest is gone' [ ! -e "$work/out/19700101T000000.data" ]
expect 'an earlier interrupted recording is removed' [ ! -e "$work/out/old.partial" ]
expect 'other files are kept' [ -e "$work/out/notes" ]
expect 'the recorder gets the events to record' grep -q -- '^record -a -e some// -o .* -- sleep 1$' "$(find "$work/out" -name '*.data' | head -n 1)"

rm -f "$work"/log "$work"/out/*
echo whole >"$work/out/19710101T000000.partial.part-7"
touch "$work/out/19720101T000000.partial.part-8" "$work/out/19730101T000000.data.part-9" "$work/out/19690101T000000.data"
(export PMUKIT_PERIOD_S=1 PMUKIT_KEEP=1 RECORDER_FAILS=1; rotate) 2>"$work/said"
expect 'a recorder that fails at once fails' [ $? = 7 ]
expect 'the intact part of an interrupted recording is kept' grep -q whole "$work/out/19710101T000000.data"
expect 'its partial file is removed' [ "$(find "$work/out" -name '*.part-*' | wc -l)" = 0 ]
expect 'the limit applies even if no recording finishes' [ "$(recordings)" = 1 ]

rm -f "$work"/log "$work"/out/*
echo whole >"$work/out/19710101T000000.partial.part-7"
echo unread >"$work/out/19720101T000000.partial.part-8"
(export PMUKIT_PERIOD_S=1 PMUKIT_KEEP=9 RECORDER_FAILS=3; rotate) 2>"$work/said"
expect 'the third recording fails' [ $? = 7 ]
expect 'an interrupted recording is recovered, and the recordings go on' [ "$(recordings)" = 3 ]
expect 'a file that pmukit could not read is kept' [ -e "$work/out/19720101T000000.partial.part-8" ]
expect 'and named' grep -q '19720101T000000.partial.part-8 is not recovered' "$work/said"

rm -f "$work"/log "$work"/out/* "$work/sleep"
(export PMUKIT_PERIOD_S=60 PMUKIT_KEEP=3 PATH="$work:$PATH" RECORDER_LOG="$work/log" PMUKIT_RECORD=-a; exec "$script" "$work/out") &
rotating=$!
while [ ! -s "$work/log" ]; do sleep 0.05; done
sleep 0.2
kill -TERM $rotating
wait $rotating
expect 'a service that is stopped ends well' [ $? = 0 ]
expect 'the recorder could close its file' grep -q closed "$work/log"
expect 'and the file is there' [ "$(recordings)" = 1 ]
exit $failed
