#compdef pmukit
# SPDX-License-Identifier: GPL-2.0-only
# zsh completion of pmukit. As in pmukit.bash, the choices come from pmukit --help and the events from pmukit list, of the pmukit
# in PATH.

_pmukit_subcommands() { command pmukit --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' }
_pmukit_options() { command pmukit "$1" --help 2>/dev/null | sed -n '/^Options:/,/^$/s/^  \(-[^ ]*\).*/\1/p' | sed 's/=.*//;s/,/\n/g' }
# The values of an option whose help lists them: --by TEXT:{dpa,hpa,node}
_pmukit_values() {
	[[ $2 =~ '^-[-a-zA-Z0-9]*$' ]] || return  # it becomes a part of a script of sed
	command pmukit "$1" --help 2>/dev/null | sed -n "s/^  \(.*,\)\{0,1\}$2\(,[^ ]*\)\{0,1\} [A-Z]*:{\([^}]*\)}.*/\3/p" | tr , '\n'
}
_pmukit_events() { command pmukit list 2>/dev/null | sed -n 's|^\([^ ]*\)  driver .*|\1/|p' }

_pmukit() {
	local command=${words[2]} before=${words[CURRENT-1]}
	local -a offered
	if (( CURRENT == 2 )); then
		offered=(${(f)"$(_pmukit_subcommands)"} --help --version)
		compadd -a offered
		return
	fi
	# The words after -- are the recorded command.
	if (( ${words[(I)--]} > 2 && ${words[(I)--]} < CURRENT )); then
		_command_names -e
		return
	fi
	case $before in
	-e | --event) offered=(${(f)"$(_pmukit_events)"}) ;;
	-*) offered=(${(f)"$(_pmukit_values "$command" "$before")"}) ;;
	esac
	if (( ! $#offered )) && [[ ${words[CURRENT]} = -* ]]; then
		offered=(${(f)"$(_pmukit_options "$command")"})
	fi
	if (( $#offered )); then
		compadd -a offered
	else
		_files
	fi
}

_pmukit "$@"
