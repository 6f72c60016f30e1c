# SPDX-License-Identifier: GPL-2.0-only
# bash completion of pmukit. The choices come from pmukit --help and the events from pmukit list, so that both match the program.
# The program is always the one in PATH: a program that was only typed, as ./pmukit, must not run before the user presses Enter.

_pmukit_subcommands() { command pmukit --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'; }
_pmukit_options() { command pmukit "$1" --help 2>/dev/null | sed -n '/^Options:/,/^$/s/^  \(-[^ ]*\).*/\1/p' | sed 's/=.*//;s/,/\n/g'; }
# The values of an option whose help lists them: --by TEXT:{dpa,hpa,node}
_pmukit_values() {
	[[ $2 =~ ^-[-a-zA-Z0-9]*$ ]] || return  # it becomes a part of a script of sed
	command pmukit "$1" --help 2>/dev/null | sed -n "s/^  \(.*,\)\{0,1\}$2\(,[^ ]*\)\{0,1\} [A-Z]*:{\([^}]*\)}.*/\3/p" | tr , '\n'
}

_pmukit() {
	local word=$2 before=$3 command=${COMP_WORDS[1]} i
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_pmukit_subcommands) --help --version" -- "$word")
		return
	fi
	# The words after -- are the recorded command.
	for ((i = 2; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" = -- ] || continue
		mapfile -t COMPREPLY < <(compgen -c -- "$word")
		return
	done
	case $before in
	-e | --event) mapfile -t COMPREPLY < <(compgen -W "$(command pmukit list 2>/dev/null | sed -n 's|^\([^ ]*\)  driver .*|\1/|p')" -- "$word") ;;
	-*) mapfile -t COMPREPLY < <(compgen -W "$(_pmukit_values "$command" "$before")" -- "$word") ;;
	esac
	[ ${#COMPREPLY[@]} = 0 ] || return
	case $word in
	-*) mapfile -t COMPREPLY < <(compgen -W "$(_pmukit_options "$command")" -- "$word") ;;
	*) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
	esac
}
complete -o filenames -F _pmukit pmukit
