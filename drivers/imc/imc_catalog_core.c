// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc: the catalog. A flattened device tree (Devicetree Specification 0.4, chapter 5) lists the
 * PMUs, their events and the locations of the counters. Documentation/devices/imc.rst has the nodes
 * and properties.
 *
 * The blob comes from firmware or from disk and is not trusted. The parser rejects a malformed tree
 * and reports the path of the faulty node. It skips an invalid unit and records the reason. The
 * parsed catalog is valid: counters lie inside their unit's memory, names are valid file names and
 * unique.
 *
 * The parser first checks all tokens from end to end. Only then does it look up nodes, so reading a
 * token cannot fail there.
 */

#include <linux/ctype.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "imc_core.h"

/* Format */

#define IMC_FDT_MAGIC		0xd00dfeed
#define IMC_FDT_VERSION		17
#define IMC_FDT_HEADER_BYTES	40
#define IMC_FDT_ALIGN		4
#define IMC_FDT_BEGIN_NODE	1
#define IMC_FDT_END_NODE	2
#define IMC_FDT_PROP		3
#define IMC_FDT_NOP		4
#define IMC_FDT_END		9

#define IMC_MAX_DEPTH		8
#define IMC_NOWHERE		(~0U)

/**
 * struct imc_fdt - structure block and strings block of a blob
 * @structs: tokens
 * @structs_bytes: length of the tokens
 * @strings: names of properties
 * @strings_bytes: length of the names
 */
struct imc_fdt {
	const u8 *structs;
	u32 structs_bytes;
	const char *strings;
	u32 strings_bytes;
};

/**
 * struct imc_token - one token
 * @kind: IMC_FDT_*
 * @next: offset of the next token
 * @name: name of the node or property
 * @data: value of the property
 * @bytes: length of the value
 */
struct imc_token {
	u32 kind;
	u32 next;
	const char *name;
	const u8 *data;
	u32 bytes;
};

/**
 * struct imc_walk - position in the tree
 * @at: offset of the next token
 * @depth: number of open nodes
 * @names: names of the open nodes
 */
struct imc_walk {
	u32 at;
	u32 depth;
	const char *names[IMC_MAX_DEPTH];
};

static u32 imc_be32(const u8 *data)
{
	return (u32)data[0] << 24 | (u32)data[1] << 16 | (u32)data[2] << 8 | data[3];
}

static bool imc_range_fits(u64 offset, u64 bytes, u64 limit)
{
	return offset <= limit && bytes <= limit - offset;
}

/* Tokens */

static const char *imc_fdt_header(const u8 *blob, size_t bytes, struct imc_fdt *fdt)
{
	u32 total, structs, strings;

	if (bytes < IMC_FDT_HEADER_BYTES)
		return "shorter than a header";
	if (imc_be32(blob) != IMC_FDT_MAGIC)
		return "not a flattened device tree";
	total = imc_be32(blob + 4);
	structs = imc_be32(blob + 8);
	strings = imc_be32(blob + 12);
	if (total > bytes || total > IMC_CATALOG_MAX_BYTES)
		return "cut short, or larger than 1 MiB";
	if (imc_be32(blob + 20) < IMC_FDT_VERSION || imc_be32(blob + 24) > IMC_FDT_VERSION)
		return "not of version 17";

	fdt->strings_bytes = imc_be32(blob + 32);
	fdt->structs_bytes = imc_be32(blob + 36);
	if (!imc_range_fits(structs, fdt->structs_bytes, total) || structs % IMC_FDT_ALIGN ||
	    !imc_range_fits(strings, fdt->strings_bytes, total))
		return "a block reaches beyond the end";
	fdt->structs = blob + structs;
	fdt->strings = (const char *)blob + strings;
	return NULL;
}

/* Sets @length. Returns true if the string ends within @bytes. */
static bool imc_string_ends(const void *string, u32 bytes, u32 *length)
{
	*length = strnlen(string, bytes);
	return *length < bytes;
}

static const char *imc_token_node(const struct imc_fdt *fdt, u32 at, struct imc_token *token)
{
	u32 length;

	token->name = (const char *)fdt->structs + at;
	if (!imc_string_ends(token->name, fdt->structs_bytes - at, &length))
		return "the name of a node does not end";
	token->next = at + length + 1;
	return NULL;
}

