# SPDX-License-Identifier: GPL-2.0-only
# Sourced by test scripts, beside which it is installed: the simulated machine's own book, and what it is asked to do.
book=/sys/kernel/debug/cache_qos_sim

sim() { echo "$*" >$book/control; }
scale() { awk '$1 == "scale" { print $2 }' $book/book; }

# book_sum WORD FIELD VALUE...: of all pages whose FIELD is one of the values, in bytes
book_sum() {
	word=$1 field=$2
	shift 2
	awk -v word="$word" -v field="$field" -v values=" $* " '
		$1 == "scale" { scale = $2; next }
		{
			for (i = 1; i < NF; i += 2)
				one[$i] = $(i + 1)
			if (index(values, " " one[field] " "))
				sum += one[word]
		}
		END { printf "%d\n", sum * scale }' $book/book
}

# pqr_writes: of all CPUs, by the driver
pqr_writes() { awk '{ for (i = 1; i < NF; i += 2) if ($i == "pqr_writes") n += $(i + 1) } END { print n + 0 }' $book/cpus; }
refused() { awk '{ for (i = 1; i < NF; i += 2) if ($i == "gp") n += $(i + 1) } END { print n + 0 }' $book/cpus; }

# nearly A B: within two lines. The driver's probe of a task switch and the simulation's are not one, and between them a program that
# is only about to run may be given a line under the RMID before.
nearly() { awk -v a="$1" -v b="$2" -v line="$(scale)" 'BEGIN { d = a - b; exit !(a != "" && d <= 2 * line && d >= -2 * line) }'; }

# What the driver says
devices=/sys/bus/event_source/devices
stat_of() { cat "$devices/cache_qos/stats/$1"; }
stat_is() { [ "$(stat_of "$1")" = "$2" ]; }
