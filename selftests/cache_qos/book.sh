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