static const char *imc_token_prop(const struct imc_fdt *fdt, u32 at, struct imc_token *token)
{
	u32 name, length;

	if (fdt->structs_bytes - at < 8)
		return "the tokens end in a property";
	token->bytes = imc_be32(fdt->structs + at);
	name = imc_be32(fdt->structs + at + 4);
	at += 8;
	if (token->bytes > fdt->structs_bytes - at)
		return "a property reaches beyond the tokens";
	if (name >= fdt->strings_bytes ||
	    !imc_string_ends(fdt->strings + name, fdt->strings_bytes - name, &length))
		return "the name of a property is not among the strings";
	token->name = fdt->strings + name;
	token->data = fdt->structs + at;
	token->next = at + token->bytes;
	return NULL;
}

static const char *imc_token_read(const struct imc_fdt *fdt, u32 at, struct imc_token *token)
{
	const char *wrong = NULL;

	if (at > fdt->structs_bytes || fdt->structs_bytes - at < IMC_FDT_ALIGN)
		return "the tokens end before the tree does";
	token->kind = imc_be32(fdt->structs + at);
	token->next = at + IMC_FDT_ALIGN;

	if (token->kind == IMC_FDT_BEGIN_NODE)
		wrong = imc_token_node(fdt, token->next, token);
	else if (token->kind == IMC_FDT_PROP)
		wrong = imc_token_prop(fdt, token->next, token);
	else if (token->kind != IMC_FDT_END_NODE && token->kind != IMC_FDT_NOP &&
		 token->kind != IMC_FDT_END)
		return "an unknown token";
	token->next = (token->next + IMC_FDT_ALIGN - 1) / IMC_FDT_ALIGN * IMC_FDT_ALIGN;
	return wrong;
}

/* Reads one token and tracks the open nodes. */
static const char *imc_walk_step(const struct imc_fdt *fdt, struct imc_walk *walk,
				 struct imc_token *token)
{
	const char *wrong = imc_token_read(fdt, walk->at, token);

	if (wrong)
		return wrong;
	walk->at = token->next;
	if (token->kind == IMC_FDT_BEGIN_NODE) {
		if (walk->depth == IMC_MAX_DEPTH)
			return "nodes nested deeper than 8";
		walk->names[walk->depth++] = token->name;
	} else if (token->kind == IMC_FDT_END_NODE) {
		if (!walk->depth)
			return "a node ends that did not begin";
		walk->depth--;
	} else if (!walk->depth && token->kind == IMC_FDT_PROP) {
		return "a property outside of the tree";
	} else if (walk->depth && token->kind == IMC_FDT_END) {
		return "the tree ends inside a node";
	}
	return NULL;
}

/* Paths, for the log */

static u32 imc_path_add(char *path, u32 length, const char *name)
{
	while (*name && length < IMC_PATH_BYTES - 1) {
		/* Unprintable characters must not get into the log. */
		path[length++] = *name > ' ' && *name < 0x7f ? *name : '?';
		name++;
	}
	return length;
}

static void imc_path_write(char *path, const struct imc_walk *walk)
{
	u32 length = 0, i;

	for (i = 1; i < walk->depth; i++) {
		length = imc_path_add(path, length, "/");
		length = imc_path_add(path, length, walk->names[i]);
	}
	if (!length)
		length = imc_path_add(path, length, "/");
	path[length] = '\0';
}

/* Writes the path of the node at offset @node, in a checked tree. */
static void imc_path_find(const struct imc_fdt *fdt, u32 node, char *path)
{
	struct imc_walk walk = {};
	struct imc_token token;
	bool here = false;

	while (!here && !imc_walk_step(fdt, &walk, &token)) {
		here = token.kind == IMC_FDT_END || walk.at > node;
		if (here)
			imc_path_write(path, &walk);
	}
}

static const char *imc_fdt_check(const struct imc_fdt *fdt, struct imc_catalog *catalog)
{
	struct imc_walk walk = {};
	struct imc_token token;
	const char *wrong;

	do {
		wrong = imc_walk_step(fdt, &walk, &token);
		if (wrong)
			imc_path_write(catalog->path, &walk);
	} while (!wrong && token.kind != IMC_FDT_END);
	return wrong;
}

/* Nodes of a checked tree; the offset of its BEGIN_NODE token identifies a node. */

