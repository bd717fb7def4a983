// SPDX-License-Identifier: BSD-2-Clause
/*
 * Documents as text for terminals: what is aligned, where lines end, and that nothing in a name
 * reaches a terminal as anything but text.
 */
#include <string.h>

#include "render/document_text.h"
#include "unit.h"

static const struct document_column two[] = { { "What", DOCUMENT_TEXT },
					      { "Bytes", DOCUMENT_NUMBER },
					      { 0 } };

struct made {
	struct string out;
	struct document_text text;
	struct document *document;
};

static void begin(struct made *made, size_t width)
{
	const struct document_text_options options = { .width = width };

	made->out = (struct string){ 0 };
	document_text_init(&made->text, &made->out, 10, &options);
	made->document = &made->text.document;
}

static void end(struct made *made, const char *expected)
{
	document_text_fini(&made->text);
	assert_false(made->out.failed);
	string_append_char(&made->out, '\0');
	assert_string_equal(made->out.bytes, expected);
	string_fini(&made->out);
}

/* Cells of one row; NULL ends them. */
static void row(struct made *made, const char *const *cells)
{
	assert_true(document_row(made->document));
	for (; *cells; cells++)
		document_cell_words(made->document, *cells);
	document_row_end(made->document);
}

#define ROW(made, ...) row(made, (const char *const[]){ __VA_ARGS__, NULL })

static void test_numbers_are_aligned_to_the_right(void **state)
{
	struct made made;

	(void)state;
	begin(&made, 80);
	document_table(made.document, "t", "", two);
	ROW(&made, "a", "1 B");
	ROW(&made, "long name", "1,000 KiB");
	document_table_end(made.document);
	end(&made, "\n"
		   "  WHAT           BYTES\n"
		   "  a                1 B\n"
		   "  long name  1,000 KiB\n");
}

static void test_a_character_is_a_column_whatever_its_bytes(void **state)
{
	struct made made;

	(void)state;
	begin(&made, 80);
	document_table(made.document, "t", "", two);
	ROW(&made, "\u2581\u2588", "1");
	ROW(&made, "abc", "22");
	document_table_end(made.document);
	end(&made, "\n"
		   "  WHAT  BYTES\n"
		   "  \u2581\u2588        1\n"
		   "  abc      22\n");
}

static void test_text_goes_on_in_the_next_line_and_numbers_are_whole(void **state)
{
	static const struct document_column columns[] = { { "Name", DOCUMENT_TEXT },
							  { "In the peak", DOCUMENT_NUMBER },
							  { "Note", DOCUMENT_TEXT },
							  { 0 } };
	struct made made;

	(void)state;
	begin(&made, 32);
	document_table(made.document, "t", "", columns);
	ROW(&made, "a", "1,234,567", "so much to say of it");
	ROW(&made, "b", "9", "no");
	document_table_end(made.document);
	end(&made, "\n"
		   "           IN THE\n"
		   "  NAME       PEAK  NOTE\n"
		   "  a     1,234,567  so much to\n"
		   "                   say of it\n"
		   "  b             9  no\n");
}

