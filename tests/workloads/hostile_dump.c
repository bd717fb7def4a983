// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes a dump in which everything that a program can name has a name that somebody might choose
 * who wants to break what reads it: a process and a kernel for each.
 *
 * usage: hostile_dump FILE      prints the names, each ended by a NUL
 */
#include <stdio.h>

#include "event/identity.h"
#include "report_dump.h"

#define SECOND 1000000000ull
#define LONG_NAME 8000

static const char *const names[] = {
	"plain",
	"",
	"=1+1",
	"+cmd|' /C'!A0",
	"-2+3",
	"@SUM(A1)",
	"'quoted'",
	"a\"b\"\"c",
	"a,b;c\td",
	"line\nfeed\r\n",
	"</script><b>",
	"\x1b[31mred\x07",
	"\xe2\x80\xae"
	"desrever",
	"\xff\xfe\xc3(",
	"\xf0\x9f\x98\x80 \xc3\xa9",
	"back\\slash{}$",
	"a{b=\"c\"} 1\n# EOF",
	"'; DROP TABLE",
	"%s%n%p",
	"plain", /* there may be two of a name */
};

#define NAMES (sizeof(names) / sizeof(*names))

struct long_name {
	struct ms_name name;
	char text[LONG_NAME];
};

static union record of(size_t i, union record record)
{
	return record_of(1000 + (uint32_t)i, (100 + i) * MS_START_NS, record);
}

static void add(struct report_dump *dump, size_t i, uint64_t step, union record record)
{
	report_dump_add(dump, record_at(SECOND + (i * 100 + step) * 1000, of(i, record)));
}

struct identity_record {
	struct ms_identity identity;
	char texts[8 * LONG_NAME];
};

static void put(struct identity_record *record, const char *text)
{
	memcpy(record->texts + record->identity.length, text, strlen(text) + 1);
	record->identity.length += strlen(text) + 1;
}

/* Every text of the process's identity is the name. */
static void add_identity(struct report_dump *dump, size_t i, const char *name)
{
	static struct identity_record record;
	enum identity_item item;

	record = (struct identity_record){ .identity.event = of(i, record_identity("")).event };
	for (item = 0; item < IDENTITY_ITEMS; item++) {
		put(&record, identity_rows[item].name);
		put(&record, identity_rows[item].kind == IDENTITY_NUMBER ? "7" : name);
	}
	record.identity.event.size = sizeof(record.identity) + record.identity.length;
	record.identity.event.ts_ns = SECOND + i * 100000;
	assert_int_equal(dump_writer_add(dump->writer, &record), 0);
	assert_int_equal(pipeline_feed(&dump->live, &record, record.identity.event.size), 0);
}

/* Two allocations, of which one is freed, a copy, and launches of the kernel. */
static void add_process(struct report_dump *dump, size_t i, const char *name)
{
	union record attach = record_process(MS_TYPE_ATTACH, "", 0);
	const uint64_t base = 0x7f0000000000 + i * 0x10000000;

	snprintf(attach.process.comm, sizeof(attach.process.comm), "%s", name);
	add_identity(dump, i, name);
	add(dump, i, 0, attach);
	add(dump, i, 1, record_alloc("cuMemAlloc_v2", base, 4096 * (i + 1)));
	add(dump, i, 2, record_alloc("cudaMallocManaged", base + 0x1000000, 1 << 20));
	add(dump, i, 3, record_begin_of("cuMemFree_v2", base, 0));
	add(dump, i, 3, record_taking(500, record_free("cuMemFree_v2", base)));
	add(dump, i, 4, record_copy("cuMemcpyHtoD_v2", 1000, MS_DIRECTION_HTOD));
	if (strlen(name) < MS_NAME_BYTES)
		add(dump, i, 5, record_name(0x6000 + i, name));
	add(dump, i, 6, record_launch("cuLaunchKernel", 0x6000 + i));
	add(dump, i, 7, record_launches("cuLaunchKernel", 0x6000 + i, 500));
	add(dump, i, 8, record_failed(2, record_alloc("cuMemAlloc_v2", 0, 1ull << 40)));
}

static void add_long_name(struct report_dump *dump, size_t i)
{
	struct long_name record = { .name = { .event = of(i, record_name(0x6000 + i, "")).event,
					      .handle = 0x6000 + i,
					      .string = 0x5000,
					      .length = LONG_NAME } };
	char longest[1024] = "";

	memset(longest, '\xff', sizeof(longest) - 1);
	add_identity(dump, i, longest);
	memset(record.text, 'x', LONG_NAME - 1);
	record.name.event.size = sizeof(record);
	record.name.event.ts_ns = SECOND + i * 100000;
	assert_int_equal(dump_writer_add(dump->writer, &record), 0);
	assert_int_equal(pipeline_feed(&dump->live, &record, sizeof(record)), 0);
}

static void make(struct report_dump *dump)
{
	size_t i;

	report_dump_init(dump, 0xbad, "ho\"st\n");
	report_dump_segment(dump, SECOND);
	add_long_name(dump, NAMES);
	for (i = 0; i < NAMES; i++)
		add_process(dump, i, names[i]);
	add(dump, NAMES, 6, record_launch("cuLaunchKernel", 0x6000 + NAMES));
	report_dump_end(dump, 2 * SECOND);
}

static int keep(const struct report_dump *dump, const char *path)
{
	FILE *file = fopen(path, "wxe");
	char buffer[65536];
	ssize_t length;

	if (!file || lseek(dump->fds[0], 0, SEEK_SET))
		return -1;
	while ((length = read(dump->fds[0], buffer, sizeof(buffer))) > 0)
		fwrite(buffer, 1, length, file);
	return fclose(file);
}

int main(int argc, char **argv)
{
	struct report_dump dump;
	size_t i;

	if (argc != 2)
		return fprintf(stderr, "usage: hostile_dump FILE\n"), 2;
	make(&dump);
	if (keep(&dump, argv[1]))
		return perror(argv[1]), 1;
	report_dump_fini(&dump);
	for (i = 0; i < NAMES; i++)
		fwrite(names[i], 1, strlen(names[i]) + 1, stdout);
	return 0;
}