struct imc_prop {
	const u8 *data;
	u32 bytes;
};

/*
 * Finds a property of the node at offset @node. The format requires the properties of a node before
 * its children; a property after a child is not found.
 */
static bool imc_node_prop(const struct imc_fdt *fdt, u32 node, const char *name,
			  struct imc_prop *prop)
{
	struct imc_token token;
	u32 at = node;

	if (imc_token_read(fdt, at, &token))
		return false;
	for (at = token.next; !imc_token_read(fdt, at, &token); at = token.next) {
		if (token.kind == IMC_FDT_NOP)
			continue;
		if (token.kind != IMC_FDT_PROP)
			return false;
		if (!strcmp(token.name, name)) {
			*prop = (struct imc_prop) { token.data, token.bytes };
			return true;
		}
	}
	return false;
}

/* Reads the first cell of a property. */
static bool imc_node_cell(const struct imc_fdt *fdt, u32 node, const char *name, u32 *value)
{
	struct imc_prop prop;

	if (!imc_node_prop(fdt, node, name, &prop) || prop.bytes < sizeof(u32))
		return false;
	*value = imc_be32(prop.data);
	return true;
}

static bool imc_text_good(const char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text >= 0x7f)
			return false;
	}
	return true;
}

/*
 * Reads a property that is one line of text. A missing or empty property does not change @text.
 * Returns false if the property is malformed.
 */
static bool imc_node_text(const struct imc_fdt *fdt, u32 node, const char *name, u32 limit,
			  const char **text)
{
	struct imc_prop prop;
	u32 length;

	if (!imc_node_prop(fdt, node, name, &prop))
		return true;
	if (!imc_string_ends(prop.data, prop.bytes, &length) || length >= limit ||
	    !imc_text_good((const char *)prop.data))
		return false;
	if (length)
		*text = (const char *)prop.data;
	return true;
}

/* Returns true if the node's "compatible" lists @wanted. */
static bool imc_node_compatible(const struct imc_fdt *fdt, u32 node, const char *wanted)
{
	struct imc_prop prop;
	u32 at, length;

	if (!imc_node_prop(fdt, node, "compatible", &prop))
		return false;
	for (at = 0; at < prop.bytes; at += length + 1) {
		if (!imc_string_ends(prop.data + at, prop.bytes - at, &length))
			return false;
		if (!strcmp((const char *)prop.data + at, wanted))
			return true;
	}
	return false;
}

static u32 imc_node_by_phandle(const struct imc_fdt *fdt, u32 phandle)
{
	struct imc_walk walk = {};
	struct imc_token token;
	u32 node = 0, found;

	while (!imc_walk_step(fdt, &walk, &token) && token.kind != IMC_FDT_END) {
		if (token.kind == IMC_FDT_BEGIN_NODE &&
		    (imc_node_cell(fdt, node, "phandle", &found) ||
		     imc_node_cell(fdt, node, "linux,phandle", &found)) && found == phandle)
			return node;
		node = walk.at;
	}
	return IMC_NOWHERE;
}

/* Names */

static bool imc_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

/* Copies the name of a node up to the "@". Returns false if the name is invalid. */
static bool imc_unit_name(char *name, const char *node)
{
	u32 length = 0;

	for (; *node && *node != '@'; node++) {
		if (!imc_name_char(*node) || length >= IMC_NAME_BYTES - 1)
			return false;
		name[length++] = *node;
	}
	name[length] = '\0';
	return length;
}

/*
 * Appends a part of an event's name, in lower case: perf's self-test requires each file name in
 * events/ to be in one case, and the suffix of NAME.scale is in lower case. perf's command line
 * accepts either case.
 */
static bool imc_event_name_add(char *name, u32 *length, const char *more)
{
	for (; *more; more++) {
		if ((!imc_name_char(*more) && *more != '.') || *length >= IMC_NAME_BYTES - 1)
			return false;
		name[(*length)++] = tolower(*more);
	}
	name[*length] = '\0';
	return true;
}

/*
 * Dots are valid (DATA_FROM_L3.1 on POWER10). But a name must not end in the suffix of a file that
 * describes an event, such as NAME.scale, because perf would not show the event.
 */
