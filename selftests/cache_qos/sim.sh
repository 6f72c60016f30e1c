# SPDX-License-Identifier: GPL-2.0-only
# Sourced after tap.sh by test scripts in the same folder: reads the reference counters of the simulated machine, and controls the machine.
sim=/sys/kernel/debug/cache_qos_sim

# sim COMMAND...: sends a command to the machine; then waits, because the driver may show values that are up to sample_ms old
sim() {
	echo "$*" >$sim/control || return
	case $1 in
	freeze | flush | fill | shrink | pin) sleep 0.2 ;;
	esac
}
scale() { awk '$1 == "scale" { print $2 }' $sim/reference; }

# field FILE WORD [KEY VALUE...]: prints the sum of the field WORD in all lines of the file, or in the lines whose KEY is one of the values
field() {
	file=$1 word=$2 key=${3-}
	shift $(($# < 3 ? $# : 3))
	awk -v word="$word" -v key="$key" -v values=" $* " '
		{
			split("", one)
			for (i = 1; i < NF; i += 2)
				one[$i] = $(i + 1)
			if (key == "" || index(values, " " one[key] " "))
				sum += one[word]
		}
		END { printf "%d\n", sum }' "$sim/$file"
}

# reference_sum WORD KEY VALUE...: prints the sum of the field in the reference counters, in bytes
reference_sum() { echo $(($(field reference "$@") * $(scale))); }

# Print totals of all CPUs: how often the driver wrote PQR_ASSOC, and how many register accesses the machine rejected
pqr_writes() { field cpus pqr_writes; }
refused() { field cpus gp; }

# nearly A B: succeeds if A and B differ by two lines at most. The driver and the simulation have separate probes of a task switch; between
# the two probes, a program that is about to run may fill a line under the previous RMID.
nearly() { awk -v a="$1" -v b="$2" -v line="$(scale)" 'BEGIN { d = a - b; exit !(a != "" && d <= 2 * line && d >= -2 * line) }'; }

# Statistics of the driver
devices=/sys/bus/event_source/devices
stat_of() { cat "/sys/kernel/debug/pmukit/cache_qos/$1"; }
stat_is() { [ "$(stat_of "$1")" = "$2" ]; }

groups=/sys/kernel/config/cache_qos

# Skips the script unless driver, groups and simulated machine exist.
need_machine() {
	mount -t configfs configfs /sys/kernel/config 2>/dev/null
	[ -d $devices/cache_qos ] || skip_all "no cache_qos"
	[ -d $groups ] || skip_all "no $groups"
	[ -r $sim/reference ] || skip_all "no simulated machine"
}

# reload PARAMETER...: unloads the simulated machine and loads one with these parameters
reload() { rmmod cache_qos_sim && insmod "${PMUKIT_SIM:-/lib/vmrun/cache_qos_sim.ko}" "$@"; }

# in_group GROUP NAME SECONDS: starts a program in the group
in_group() { sh -c 'echo 0 >"$1/tasks" && exec cache_qos_load "$2" "$3"' sh "$groups/$1" "$2" "$3" & }

# two_in_g1 NAME NAME: makes group g1 with two programs, $one on CPU 0 and $two on CPU 1; end_g1 ends the programs and removes the group
two_in_g1() {
	mkdir $groups/g1 && echo 1 >$groups/g1/monitor_cache
	in_group g1 "$1" 300
	one=$!
	in_group g1 "$2" 300
	two=$!
	taskset -p 1 $one >/dev/null
	taskset -p 2 $two >/dev/null
}
end_g1() {
	kill $one $two
	wait $one $two 2>/dev/null
	rmdir $groups/g1
}

# Waits for a complete pass of the sampler.
passes() {
	seen=$(($(stat_of passes) + 2))
	while [ "$(stat_of passes)" -lt $seen ]; do
		sleep 0.1
	done
}

# refused_with WORDS COMMAND...: succeeds if the command fails and prints WORDS
refused_with() {
	words=$1
	shift
	! "$@" >"$work/said" 2>&1 && grep -qi "$words" "$work/said"
}

# writes FILE TEXT: writes TEXT to FILE in another shell, so that refused_with can run this as a command
writes() { sh -c 'echo "$2" >"$1"' sh "$1" "$2"; }
