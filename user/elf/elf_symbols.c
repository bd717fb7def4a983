// SPDX-License-Identifier: BSD-2-Clause
#include "elf/elf_symbols.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"

#define MAX_SEGMENTS 64 /* a linker makes four */

/*
 * The largest real tables, those of browsers and compilers with all their static symbols, have some
 * three million symbols and 300 MB of names. What is larger is refused; up to there, the names are
 * held a window at a time, and the symbols are gone through once for each. Windows are small,
 * because an agent promises how much memory it takes, unless that would take too long.
 */
#define MAX_SYMBOLS_BYTES (96u << 20)
#define MAX_STRINGS_BYTES (512u << 20)
#define WINDOW_BYTES (8u << 20)
#define WINDOW_BYTES_MOST (32u << 20)
#define GOOD_WALK_BYTES (128u << 20) /* of symbols, for all windows; beyond, windows are larger */
#define MAX_WALK_BYTES (512u << 20)  /* of symbols, for all windows: about a second */

struct walk {
	struct elf_file file;
	Elf64_Phdr segments[MAX_SEGMENTS]; /* those that are loaded */
	size_t segments_count;
	bool (*wants)(const char *name, void *context); /* NULL: each one is */
	int (*visit)(const struct elf_function *function, void *context);
	void *context;
	bool exported;             /* the table that is visited is .dynsym */
	bool functions, variables; /* are visited */
	bool anywhere;             /* also functions whose code is not in the file */
};

/* Names from `begin` on, up to `end`; what of the last one is behind that is there, too. */
struct window {
	char *bytes; /* one more than `length`, which is 0 */
	uint64_t begin, end, length;
	uint64_t file_offset; /* of the first byte */
};

static int read_segments(struct walk *walk)
{
	const Elf64_Ehdr *header = &walk->file.header;
	const Elf64_Phdr *segment;
	struct elf_items headers;

	if (!header->e_phnum)
		return 0;
	if (header->e_phentsize != sizeof(*segment))
		return -EBADMSG;
	elf_items_init(&headers, &walk->file, header->e_phoff, header->e_phnum, sizeof(*segment));
	while ((segment = elf_items_next(&headers))) {
		if (segment->p_type != PT_LOAD)
			continue;
		if (walk->segments_count == MAX_SEGMENTS)
			return -EFBIG;
		walk->segments[walk->segments_count++] = *segment;
	}
	return headers.err;
}

/* Where in the file the byte lies that is loaded to `address`; 0: nowhere. */
static uint64_t file_offset(const struct walk *walk, uint64_t address)
{
	uint64_t offset;
	size_t i;

	for (i = 0; i < walk->segments_count; i++) {
		const Elf64_Phdr *segment = &walk->segments[i];

		if (address < segment->p_vaddr || address - segment->p_vaddr >= segment->p_filesz)
			continue;
		if (__builtin_add_overflow(address - segment->p_vaddr, segment->p_offset,
					   &offset) ||
		    offset >= walk->file.size_bytes)
			return 0;
		return offset;
	}
	return 0;
}

static int visit_symbol(const struct walk *walk, const Elf64_Sym *symbol, uint64_t index,
			const struct window *window)
{
	const char *name = window->bytes + (symbol->st_name - window->begin);
	const bool is_variable = ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT;
	struct elf_function function = { .name = name,
					 .address = symbol->st_value,
					 .size_bytes = symbol->st_size,
					 .is_exported = walk->exported,
					 .is_variable = is_variable,
					 .is_weak = ELF64_ST_BIND(symbol->st_info) == STB_WEAK,
					 .name_offset =
						 window->file_offset + (name - window->bytes),
					 .index = index,
					 .is_indirect =
						 ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC };
	uint64_t rest = window->begin + window->length - symbol->st_name;

	if (!memchr(name, '\0', rest < ELF_NAME_BYTES ? rest : ELF_NAME_BYTES))
		return 0;
	function.file_offset = file_offset(walk, symbol->st_value);
	if (!function.file_offset && !is_variable && !walk->anywhere)
		return 0;
	return walk->visit(&function, walk->context);
}

/* An undefined one is an import: its offset would be 0. */
static bool is_wanted(const struct walk *walk, const Elf64_Sym *symbol)
{
	const unsigned char type = ELF64_ST_TYPE(symbol->st_info);
	const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;

	return ((walk->variables && type == STT_OBJECT) || (walk->functions && is_function)) &&
	       symbol->st_shndx != SHN_UNDEF && symbol->st_value;
}

static bool has_wanted_name(const struct walk *walk, const Elf64_Sym *symbol,
			    const struct window *window)
{
	return !walk->wants ||
	       walk->wants(window->bytes + (symbol->st_name - window->begin), walk->context);
}