static bool imc_event_name_good(const char *name)
{
	static const char * const reserved[] = { ".scale", ".unit", ".per-pkg", ".snapshot", NULL };
	const char * const *suffix;
	const char *dot = strrchr(name, '.');

	for (suffix = reserved; dot && *suffix; suffix++) {
		if (!strcmp(dot, *suffix))
			return false;
	}
	return *name && *name != '.';
}

/* Events */

/**
 * struct imc_defaults - properties of a unit that apply to its events
 * @prefix: prefix of event names
 * @base: added to event offsets
 * @scale: scale of events that have no scale property
 * @unit: unit of measurement of events that have no unit property
 */
struct imc_defaults {
	const char *prefix;
	u32 base;
	const char *scale;
	const char *unit;
};

static bool imc_unit_has_event(const struct imc_catalog *catalog, const struct imc_unit *unit,
			       const char *name)
{
	u32 i;

	for (i = 0; i < unit->nr_events; i++) {
		if (!strcmp(catalog->events[unit->first_event + i].name, name))
			return true;
	}
	return false;
}

static const char *imc_event_place(const struct imc_fdt *fdt, u32 node, const struct imc_unit *unit,
				   const struct imc_defaults *defaults, u32 *value)
{
	u32 place;

	if (!imc_node_cell(fdt, node, "reg", &place))
		return "an event without reg";
	if (place > (u32)~0 - defaults->base)
		return "reg of the unit and of the event are too much together";
	*value = defaults->base + place;
	if (unit->type != IMC_TYPE_TRACE && !imc_unit_has_counter(unit, *value))
		return "the counter lies outside of the unit's memory, or is not aligned";
	return NULL;
}

static const char *imc_event_parse(const struct imc_fdt *fdt, u32 node,
				   const struct imc_defaults *defaults,
				   struct imc_catalog *catalog, struct imc_unit *unit)
{
	struct imc_event_desc *event = &catalog->events[catalog->nr_events];
	const char *name = NULL, *wrong;
	u32 length = 0;

	if (catalog->nr_events == IMC_MAX_EVENTS || unit->nr_events == IMC_MAX_UNIT_EVENTS)
		return "more events than a catalogue may have";

	*event = (struct imc_event_desc) { .scale = defaults->scale, .unit = defaults->unit };
	if (!imc_node_text(fdt, node, "event-name", IMC_NAME_BYTES, &name) || !name)
		return "an event without event-name";
	if (!imc_event_name_add(event->name, &length, defaults->prefix) ||
	    !imc_event_name_add(event->name, &length, name))
		return "the event's name is too long, or has other than letters, digits, _, - and .";
	if (!imc_event_name_good(event->name))
		return "the event's name is empty, begins with a dot or ends as files about an event do";
	if (imc_unit_has_event(catalog, unit, event->name))
		return "the unit has an event of that name already";
	if (!imc_node_text(fdt, node, "scale", IMC_TEXT_BYTES, &event->scale) ||
	    !imc_node_text(fdt, node, "unit", IMC_TEXT_BYTES, &event->unit))
		return "scale or unit is not a line of text";
	wrong = imc_event_place(fdt, node, unit, defaults, &event->value);
	if (wrong)
		return wrong;
	catalog->nr_events++;
	unit->nr_events++;
	return NULL;
}

/* Parses the children of the node at offset @events. */
static const char *imc_events_parse(const struct imc_fdt *fdt, u32 events,
				    const struct imc_defaults *defaults,
				    struct imc_catalog *catalog, struct imc_unit *unit)
{
	struct imc_walk walk = { .at = events };
	struct imc_token token;
	const char *wrong = NULL;
	u32 node = events;

	while (!wrong && !imc_walk_step(fdt, &walk, &token) && walk.depth) {
		if (token.kind == IMC_FDT_BEGIN_NODE && walk.depth == 2)
			wrong = imc_event_parse(fdt, node, defaults, catalog, unit);
		if (wrong)
			imc_path_find(fdt, node, catalog->path);
		node = walk.at;
	}
	return wrong;
}

static const char *imc_unit_events(const struct imc_fdt *fdt, u32 node,
				   struct imc_catalog *catalog, struct imc_unit *unit)
{
	struct imc_defaults defaults = { .prefix = "" };
	struct imc_prop prop;
	u32 phandle, events;

