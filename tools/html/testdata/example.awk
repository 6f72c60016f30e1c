# SPDX-License-Identifier: GPL-2.0-only
# Writes an input of pmukit-encode with two seconds of data of cxl_hmu, hisi_ptt, cache_qos and imc. Pictures are drawn from it: device
# memory with some units that are always hot and others that are hot in turns; PCIe functions that read and write memory; groups that share
# an L3 cache; samples of two programs. The numbers are the same in each run; none of them was measured.

# A pseudorandom number generator, because rand() differs between implementations of awk.
function random(below) {
	seed = (seed * 1103515245 + 12345) % 2147483648
	return int(seed / 65536) % below
}

# Prints a hot list of a device of 16 MiB. There is a hot list every 25 ms. Five units are always hot, sixteen are hot in turns, and six
# random units have a few accesses.
function hot(at_ms, number,    entries, i, turn) {
	entries = ""
	for (i = 0; i < 5; i++)
		entries = entries " " 760 + i * 3 ":" 400 - 60 * i + random(40)
	turn = int((at_ms - 10000) / 250)
	for (i = 0; i < 16; i++)
		entries = entries " " 1024 + turn * 320 + i * 8 ":" 30 + random(60)
	for (i = 0; i < 6; i++)
		entries = entries " " random(4096) ":" 1 + random(5)
	printf "hot width 16 unit 12 time %d000000 sequence %d%s\n", at_ms, number, entries
}

# Prints a read of 64 bytes by function 0x100 or 0x101, its completion and, for every third read on average, a write.
function request(tag, requester, low,    wait) {
	wait = 180 + random(60) + (random(10) == 0 ? 400 + random(300) : 0)
	ticks += 40 + random(30)
	printf "8dw %d 20000010 %04x%02xff 00000001 %08x\n", ticks, requester, tag, low
	printf "8dw %d 4a000010 00000040 %04x%02x00 00000000\n", ticks + wait, requester, tag
	if (random(3) == 0)
		printf "8dw %d 60000010 0200%02xff 00000001 %08x\n", ticks + 20, tag, 8388608 + random(64) * 4096
}

function trace(    i, requester) {
	for (i = 0; i < 120; i++) {
		requester = random(4) == 0 ? 257 : 256
		request(i % 256, requester, requester == 256 ? 3112960 + random(5) * 12288 : random(3) * 2097152 + random(512) * 4096)
	}
}

function reading(number, at_ms, monitor, kind, event, bytes, bound) {
	printf "cq %d %d000000 %d %d 0 %d %d %d\n", number, at_ms, monitor, kind, event, bytes, bound
}

BEGIN {
	seed = 7
	unit = 65536
	print "# SPDX-License-Identifier: GPL-2.0-only"
	print "order little"
	print "host x86_64 an example"
	print "pmu 11 cxl_hmu_mem0.0.0"
	print "pmu 24 hisi_ptt0_2"
	print "pmu 30 cache_qos_aux"
	print "pmu 31 trace_imc"
	print "event 7 cxl_hmu_mem0.0.0//"
	print "event 8 hisi_ptt0_2/filter=0x80001,type=7,format=1/ config 0x107080001 period 1"
	print "event 9 cache_qos_aux/snapshot/"
	print "event 10 trace_imc/trace_cycles/ period 251"
	print "comm 100 100 database exec time 1000"
	print "comm 200 200 backup exec time 1000"
	print "mmap 100 0x10000000 0x20000 0x10000 /usr/bin/database time 1100"
	print "mmap 200 0x10000000 0x20000 0x10000 /usr/bin/backup time 1100"
	print "fork 100 100 101 100 2000"

	print "aux 7 cpu 0 time 12000000000"
	for (i = 0; i < 80; i++)
		hot(10000 + 25 * i, i)

	for (step = 0; step < 8; step++) {
		printf "aux 8 cpu 0 time %d000000\n", 10250 + 250 * step
		trace()
	}

	print "aux 9 cpu 0 time 12000000000"
	print "cq-header 0 0 8388608 65536"
	number = 1
	for (i = 0; i <= 40; i++) {
		at = 10000 + 50 * i
		large = 40 + int(i / 2) + random(6)
		small = i > 14 ? (i < 30 ? 30 + random(8) : 6) : 4 + random(4)
		moved1 += (20 + random(6)) * unit
		moved2 += (i > 14 ? (i < 30 ? 60 + random(12) : 4) : 3) * unit
		reading(number++, at, 0, 0, 1, (large + small + 12) * unit, 0)
		reading(number++, at, 1, 1, 1, large * unit, 0)
		reading(number++, at, 2, 1, 1, small * unit, unit)
		reading(number++, at, 1, 1, 2, moved1, 0)
		reading(number++, at, 2, 1, 2, moved2, 0)
	}

	for (thread = 100; thread <= 101; thread++) {
		printf "aux 10 cpu %d pid 100 tid %d time 12000000000\n", thread - 100, thread
		for (i = 0; i < 60; i++)
			printf "imc 0x%x %s\n", 65536 * (i + 1), random(5) ? sprintf("user 0x%x", 268436480 + 32 * random(6) * random(3)) : sprintf("kernel 0xc0000000000%x", 4096 + 256 * random(4))
	}
	print "aux 10 cpu 2 pid 200 tid 200 time 12000000000"
	for (i = 0; i < 50; i++)
		printf "imc 0x%x %s\n", 65536 * (i + 1), random(2) ? sprintf("user 0x%x", 268437504 + 64 * random(3)) : sprintf("kernel 0xc0000000000%x", 8192 + 256 * random(3))
}
