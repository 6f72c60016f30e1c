// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>

#include "imc_reference.h"
#include "imc_follow.h"

#define AREA_BYTES	(1 << 20)	/* size of the buffer for one read of the area */

void follow(const struct trace_sample *sample, void *data)
{
	struct sequence *s = data;
	__u32 cpu = sample->cpu % MAX_CPUS;

	s->damaged += sample->damaged;
	s->backwards += sample->sequence < s->next[cpu] || sample->lost < s->lost[cpu];
	s->gaps += sample->sequence - s->next[cpu];
	s->next[cpu] = sample->sequence + 1;
	if (s->begun[cpu]) {
		s->backwards += sample->number <= s->number[cpu];
		s->missing += sample->number - s->number[cpu] - 1;
		s->reported += sample->lost - s->lost[cpu];
	}
	s->begun[cpu] = true;
	s->number[cpu] = sample->number;
	s->lost[cpu] = sample->lost;
}

static void follow_stream(struct stream *s, const __u64 *record)
{
	__u64 tb = be64toh(record[0]), number = be64toh(record[6]);

	s->damaged += (tb & ((1ULL << 42) - 1)) != be64toh(record[7]);
	if (s->records++) {
		s->backwards += tb <= s->tb || number <= s->number;
		s->missing += number - s->number - 1;
	}
	s->tb = tb;
	s->number = number;
}

void read_stream(struct pmu_event *event, struct stream *s)
{
	static __u64 words[AREA_BYTES / 8];
	size_t bytes;

	while ((bytes = pmu_event_aux(event, words, sizeof(words))) > 0) {
		s->damaged += bytes % 64 != 0;
		for (size_t at = 0; at < bytes / 64; at++)
			follow_stream(s, words + at * 8);
	}
}

void tally_now(struct tally *tally)
{
	tally->written = reference_sum("cpu", "records");
	tally->handed = trace_stat("records");
	tally->lost = trace_stat("lost");
	tally->rejected = trace_stat("rejected");
}

void tally_since(struct tally *tally)
{
	struct tally now;

	tally_now(&now);
	tally->written = now.written - tally->written;
	tally->handed = now.handed - tally->handed;
	tally->lost = now.lost - tally->lost;
	tally->rejected = now.rejected - tally->rejected;
}
