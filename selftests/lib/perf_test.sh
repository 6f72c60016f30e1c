# SPDX-License-Identifier: GPL-2.0-only
# Sourced behind tap.sh: perf's own tests of whatever PMUs are there.

# says_ok NAME [VARIABLE=VALUE]: perf's tests whose name has this in it, in any case; there is at least one and none fails or is
# skipped. What perf said stays in $work/said.
says_ok() {
	# Some are bash scripts that use nothing the guest's shell has not.
	[ -e /bin/bash ] || { printf '#!/bin/sh\nexec /bin/sh "$@"\n' >/bin/bash && chmod 755 /bin/bash; }
	env "${2:-UNUSED=}" perf test -v "$1" >"$work/said" 2>&1
	sed 's/^/# /' "$work/said"
	# -v takes the name off the line with the verdict in some releases.
	grep -qi "$1" "$work/said" && grep -q ': *Ok' "$work/said" && ! grep -q 'FAILED\|: *Skip' "$work/said"
}
