// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reader of function prologues against a real disassembler, over the libraries of this system:
 * wherever it would move a probe to, objdump has to agree that an instruction begins there, that
 * nothing before it writes an argument, how far the stack pointer is lowered, and that no branch of
 * the function leads into the line.
 */
#include "unit.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf_symbols.h"
#include "elf/prologue.h"

struct line {
	uint64_t address;
	char text[64]; /* "mov    %rdi,%rax" */
};

struct listing {
	int fd;
	uint64_t to_address; /* what to add to an offset in the file */
	struct line *lines;
	size_t count, capacity;
	size_t functions, moved, lowered;
};

/* ---- objdump's output ------------------------------------------------------------------------ */

static void add_line(struct listing *listing, const char *text)
{
	struct line line = { 0 };
	char *end;

	line.address = strtoull(text, &end, 16);
	if (end == text || *end != ':')
		return;
	for (end++; *end == ' ' || *end == '\t';)
		end++;
	snprintf(line.text, sizeof(line.text), "%.*s", (int)strcspn(end, "\n"), end);
	if (listing->count == listing->capacity) {
		listing->capacity = listing->capacity ? 2 * listing->capacity : 4096;
		listing->lines = realloc(listing->lines, listing->capacity * sizeof(line));
		assert_non_null(listing->lines);
	}
	listing->lines[listing->count++] = line;
}

static void disassemble(struct listing *listing, const char *path)
{
	char command[256], text[512];
	FILE *output;

	snprintf(command, sizeof(command), "LC_ALL=C objdump -d -w --no-show-raw-insn %s", path);
	output = popen(command, "r");
	assert_non_null(output);
	while (fgets(text, sizeof(text), output))
		if (text[0] == ' ')
			add_line(listing, text);
	assert_int_equal(pclose(output), 0);
	assert_true(listing->count > 1000);
}

/* The first line at or after the address. */
static const struct line *line_at(const struct listing *listing, uint64_t address)
{
	size_t low = 0, high = listing->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (listing->lines[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < listing->count ? &listing->lines[low] : NULL;
}

/* ---- what a line does ------------------------------------------------------------------------ */

static bool begins(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word));
}

static bool only_reads(const char *text)
{
	static const char *const words[] = { "endbr64",        "nop", "data16", "cs nop",
					     "xchg   %ax,%ax", "cmp", "test" };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (begins(text, words[i]))
			return true;
	return false;
}

/* AT&T syntax: the last operand is written. */
static const char *destination(const char *text)
{
	const char *comma = strrchr(text, ','), *space = strrchr(text, ' ');

	if (comma && comma > space)
		return comma + 1;
	return space ? space + 1 : text;
}

static bool is_argument(const char *operand)
{
	static const char *const registers[] = {
		"%rdi", "%edi", "%di",  "%rsi", "%esi", "%si",  "%rdx", "%edx",
		"%dx",  "%dl",  "%dh",  "%rcx", "%ecx", "%cx",  "%cl",  "%ch",
		"%r8",  "%r9",  "%dil", "%sil", "%rbp", "%ebp",
	};
	size_t i;

	for (i = 0; i < sizeof(registers) / sizeof(*registers); i++)
		if (begins(operand, registers[i]))
			return true;
	return false;
}

/* By how much the line lowers the stack pointer; fails if it does anything that it must not. */
static uint32_t check_before(const struct line *line)
{
	const char *written = destination(line->text);
	long long value;
	char word[8];

	if (only_reads(line->text))
		return 0;
	if (sscanf(line->text, "%7s $%lli,%%rsp", word, &value) == 2 && !strcmp(written, "%rsp")) {
		assert_true(!strcmp(word, "sub") || !strcmp(word, "add"));
		return word[0] == 's' ? value : -value;
	}
	if (!begins(line->text, "mov") && !begins(line->text, "lea ") &&
	    !begins(line->text, "xor "))
		fail_msg("%#llx: %s", (unsigned long long)line->address, line->text);
	/* "# 1a2b <name>" follows what is relative to rip; it is never the destination here. */
	if (strchr(line->text, '#'))
		return 0;
	if (written[0] != '%' || is_argument(written) || begins(written, "%rsp") ||
	    begins(written, "%esp"))
		fail_msg("%#llx: %s", (unsigned long long)line->address, line->text);
	return 0;
}