static void test_a_word_that_is_too_long_is_broken(void **state)
{
	struct made made;

	(void)state;
	begin(&made, 40);
	document_table(made.document, "t", "", two);
	ROW(&made, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", "77");
	document_table_end(made.document);
	end(&made, "\n"
		   "  WHAT                             BYTES\n"
		   "  abcdefghijklmnopqrstuvwxyzabcde     77\n"
		   "  fghijklmnopqrstuvwxyz\n");
}

static void test_a_table_that_is_too_wide_goes_on_below(void **state)
{
	static const struct document_column columns[] = { { "Name", DOCUMENT_TEXT },
							  { "One", DOCUMENT_NUMBER },
							  { "Two", DOCUMENT_NUMBER },
							  { "Three", DOCUMENT_NUMBER },
							  { 0 } };
	struct made made;

	(void)state;
	begin(&made, 28);
	document_table(made.document, "t", "", columns);
	ROW(&made, "a", "1111111", "2222222", "33333333");
	document_table_end(made.document);
	end(&made, "\n"
		   "  NAME      ONE      TWO\n"
		   "  a     1111111  2222222\n"
		   "\n"
		   "  NAME     THREE\n"
		   "  a     33333333\n");
	begin(&made, 28);
	document_table(made.document, "t", "", columns);
	ROW(&made, "a", "1111111", "2222222", "");
	ROW(&made, "b", "1", "2", "33333333");
	document_table_end(made.document);
	end(&made, "\n"
		   "  NAME      ONE      TWO\n"
		   "  a     1111111  2222222\n"
		   "  b           1        2\n"
		   "\n"
		   "  NAME     THREE\n"
		   "  b     33333333\n");
}

static void test_no_heading_where_it_goes_without_saying(void **state)
{
	static const struct document_column columns[] = { { "Name", DOCUMENT_OBVIOUS },
							  { "Value", DOCUMENT_OBVIOUS },
							  { 0 } };
	struct made made;

	(void)state;
	begin(&made, 80);
	document_table(made.document, "t", "", columns);
	ROW(&made, "Host", "a");
	ROW(&made, "Files", "b");
	document_table_end(made.document);
	/* Nor a table without rows. */
	document_table(made.document, "t", "", two);
	document_table_end(made.document);
	end(&made, "\n  Host   a\n  Files  b\n");
}

static void test_blocks(void **state)
{
	struct made made;

	(void)state;
	begin(&made, 24);
	string_append_text(&made.document->text, "A report");
	document_heading(made.document, 1, "report");
	document_say(made.document, "It says " DOCUMENT_STRONG "this" DOCUMENT_PLAIN
				    " of that and more (" DOCUMENT_CITE "E7" DOCUMENT_CITE ").");
	string_append_text(&made.document->text, "first of the items that there are");
	document_block(made.document, DOCUMENT_ITEM);
	string_append_text(&made.document->text,
			   "space " DOCUMENT_CODE "  a  b  c  " DOCUMENT_CODE);
	document_block(made.document, DOCUMENT_ITEM);
	string_append_text(&made.document->text,
			   "type " DOCUMENT_COMMAND "some -p | a b" DOCUMENT_COMMAND);
	document_block(made.document, DOCUMENT_ITEM);
	string_append_text(&made.document->text, "Do.");
	document_block(made.document, DOCUMENT_PARAGRAPH);
	string_append_text(&made.document->text, "Do that, too, and do it soon.");
	document_block(made.document, DOCUMENT_STEP);
	end(&made, "A report\n"
		   "========\n"
		   "\n"
		   "It says this of that and\n"
		   "more ([E7]).\n"
		   "\n"
		   "  * first of the items\n"
		   "    that there are\n"
		   "  * space |  a  b  c  |\n"
		   "  * type some -p | a b\n"
		   "\n"
		   "Do.\n"
		   "\n"
		   "  1. Do that, too, and\n"
		   "     do it soon.\n");
}

/* Tables may be as wide as the terminal, sentences are not. */
static void test_a_wide_terminal(void **state)
{
	struct made made;
	size_t i;

	(void)state;
	begin(&made, 200);
	for (i = 0; i < 30; i++)
		string_append_text(&made.document->text, "word ");
	document_paragraph(made.document);
	document_table(made.document, "t", "", two);
	assert_true(document_row(made.document));
	for (i = 0; i < 30; i++)
		string_append_text(&made.document->text, "cell ");
	document_cell(made.document);
	document_cell_words(made.document, "1");
	document_row_end(made.document);
	document_table_end(made.document);
	document_text_fini(&made.text);
	/* Lines of 20 words, of 10, and of 30. */
	assert_memory_equal(made.out.bytes + 1 + 99, "\n", 1);
	assert_non_null(memmem(made.out.bytes, made.out.length, "cell cell       1\n", 17));
	string_fini(&made.out);
}

static void test_what_is_strong(void **state)
{
	struct made made;

	(void)state;
	begin(&made, 80);
	made.text.options.look.colour = true;
	document_table(made.document, "t", "", two);
	assert_true(document_row(made.document));
	document_cell_words(made.document, "a");
	string_append_text(&made.document->text, "+1");
	document_cell_as(made.document, (struct document_cell){ .strong = true });
	document_row_end(made.document);
	document_table_end(made.document);
	end(&made, "\n\033[2m  WHAT  BYTES\n\033[0m  a       \033[1m*+1\033[0m\n");
}

/* ---- what must not reach a terminal ---------------------------------------------------------- */

/* Whether it is ASCII that moves nothing, or one of the characters that bars are made of. */
static void assert_inert(const struct string *out)
{
	size_t i;

	for (i = 0; i < out->length; i++) {
		const unsigned char c = out->bytes[i];

		if (c == '\n' || (c >= 0x20 && c < 0x7f))
			continue;
		fail_msg("byte %zu: %#x", i, c);
	}
}

static void test_hostile_names(void **state)
{
	static const char *const names[] = {
		"\033[2J",
		"\033]0;title\007",
		"a\rb",
		"a\bb",
		"\x9b"
		"2J",
		"\xc2\x9b"
		"2J",
		"\xe2\x80\xae",
		"\xff\xfe",
		"\x7f",
		"\t\v\f",
		"\1\2\3\4",
		"\xed\xa0\x80",
		"\xf0\x9f",
	};
	const struct document_text_options options = { .width = 30 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct process process = { .pid = 7 };
		struct document_text text;
		struct string out = { 0 };

		memcpy(process.name, names[i], strlen(names[i]));
		document_text_init(&text, &out, 10, &options);
		document_append(&text.document, names[i], NULL);
		document_heading(&text.document, 2, "h");
		document_append(&text.document, names[i], NULL);
		document_paragraph(&text.document);
		document_table(&text.document, "t", "", two);
		assert_true(document_row(&text.document));
		document_cell_text(&text.document, names[i]);
		document_cell_process(&text.document, &process);
		document_row_end(&text.document);
		document_table_end(&text.document);
		document_text_fini(&text);
		assert_false(out.failed);
		assert_inert(&out);
		string_fini(&out);
	}
}

/* Even if it was forgotten to make a name safe. */
static void test_the_last_line_of_defence(void **state)
{
	static const char text[] = "a\033[2J\r\b\x7f\xc2\x9b\xff\xe2\x96\x81z";
	struct string out = { 0 };

	(void)state;
	wrap_append(&out, text, strlen(text), &(struct wrap_look){ 0 });
	string_append_char(&out, '\0');
	assert_string_equal(out.bytes, "a?[2J?????\xe2\x96\x81z");
	string_clear(&out);
	wrap_append(&out, text, strlen(text), &(struct wrap_look){ .ascii = true });
	string_append_char(&out, '\0');
	assert_string_equal(out.bytes, "a?[2J??????z");
	string_fini(&out);
}

/* Whatever the width: no line is wider, unless what may not be broken is. */
static void test_any_width(void **state)
{
	static const struct document_column columns[] = { { "Process name", DOCUMENT_TEXT },
							  { "Live at the end", DOCUMENT_NUMBER },
							  { "Allocated by", DOCUMENT_TEXT },
							  { "Note", DOCUMENT_TEXT },
							  { 0 } };
	size_t width;

	(void)state;
	for (width = 1; width < 120; width++) {
		const char *line, *line_end;
		struct made made;

		begin(&made, width);
		document_table(made.document, "t", "", columns);
		ROW(&made, "train (4242)", "1,234.5 MiB", "cuMemAllocFromPoolAsync_ptsz", "x y z");
		ROW(&made, "", "", "", "");
		document_table_end(made.document);
		document_text_fini(&made.text);
		string_append_char(&made.out, '\0');
		assert_non_null(strstr(made.out.bytes, "1,234.5 MiB"));
		for (line = made.out.bytes; *line; line = line_end + 1) {
			line_end = strchr(line, '\n');
			assert_non_null(line_end);
			/* Two columns that cannot be narrower are the most that stand alone. */
			assert_true((size_t)(line_end - line) <= (width < 42 ? 42 : width));
			assert_true(line_end == line || line_end[-1] != ' ');
		}
		string_fini(&made.out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_are_aligned_to_the_right),
		cmocka_unit_test(test_a_character_is_a_column_whatever_its_bytes),
		cmocka_unit_test(test_text_goes_on_in_the_next_line_and_numbers_are_whole),
		cmocka_unit_test(test_a_word_that_is_too_long_is_broken),
		cmocka_unit_test(test_a_table_that_is_too_wide_goes_on_below),
		cmocka_unit_test(test_no_heading_where_it_goes_without_saying),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_a_wide_terminal),
		cmocka_unit_test(test_what_is_strong),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_the_last_line_of_defence),
		cmocka_unit_test(test_any_width),
	};

	return unit_run("document_text", tests);
}
