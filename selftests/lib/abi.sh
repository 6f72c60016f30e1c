# SPDX-License-Identifier: GPL-2.0-only
# Sourced after tap.sh by abi_paths.sh of each driver: checks that each path in the driver's ABI documents exists in the running system,
# and that the documents describe each file that the driver has there.

# promised DOCUMENT...: prints a mode and a path for each path in a What: line or its continuation lines. The mode is the one that the
# entry states, as in "Mode 0400."; the default is 0444.
promised() {
	for document; do
		for file in "$here/$document" "$here/../../Documentation/ABI/testing/$document"; do
			[ -e "$file" ] && break
		done
		awk '
			function entry(   i) { for (i = 1; i <= n; i++) print mode, paths[i]; n = 0; mode = "0444" }
			BEGIN { entry() }
			/^What:/ { entry(); on = 1; sub(/^What:/, "") }
			/^[A-Z][A-Za-z]*:/ { on = 0 }
			on && NF { sub("/$", "", $1); paths[++n] = $1 }
			match($0, /Mode 0[0-7]+\./) { mode = substr($0, RSTART + 5, RLENGTH - 6) }
			END { entry() }' "$file"
	done
}

# Converts paths on stdin to regular expressions: <X> matches a name without a dot, <X.Y> matches any name, and "..." matches any number
# of folders.
expressions() {
	sed 's|/\.\.\./|/@/|; s/<[^>.]*\.[^>]*>/<<>>/g; s/[.]/\\./g; s/<<>>/[^\/]+/g; s/<[^>]*>/[^\/.]+/g; s|/@/|/(.+/)?|'
}

# made ROOT...: prints the folders and files below the roots, except those that every device, PMU and module has.
made() {
	for root; do
		find "$root"/ \( -type f -o -type d \)
	done | sed 's|//*|/|g; s|/$||' | grep -vE '/uevent$|/power(/|$)|^/sys/bus/event_source/devices/[^/]+/(type|perf_event_mux_interval_ms|nr_addr_filters)$'
}

# readable: succeeds if all files and folders listed on stdin can be read; writes the names of the files to $work/files
readable() {
	while read -r path; do
		if [ -d "$path" ]; then
			ls "$path" >/dev/null || return 1
		else
			echo "$path"
		fi
	done >"$work/files"
	[ ! -s "$work/files" ] || xargs cat <"$work/files" >/dev/null
}

# have_mode MODE: succeeds if the files listed in $work/files have this mode
have_mode() {
	[ ! -s "$work/files" ] || ! xargs stat -c '0%a %n' <"$work/files" | grep -v "^$1 " | sed "s/^/# not $1: /" | grep .
}

# abi "DOCUMENT..." ROOT...: prints the test plan and these results: one for each documented path, which must exist, be readable and have
# the documented mode; and one for all files below the roots, which must be documented. The plan includes $abi_more results of the caller.
abi() {
	documents=$1
	shift
	# shellcheck disable=SC2086
	promised $documents >"$work/promised"
	cut -d' ' -f2 "$work/promised" | expressions >"$work/expressions"
	made "$@" >"$work/made"
	[ -s "$work/promised" ] || { echo "Bail out! no What: lines in $documents"; exit 1; }
	plan $(($(wc -l <"$work/promised") + 1 + ${abi_more:-0}))
	while read -r mode promise && read -r expression <&3; do
		grep -xE "$expression" "$work/made" >"$work/matching" && readable <"$work/matching" && have_mode "$mode"
		result "$promise exists, is readable and has mode $mode" $?
	done <"$work/promised" 3<"$work/expressions"
	# A folder needs no ABI entry of its own, because the entries of its files describe it.
	while read -r path; do
		[ -d "$path" ] || echo "$path"
	done <"$work/made" >"$work/files"
	! grep -vxE -f "$work/expressions" "$work/files" | sed 's/^/# not described: /' | grep .
	result "the ABI documents describe all $(wc -l <"$work/files") files of the driver" $?
}