/* The symbols whose names begin in the window. */
static int visit_window(const struct walk *walk, const Elf64_Shdr *table,
			const struct window *window)
{
	const Elf64_Sym *symbol;
	struct elf_items symbols;
	uint64_t index;
	int result = 0;

	elf_items_init(&symbols, &walk->file, table->sh_offset, table->sh_size / sizeof(*symbol),
		       sizeof(*symbol));
	for (index = 0; !result && (symbol = elf_items_next(&symbols)); index++)
		if (is_wanted(walk, symbol) && symbol->st_name >= window->begin &&
		    symbol->st_name < window->end && has_wanted_name(walk, symbol, window))
			result = visit_symbol(walk, symbol, index, window);
	return result ? result : symbols.err;
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

static uint64_t walk_bytes(uint64_t symbols_bytes, uint64_t strings_bytes, uint64_t window_bytes)
{
	return symbols_bytes * (1 + strings_bytes / window_bytes);
}

uint64_t elf_symbols_window(uint64_t symbols_bytes, uint64_t strings_bytes)
{
	uint64_t bytes = WINDOW_BYTES;

	while (bytes < WINDOW_BYTES_MOST &&
	       walk_bytes(symbols_bytes, strings_bytes, bytes) > GOOD_WALK_BYTES)
		bytes *= 2;
	return bytes;
}

/* The next window, which there is. */
static int visit_next(const struct walk *walk, const Elf64_Shdr *table, const Elf64_Shdr *strings,
		      struct window *window)
{
	const uint64_t size = strings->sh_size;
	int result;

	window->begin = window->end;
	window->end =
		at_most(size, window->begin + elf_symbols_window(table->sh_size, strings->sh_size));
	window->length = at_most(size, window->end + ELF_NAME_BYTES) - window->begin;
	window->file_offset = strings->sh_offset + window->begin;
	window->bytes[window->length] = '\0';
	result = elf_file_read(&walk->file, window->file_offset, window->bytes, window->length);
	return result ? result : visit_window(walk, table, window);
}

static char *window_bytes(const Elf64_Shdr *table, const Elf64_Shdr *strings)
{
	const uint64_t bytes = elf_symbols_window(table->sh_size, strings->sh_size);

	return malloc(at_most(strings->sh_size, bytes + ELF_NAME_BYTES) + 1);
}

static int visit_windows(const struct walk *walk, const Elf64_Shdr *table,
			 const Elf64_Shdr *strings)
{
	struct window window = { 0 };
	int result = 0;

	if (!strings->sh_size)
		return 0;
	window.bytes = window_bytes(table, strings);
	if (!window.bytes)
		return -ENOMEM;
	while (!result && window.end < strings->sh_size)
		result = visit_next(walk, table, strings, &window);
	free(window.bytes);
	return result;
}

static bool is_too_large(const Elf64_Shdr *table, const Elf64_Shdr *strings)
{
	return table->sh_size > MAX_SYMBOLS_BYTES || strings->sh_size > MAX_STRINGS_BYTES ||
	       walk_bytes(table->sh_size, strings->sh_size,
			  elf_symbols_window(table->sh_size, strings->sh_size)) > MAX_WALK_BYTES;
}

/* Returns 1, 0 if there is none, or -errno. */
static int find_table(const struct walk *walk, uint32_t type, Elf64_Shdr *table,
		      Elf64_Shdr *strings)
{
	int result = elf_file_section(&walk->file, type, table);

	if (result <= 0 || !table->sh_size)
		return result < 0 ? result : 0;
	if (table->sh_entsize != sizeof(Elf64_Sym))
		return -EBADMSG;
	result = elf_file_strings(&walk->file, table->sh_link, strings);
	if (result)
		return result;
	if (table->sh_size > walk->file.size_bytes)
		return -EBADMSG;
	return is_too_large(table, strings) ? -EFBIG : 1;
}

static int visit_table(const struct walk *walk, uint32_t type)
{
	Elf64_Shdr table, strings;
	int result = find_table(walk, type, &table, &strings);

	return result > 0 ? visit_windows(walk, &table, &strings) : result;
}

static int visit_tables(struct walk *walk)
{
	int result = read_segments(walk), other;

	if (result)
		return result;
	walk->exported = true;
	result = visit_table(walk, SHT_DYNSYM);
	walk->exported = false;
	if (result > 0)
		return result;
	/* What is wrong with one table says nothing about the other. */
	other = visit_table(walk, SHT_SYMTAB);
	return other > 0 || !result ? other : result;
}

int elf_each_function_named(int fd, bool (*wants)(const char *name, void *context),
			    int (*visit)(const struct elf_function *function, void *context),
			    void *context, struct elf_contents *contents)
{
	struct walk walk = {
		.wants = wants, .visit = visit, .context = context, .functions = true
	};
	int result = elf_file_init(&walk.file, fd);
	Elf64_Shdr section;

	if (contents)
		contents->has_symbols =
			!result && elf_file_section(&walk.file, SHT_SYMTAB, &section) > 0;
	return result ? result : visit_tables(&walk);
}

int elf_each_function(int fd, int (*visit)(const struct elf_function *function, void *context),
		      void *context, struct elf_contents *contents)
{
	return elf_each_function_named(fd, NULL, visit, context, contents);
}

int elf_each_function_anywhere(int fd,
			       int (*visit)(const struct elf_function *function, void *context),
			       void *context)
{
	struct walk walk = {
		.visit = visit, .context = context, .functions = true, .anywhere = true
	};
	int result = elf_file_init(&walk.file, fd);

	return result ? result : visit_tables(&walk);
}

int elf_each_variable(int fd, int (*visit)(const struct elf_function *variable, void *context),
		      void *context)
{
	struct walk walk = { .visit = visit, .context = context, .variables = true };
	int result = elf_file_init(&walk.file, fd);

	return result ? result : visit_tables(&walk);
}

/* ---- one of them ----------------------------------------------------------------------------- */

static int copy_function(const struct elf_function *function, void *context)
{
	*(struct elf_function *)context = *function;
	return 1;
}

static int visit_at(const struct walk *walk, uint64_t index, char name[ELF_NAME_BYTES])
{
	struct window window = { .bytes = name };
	Elf64_Shdr table, strings;
	Elf64_Sym symbol;
	int result = find_table(walk, walk->exported ? SHT_DYNSYM : SHT_SYMTAB, &table, &strings);

	if (result <= 0)
		return result;
	if (index >= table.sh_size / sizeof(symbol))
		return 0;
	result = elf_file_read(&walk->file, table.sh_offset + index * sizeof(symbol), &symbol,
			       sizeof(symbol));
	if (result || !is_wanted(walk, &symbol) || symbol.st_name >= strings.sh_size)
		return result;
	window.begin = symbol.st_name;
	window.length = at_most(strings.sh_size - window.begin, ELF_NAME_BYTES);
	window.file_offset = strings.sh_offset + window.begin;
	result = elf_file_read(&walk->file, window.file_offset, name, window.length);
	return result ? result : visit_symbol(walk, &symbol, index, &window);
}

int elf_function_at(int fd, bool is_exported, uint64_t index, char name[ELF_NAME_BYTES],
		    struct elf_function *function)
{
	struct walk walk = { .visit = copy_function,
			     .context = function,
			     .functions = true,
			     .exported = is_exported };
	int result = elf_file_init(&walk.file, fd);

	if (!result)
		result = read_segments(&walk);
	if (!result)
		result = visit_at(&walk, index, name);
	if (result <= 0)
		return result ? result : -ENOENT;
	return 0;
}

/* ---- a piece at a time ----------------------------------------------------------------------- */

struct elf_walk {
	struct walk walk;
	Elf64_Shdr table, strings;
	struct window window;
};

static int open_walk(struct elf_walk *walk, int fd)
{
	int result = elf_file_init(&walk->walk.file, fd);

	walk->walk.functions = walk->walk.variables = true;
	if (!result)
		result = read_segments(&walk->walk);
	if (!result)
		result = find_table(&walk->walk, SHT_SYMTAB, &walk->table, &walk->strings);
	if (result <= 0)
		return result ? result : -ENOENT;
	if (!walk->strings.sh_size)
		return 0;
	walk->window.bytes = window_bytes(&walk->table, &walk->strings);
	return walk->window.bytes ? 0 : -ENOMEM;
}

int elf_walk_open(struct elf_walk **result, int fd)
{
	struct elf_walk *walk = calloc(1, sizeof(*walk));
	int err = walk ? open_walk(walk, fd) : -ENOMEM;

	if (!err)
		*result = walk;
	else
		elf_walk_close(walk);
	return err;
}

void elf_walk_close(struct elf_walk *walk)
{
	if (!walk)
		return;
	free(walk->window.bytes);
	free(walk);
}

int elf_walk_step(struct elf_walk *walk,
		  int (*visit)(const struct elf_function *symbol, void *context), void *context)
{
	int result;

	if (walk->window.end >= walk->strings.sh_size)
		return 0;
	walk->walk.visit = visit;
	walk->walk.context = context;
	result = visit_next(&walk->walk, &walk->table, &walk->strings, &walk->window);
	return result ? result : walk->window.end < walk->strings.sh_size;
}