	unit->first_event = catalog->nr_events;
	if (!imc_node_prop(fdt, node, "events", &prop))
		return NULL;
	if (!imc_node_cell(fdt, node, "events", &phandle))
		return "events is not a phandle";
	events = imc_node_by_phandle(fdt, phandle);
	if (events == IMC_NOWHERE)
		return "events points to no node";

	/* events-prefix is mandatory but may be empty, as in units of POWER9. */
	if (!imc_node_prop(fdt, node, "events-prefix", &prop) ||
	    !imc_node_text(fdt, node, "events-prefix", IMC_NAME_BYTES, &defaults.prefix))
		return "events without events-prefix";
	if (!imc_node_text(fdt, node, "scale", IMC_TEXT_BYTES, &defaults.scale) ||
	    !imc_node_text(fdt, node, "unit", IMC_TEXT_BYTES, &defaults.unit))
		return "scale or unit is not a line of text";
	if (!imc_node_cell(fdt, node, "reg", &defaults.base))
		defaults.base = 0;
	return imc_events_parse(fdt, events, &defaults, catalog, unit);
}

/* Units */

static bool imc_type_known(u32 type)
{
	return type == IMC_TYPE_THREAD || type == IMC_TYPE_TRACE || type == IMC_TYPE_CORE ||
	       type == IMC_TYPE_CHIP;
}

static const char *imc_unit_memory(const struct imc_fdt *fdt, u32 node, struct imc_unit *unit)
{
	if (!imc_node_cell(fdt, node, "size", &unit->bytes))
		return "a unit without size";
	if (unit->type == IMC_TYPE_TRACE)
		return unit->bytes == IMC_TRACE_BYTES ?
		       NULL : "the trace buffer is not of 256 KiB, as firmware sets it up";
	if (unit->bytes < sizeof(u64) || unit->bytes > IMC_HOMER_BYTES)
		return "size is not in 8 bytes .. 4 MiB";
	if (unit->type != IMC_TYPE_CHIP)
		return NULL;

	if (!imc_node_cell(fdt, node, "offset", &unit->offset))
		return "a unit of a chip without offset";
	if (!imc_node_cell(fdt, node, "cb_offset", &unit->cb_offset))
		unit->cb_offset = IMC_CB_DEFAULT;
	if (unit->offset % sizeof(u64) || unit->cb_offset % sizeof(u64) ||
	    !imc_unit_lies_in(unit, IMC_HOMER_BYTES))
		return "offset, size and cb_offset do not lie in a chip's 4 MiB";
	return NULL;
}

/*
 * Rejects duplicates. A core's engine serves only one unit of each type; a chip's engine serves
 * many units, which have different names.
 */
static const char *imc_unit_among(const struct imc_unit *unit, const struct imc_catalog *catalog)
{
	u32 i;

	for (i = 0; i < catalog->nr_units; i++) {
		const struct imc_unit *other = &catalog->units[i];

		if (other->type == unit->type &&
		    (unit->type != IMC_TYPE_CHIP || !strcmp(other->name, unit->name)))
			return "there is such a unit already";
		if (other->type != IMC_TYPE_CHIP && unit->type != IMC_TYPE_CHIP &&
		    !strcmp(other->name, unit->name))
			return "there is a unit of that name already";
	}
	return NULL;
}

static const char *imc_unit_parse(const struct imc_fdt *fdt, u32 node, const char *name,
				  struct imc_catalog *catalog)
{
	struct imc_unit *unit = &catalog->units[catalog->nr_units];
	const char *wrong;

	/* Skipped units count too, to bound the work. */
	if (catalog->nr_units + catalog->nr_skipped >= IMC_MAX_UNITS)
		return "more units than a catalogue may have";
	*unit = (struct imc_unit) {};
	if (!imc_node_cell(fdt, node, "type", &unit->type))
		return "a unit without type";
	if (!imc_type_known(unit->type))
		return "unknown type";
	if (!imc_unit_name(unit->name, name))
		return "the unit's name is too long, or has other than letters, digits, _ and -";
	wrong = imc_unit_among(unit, catalog);
	if (!wrong)
		wrong = imc_unit_memory(fdt, node, unit);
	if (!wrong)
		wrong = imc_unit_events(fdt, node, catalog, unit);
	return wrong;
}

