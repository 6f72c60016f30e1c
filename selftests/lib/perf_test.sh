# SPDX-License-Identifier: GPL-2.0-only
# Sourced after tap.sh: runs perf's own tests of all registered PMUs.

# says_ok NAME [VARIABLE=VALUE]: runs perf's tests whose name contains NAME, ignoring case; succeeds if at least one passes, and none fails
# or is skipped. The output of perf is in $work/said.
says_ok() {
	# Some perf tests are scripts for /bin/bash. If the guest has no bash, its /bin/sh runs them.
	[ -e /bin/bash ] || { printf '#!/bin/sh\nexec /bin/sh "$@"\n' >/bin/bash && chmod 755 /bin/bash; }
	env "${2:-UNUSED=}" perf test -v "$1" >"$work/said" 2>&1
	sed 's/^/# /' "$work/said"
	# With -v some releases of perf print the verdict on a line that lacks the test name, so each grep looks for one of the two.
	grep -qi "$1" "$work/said" && grep -q ': *Ok' "$work/said" && ! grep -q 'FAILED\|: *Skip' "$work/said"
}
