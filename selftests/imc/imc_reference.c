// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "imc_reference.h"
#include "pmu_event.h"
#include "pmu_machine.h"

#define MODEL "/sys/devices/imc_engine/model"
#define ENGINE "/sys/kernel/debug/imc_engine"
#define POLL_US 20000
#define DRIVER_PROBES "/sys/kernel/debug/imc/probes"
#define ENGINE_PROBES ENGINE "/probes"
#define ENGINE_FAILS ENGINE "/fail_probes"

bool engine_is_loaded(void)
{
	return !access(MODEL, R_OK);
}

void reference_text(const char *page, int number, const char *word, char *text, int size)
{
	char path[128], content[4096], *line, *rest = content;
	size_t length = strlen(word);

	text[0] = '\0';
	snprintf(path, sizeof(path), ENGINE "/%s%d", page, number);
	if (read_text(path, content, sizeof(content)))
		return;
	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, word, length) && line[length] == ' ')
			snprintf(text, size, "%s", line + length + 1);
}

long long reference_number(const char *page, int number, const char *word)
{
	char text[64];

	reference_text(page, number, word, text, sizeof(text));
	return text[0] ? strtoll(text, NULL, 0) : -1;
}

long long reference_sum(const char *page, const char *word)
{
	long nr = sysconf(_SC_NPROCESSORS_CONF);
	long long sum = 0, one;

	for (int number = 0; number < nr; number++) {
		one = reference_number(page, number, word);
		sum += one > 0 ? one : 0;
	}
	return sum;
}

static void wait_for_more(const char *page, int number, const char *word, long long more)
{
	long long end = now_ms() + 120000, until = reference_number(page, number, word) + more;

	while (reference_number(page, number, word) < until && now_ms() < end)
		usleep(POLL_US);
}

void reference_wait_records(int cpu, long long records)
{
	wait_for_more("cpu", cpu, "records", records);
}

void reference_wait_posted(int chip)
{
	wait_for_more("chip", chip, "rounds", 2);
}

int cpus_online(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

int core_of(int cpu)
{
	return reference_number("cpu", cpu, "core");
}

long long trace_stat(const char *name)
{
	long long value;
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/pmukit/trace_imc/%s", name);
	return read_number(path, &value) ? -1 : value;
}

int probes_of_driver(void)
{
	long long number;
	int err = read_number(DRIVER_PROBES, &number);

	return err ? err : (int)number;
}

int probes_of_engine(void)
{
	long long number;
	int err = read_number(ENGINE_PROBES, &number);

	return err ? err : (int)number;
}

bool probes_are_gone(void)
{
	long long end = now_ms() + 30000;

	while ((probes_of_driver() || probes_of_engine()) && now_ms() < end)
		usleep(POLL_US);
	return !probes_of_driver() && !probes_of_engine();
}

int probes_fail_once(int error)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", error);
	return write_text(ENGINE_FAILS, text);
}