static bool is_emulated(const char *text)
{
	return begins(text, "push   %") || begins(text, "j") || begins(text, "call") ||
	       begins(text, "nop") || begins(text, "data16") || begins(text, "cs nop") ||
	       begins(text, "xchg   %ax,%ax");
}

/* "jne    12ab <function+0x4>" */
static void check_branch(const struct line *line, uint64_t entry, uint64_t point)
{
	const char *operand = strchr(line->text, ' ');
	uint64_t target;

	if (line->text[0] != 'j' && !begins(line->text, "call") && !begins(line->text, "loop"))
		return;
	while (operand && *operand == ' ')
		operand++;
	if (!operand || *operand == '*')
		return;
	target = strtoull(operand, NULL, 16);
	assert_false(target > entry && target <= point);
}

/* ---- functions ------------------------------------------------------------------------------- */

static void check_line(struct listing *listing, uint64_t entry, const struct prologue_point *point,
		       uint64_t size)
{
	const struct line *line = line_at(listing, entry), *end = listing->lines + listing->count;
	uint32_t lowered = 0;

	for (; line < end && line->address < entry + point->offset; line++)
		lowered += check_before(line);
	assert_true(line < end);
	assert_int_equal(line->address, entry + point->offset);
	assert_int_equal(lowered, point->stack_bytes);
	if (!is_emulated(line->text))
		fail_msg("%#llx: %s", (unsigned long long)line->address, line->text);
	for (line = line_at(listing, entry); line < end && line->address < entry + size; line++)
		check_branch(line, entry, entry + point->offset);
}

static int check_function(const struct elf_function *function, void *context)
{
	static uint8_t code[PROLOGUE_MAX_SIZE];
	struct listing *listing = context;
	struct prologue prologue;
	ssize_t length;

	if (!function->size_bytes || function->size_bytes > sizeof(code))
		return 0;
	length = pread(listing->fd, code, function->size_bytes, function->file_offset);
	prologue_read(&prologue, code, length > 0 ? length : 0, function->size_bytes, true);
	listing->functions++;
	if (prologue.entry.offset) {
		listing->moved++;
		listing->lowered += prologue.entry.stack_bytes > 0;
		check_line(listing, function->file_offset + listing->to_address, &prologue.entry,
			   function->size_bytes);
	}
	return 0;
}

static uint64_t text_distance(int fd)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	int i;

	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	for (i = 0; i < header.e_phnum; i++) {
		assert_int_equal(pread(fd, &segment, sizeof(segment),
				       header.e_phoff + i * sizeof(segment)),
				 sizeof(segment));
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X)
			return segment.p_vaddr - segment.p_offset;
	}
	fail();
	return 0;
}

static bool check_library(const char *path, struct listing *total)
{
	struct listing listing = { .fd = open(path, O_RDONLY | O_CLOEXEC) };

	if (listing.fd < 0)
		return false;
	listing.to_address = text_distance(listing.fd);
	disassemble(&listing, path);
	assert_int_equal(elf_each_function(listing.fd, check_function, &listing, NULL), 0);
	print_message("# %s: %zu functions, %zu points moved, %zu behind a lowered stack pointer\n",
		      path, listing.functions, listing.moved, listing.lowered);
	total->moved += listing.moved;
	total->lowered += listing.lowered;
	close(listing.fd);
	free(listing.lines);
	return true;
}

static void test_the_systems_libraries(void **state)
{
	static const char *const paths[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",      "/lib64/libc.so.6",
		"/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib64/libstdc++.so.6",
		"/lib/x86_64-linux-gnu/libssl.so.3",    "/lib64/libssl.so.3",
	};
	struct listing total = { 0 };
	size_t i, found = 0;

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	if (system("objdump --version > /dev/null 2>&1") != 0) {
		print_message("# no objdump (binutils) to compare with\n");
		skip();
	}
	for (i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		found += check_library(paths[i], &total);
	if (!found) {
		print_message("# none of the libraries is where it is looked for\n");
		skip();
	}
	assert_true(total.moved > 50);
	assert_true(total.lowered > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_systems_libraries),
	};

	return unit_run("prologue_objdump", tests);
}