/* Counts skipped units, and records path and reason of the first IMC_MAX_SKIPPED. */
static void imc_unit_skip(struct imc_catalog *catalog, const char *why)
{
	if (catalog->nr_skipped < IMC_MAX_SKIPPED) {
		struct imc_skipped *skipped = &catalog->skipped[catalog->nr_skipped];

		memcpy(skipped->path, catalog->path, sizeof(skipped->path));
		skipped->why = why;
	}
	catalog->nr_skipped++;
}

/* Adds a unit with all its events. If the unit or an event is invalid, skips the whole unit. */
static void imc_unit_take(const struct imc_fdt *fdt, u32 node, const char *name,
			  struct imc_catalog *catalog)
{
	u32 nr_events = catalog->nr_events;
	const char *wrong = imc_unit_parse(fdt, node, name, catalog);

	if (!wrong) {
		catalog->nr_units++;
		return;
	}
	catalog->nr_events = nr_events;
	imc_unit_skip(catalog, wrong);
}

static const char *imc_units_parse(const struct imc_fdt *fdt, struct imc_catalog *catalog)
{
	struct imc_walk walk = {};
	struct imc_token token;
	bool root = false;
	u32 node = 0;

	for (; !imc_walk_step(fdt, &walk, &token) && token.kind != IMC_FDT_END; node = walk.at) {
		if (token.kind != IMC_FDT_BEGIN_NODE)
			continue;
		root |= imc_node_compatible(fdt, node, "ibm,opal-in-memory-counters");
		if (!imc_node_compatible(fdt, node, "ibm,imc-counters"))
			continue;
		imc_path_write(catalog->path, &walk);
		imc_unit_take(fdt, node, token.name, catalog);
	}
	if (root && catalog->nr_units)
		return NULL;
	imc_path_write(catalog->path, &walk);
	return root ? "no unit" : "no node is compatible with ibm,opal-in-memory-counters";
}

/**
 * imc_catalog_parse - parse a catalog
 * @blob: a flattened device tree; aligned to 4 bytes
 * @bytes: length of the blob
 * @catalog: filled in; strings point into @blob. Invalid units are only in @catalog->skipped.
 *
 * Return: NULL, or error text; @catalog->path is then the path of the faulty node.
 */
const char *imc_catalog_parse(const void *blob, size_t bytes, struct imc_catalog *catalog)
{
	struct imc_fdt fdt;
	const char *wrong;

	catalog->nr_units = 0;
	catalog->nr_events = 0;
	catalog->nr_skipped = 0;
	catalog->path[0] = '/';
	catalog->path[1] = '\0';

	wrong = imc_fdt_header(blob, bytes, &fdt);
	if (!wrong)
		wrong = imc_fdt_check(&fdt, catalog);
	if (!wrong)
		wrong = imc_units_parse(&fdt, catalog);
	return wrong;
}

/**
 * imc_unit_lies_in - test if a chip unit fits into the chip's memory
 * @unit: a unit of a chip
 * @bytes: length of the chip's memory
 *
 * Return: true if the unit's counters and control block are within @bytes.
 */
bool imc_unit_lies_in(const struct imc_unit *unit, u64 bytes)
{
	return imc_range_fits(unit->offset, unit->bytes, bytes) &&
	       imc_range_fits((u64)unit->offset + unit->cb_offset, IMC_CB_BYTES, bytes);
}

/**
 * imc_unit_has_counter - test if a counter lies in the unit's memory
 * @unit: a unit with counters
 * @offset: offset of the counter
 *
 * Return: false if the counter lies outside of the memory or is not aligned.
 */
bool imc_unit_has_counter(const struct imc_unit *unit, u64 offset)
{
	return !(offset % sizeof(u64)) && imc_range_fits(offset, sizeof(u64), unit->bytes);
}

/**
 * imc_unit_samples - test if the trace unit has an event with this config
 * @catalog: the catalog
 * @unit: trace unit of the catalog
 * @value: config of the event
 *
 * Firmware chooses what is sampled and how often; the catalog lists only this choice.
 *
 * Return: true if the unit has such an event.
 */
bool imc_unit_samples(const struct imc_catalog *catalog, const struct imc_unit *unit, u64 value)
{
	u32 i;

	for (i = 0; i < unit->nr_events; i++) {
		if (catalog->events[unit->first_event + i].value == value)
			return true;
	}
	return false;
}
