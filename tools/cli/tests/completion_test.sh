#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# completion_test.sh PMUKIT COMPLETION: checks what bash completion offers at several places of a command line.
set -u
pmukit=$1
# shellcheck source=/dev/null
. "$2"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
mkdir bin
ln -s "$pmukit" bin/pmukit
PATH=$folder/bin:$PATH
touch one.data two.txt
failed=0
typed=pmukit

# offers WANTED WORD...: completes the last WORD. Each word of WANTED must be offered; a word that begins with ! must not be offered.
offers() {
	local wanted=$1 word
	shift
	COMP_WORDS=("$typed" "$@")
	COMP_CWORD=$#
	_pmukit "$typed" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	for word in $wanted; do
		if [ "${word#!}" = "$word" ]; then
			printf '%s\n' "${COMPREPLY[@]}" | grep -qFx -e "$word" && continue
		else
			printf '%s\n' "${COMPREPLY[@]}" | grep -qFx -e "${word#!}" || continue
		fi
		echo "$typed $*: $word is wrong; offered: ${COMPREPLY[*]}"
		failed=1
	done
}

offers 'list record dump report tier tierd what-if tune discover cut inject merge recover doctor qualify top export --help' ''
offers 'record report recover !dump' re
offers '--version !-h' --v
offers '-i --input --json --top --by --help !--write' report -
offers '--json !--input' report --j
offers 'dpa hpa node !one.data' report --by ''
offers 'model !--by' report --source ''
offers 'mono monotonic raw tai !one.data' record -k ''
offers 'boottime !mono' record --clockid boott
offers 'pages requesters groups' top --view ''
offers '--once --json --feed --event' top --
offers 'one.data two.txt !--json' report -i ''
offers 'csv jsonl sqlite !one.data' export --format ''
offers 'cxl_hmu losses !one.data' export --driver ''
offers 'one.data !two.txt' report -i o
offers '-o --output --pfm-events -a --all-cpus' record -
offers 'sh !one.data' record -e x// -- s
# A machine with one PMU. The output of `pmukit list` has the format that list_test.cpp expects.
rm bin/pmukit
printf '#!/bin/sh\necho "cxl_hmu_mem0.0.0  driver cxl_hmu  cpumask 0"\necho "  terms: epoch_type"\n' >bin/pmukit
chmod +x bin/pmukit
offers 'cxl_hmu_mem0.0.0/ !terms:' record -e ''
# Neither a program named like ours in the folder nor a typed word runs.
printf '#!/bin/sh\ntouch "%s/has_run"\n' "$folder" >pmukit
chmod +x pmukit
typed=./pmukit
for words in '' 'record -' 'record -e ' 'report --by '; do
	# shellcheck disable=SC2086 # words
	offers '' $words ''
done
offers '' report '-x/p;e touch has_run;' ''
if [ -e has_run ]; then
	echo 'the completion ran a program that was only typed'
	failed=1
fi
exit $failed
