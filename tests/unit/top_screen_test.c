// SPDX-License-Identifier: BSD-2-Clause
/*
 * The screen of `top` at several sizes, key by key, held against tests/golden/top-*.txt.
 */
#include "golden.h"
#include "top/top_bar.h"
#include "top/top_best.h"
#include "top/top_screen.h"
#include "topped.h"

#define UUID "GPU-30313233-3435-3637-3839-616263646566"

struct shown {
	struct topped topped;
	struct top_view view;
	struct top_lines lines;
	struct top_status status;
	size_t width, height;
};

static void name(struct shown *shown, uint32_t pid, const char *comm, bool running)
{
	topped_feed(&shown->topped,
		    topped_of(pid, record_process(MS_TYPE_ATTACH, comm,
						  running ? MS_ATTACH_RUNNING : 0)));
}

static void draw(struct shown *shown)
{
	assert_int_equal(top_lines_begin(&shown->lines, shown->width, shown->height), 0);
	shown->status.now_ns = shown->topped.now_ns;
	top_screen_draw(&shown->lines, &shown->view, &shown->topped.top, &shown->status, NULL);
	assert_false(top_lines_failed(&shown->lines));
}

static void look(struct shown *shown)
{
	assert_int_equal(top_look(&shown->topped.top, shown->topped.now_ns), 0);
	assert_int_equal(top_view_arrange(&shown->view, &shown->topped.top), 0);
	draw(shown);
}

static void key(struct shown *shown, int code)
{
	assert_int_equal(top_view_key(&shown->view, &shown->topped.top, code), 0);
	draw(shown);
}

static void type(struct shown *shown, const char *text)
{
	for (; *text; text++)
		key(shown, *text);
}

/* Three processes on a device of 5000 MiB, of which NVML knows. */
static void begin(struct shown *shown, size_t width, size_t height)
{
	const uint64_t mib = 1 << 20;
	unsigned int i;

	*shown = (struct shown){ .width = width, .height = height };
	topped_open(&shown->topped);
	shown->status.begin_ns = shown->topped.now_ns;
	shown->status.launches = true;
	shown->lines.ascii = true;
	top_view_init(&shown->view, TOP_LIVE);
	name(shown, 4711, "train", false);
	name(shown, 4712, "server", true);
	name(shown, 88, "idle", false);
	topped_feed(&shown->topped,
		    topped_of(4711, record_device("cuDeviceGetUuid_v2", 0, "0123456789abcdef")));
	topped_feed(&shown->topped, topped_of(4711, record_identity("user\0bob\0"
								    "runtime\0docker\0"
								    "container\0c0ffee")));
	topped_feed(&shown->topped, topped_alloc(4712, 0x1000, 50 * mib));
	topped_feed(&shown->topped, topped_alloc(88, 0x1000, 4096));
	for (i = 1; i <= 30; i++) {
		topped_feed(&shown->topped, topped_alloc(4711, i << 24, 10 * mib));
		if (i > 20)
			topped_free(&shown->topped, 4711, (i - 10) << 24);
		topped_wait(&shown->topped, 1);
	}
	topped_feed(&shown->topped, topped_of(4711, record_launches("cuLaunchKernel", 7, 90)));
	topped_feed(&shown->topped, record_device_memory(UUID, 500 * mib));
	topped_feed(&shown->topped, topped_of(4711, record_held(UUID, 205 * mib)));
	look(shown);
	topped_feed(&shown->topped, topped_alloc(4711, 100ull << 24, 10 * mib));
	topped_feed(&shown->topped, topped_of(4711, record_launches("cuLaunchKernel", 7, 90)));
	topped_wait(&shown->topped, 2);
	look(shown);
}

static void end(struct shown *shown)
{
	top_lines_fini(&shown->lines);
	top_view_fini(&shown->view);
	topped_close(&shown->topped);
}

/* As a terminal has it: no line is wider, and none has anything that is no text. */
static void append_screen(const struct shown *shown, struct string *out)
{
	size_t i, j;

	for (i = 0; i < shown->height; i++) {
		const struct string *line = &shown->lines.lines[i];
		const size_t cut = top_lines_cut(line->bytes, line->length, shown->width);
		size_t begin = out->length;

		for (j = 0; j < cut; j++)
			if (line->bytes[j] < 1 || line->bytes[j] >= TOP_STYLES_COUNT) {
				assert_true(line->bytes[j] >= ' ' && line->bytes[j] < 127);
				string_append_char(out, line->bytes[j]);
			}
		assert_true(out->length - begin <= shown->width);
		while (out->length > begin && out->bytes[out->length - 1] == ' ')
			out->length--;
		string_append_char(out, '\n');
	}
}

static void assert_screen(const struct shown *shown, const char *path)
{
	static struct text text;
	struct string out = { 0 };

	append_screen(shown, &out);
	assert_in_range(out.length, 1, OUTPUT_MAX - 1);
	memcpy(text.bytes, out.bytes, out.length);
	text.bytes[out.length] = '\0';
	text.length = out.length;
	assert_golden(path, &text);
	string_fini(&out);
}

static bool has(const struct shown *shown, const char *words)
{
	struct string out = { 0 };
	bool found;

	append_screen(shown, &out);
	string_append_char(&out, '\0');
	found = strstr(out.bytes, words);
	string_fini(&out);
	return found;
}

static void test_list(void **state)
{
	struct shown shown;

	(void)state;
	begin(&shown, 80, 24);
	assert_screen(&shown, GOLDEN "top-80x24.txt");
	end(&shown);
	begin(&shown, 200, 60);
	assert_screen(&shown, GOLDEN "top-200x60.txt");
	end(&shown);
}

static void test_pages_of_a_process(void **state)
{
	struct shown shown;

	(void)state;
	begin(&shown, 80, 24);
	key(&shown, TOP_KEY_ENTER);
	assert_screen(&shown, GOLDEN "top-spaces.txt");
	key(&shown, TOP_KEY_TAB);
	assert_screen(&shown, GOLDEN "top-sites.txt");
	key(&shown, '3');
	assert_screen(&shown, GOLDEN "top-blocks.txt");
	key(&shown, TOP_KEY_END);
	assert_true(has(&shown, "cuMemAlloc_v2"));
	assert_false(has(&shown, "SIZE"));
	key(&shown, TOP_KEY_HOME);
	assert_true(has(&shown, "SIZE"));
	key(&shown, TOP_KEY_BACK_TAB);
	key(&shown, TOP_KEY_BACK_TAB);
	assert_true(has(&shown, "[1 Spaces]"));
	topped_feed(&shown.topped, topped_of(4711, record_exit(0)));
	look(&shown);
	look(&shown);
	assert_true(has(&shown, "The process has ended"));
	key(&shown, TOP_KEY_ESCAPE);
	assert_true(has(&shown, "server"));
	end(&shown);
}

static void test_call_stacks(void **state)
{
	struct shown shown;

	(void)state;
	begin(&shown, 100, 24);
	shown.status.stacks = true;
	topped_feed(&shown.topped, record_frame(1, "forward", "/app/train"));
	topped_feed(&shown.topped, record_frame(2, "main", "/app/train"));
	topped_feed(&shown.topped, topped_of(88, record_stack(9, 1, 2)));
	topped_feed(&shown.topped, record_called_from(9, topped_alloc(88, 0x50000000, 900 << 20)));
	look(&shown);
	key(&shown, TOP_KEY_HOME);
	key(&shown, TOP_KEY_ENTER);
	key(&shown, '2');
	/* The peak, too: nothing has changed what this stack holds since it was reached. */
	assert_true(has(&shown, "900 MiB       1       1  900 MiB"));
	assert_true(has(&shown, "forward < main"));
	key(&shown, '3');
	assert_true(has(&shown, "forward < main"));
	/* Why the device of one is not known, where one is shown. */
	assert_false(has(&shown, "Device ?: the context of these calls was made before"));
	topped_feed(&shown.topped,
		    record_called_from(
			    9, topped_of(88, record_alloc("cuMemAlloc_v2", 0x99000000, 4096))));
	look(&shown);
	assert_true(has(&shown, "Device ?: the context of these calls was made before"));
	key(&shown, '2');
	assert_true(has(&shown, "Device ?: the context of these calls was made before"));
	end(&shown);
}

static void test_help(void **state)
{
	struct shown shown;

	(void)state;
	begin(&shown, 80, 24);
	key(&shown, 'h');
	assert_screen(&shown, GOLDEN "top-help.txt");
	key(&shown, TOP_KEY_ESCAPE);
	assert_true(has(&shown, "Launches/s"));
	end(&shown);
}

static void test_order_and_filter(void **state)
{
	struct shown shown;

	(void)state;
	begin(&shown, 80, 24);
	assert_true(has(&shown, "Livev"));
	key(&shown, 's');
	assert_true(has(&shown, "Growthv"));
	key(&shown, 'r');
	assert_true(has(&shown, "Growth^"));
	key(&shown, 'S');
	assert_true(has(&shown, "Livev"));
	key(&shown, '/');
	type(&shown, "DOCKER");
	assert_true(has(&shown, "Filter: DOCKER_"));
	assert_true(has(&shown, "train"));
	assert_false(has(&shown, "server"));
	key(&shown, 'q');
	assert_true(has(&shown, "No process matches the filter."));
	assert_false(shown.view.quit);
	key(&shown, TOP_KEY_BACKSPACE);
	key(&shown, TOP_KEY_ENTER);
	assert_true(has(&shown, "filter: DOCKER"));
	assert_true(has(&shown, "train"));
	key(&shown, TOP_KEY_ESCAPE);
	assert_true(has(&shown, "server"));
	key(&shown, 'q');
	assert_true(shown.view.quit);
	end(&shown);
}

/* The process that is selected stays so, wherever its row goes. */
static void test_selection(void **state)
{
	struct shown shown;

	(void)state;
	begin(&shown, 80, 24);
	assert_int_equal(top_view_row(&shown.view, &shown.topped.top)->pid, 4711);
	key(&shown, 'j');
	assert_int_equal(top_view_row(&shown.view, &shown.topped.top)->pid, 4712);
	topped_feed(&shown.topped, topped_alloc(4712, 0x50000000, 900 << 20));
	look(&shown);
	assert_int_equal(shown.view.cursor, 0);
	assert_int_equal(top_view_row(&shown.view, &shown.topped.top)->pid, 4712);
	key(&shown, TOP_KEY_END);
	assert_int_equal(top_view_row(&shown.view, &shown.topped.top)->pid, 88);
	topped_feed(&shown.topped, topped_of(88, record_exit(0)));
	look(&shown);
	look(&shown);
	assert_int_equal(top_view_row(&shown.view, &shown.topped.top)->pid, 4711);
	end(&shown);
}

static void test_more_processes_than_lines(void **state)
{
	struct shown shown;
	uint32_t pid;

	(void)state;
	begin(&shown, 80, 24);
	for (pid = 10000; pid < 10100; pid++)
		topped_feed(&shown.topped, topped_alloc(pid, 0x1000, pid));
	look(&shown);
	assert_false(has(&shown, "10000 "));
	key(&shown, TOP_KEY_END);
	assert_true(has(&shown, "     88 "));
	key(&shown, TOP_KEY_PAGE_UP);
	key(&shown, TOP_KEY_HOME);
	assert_true(has(&shown, "train"));
	assert_false(has(&shown, "     88 "));
	key(&shown, ' ');
	assert_true(has(&shown, "paused"));
	end(&shown);
}

/* Whatever the size: nothing is written where there is no place for it. */
static void test_sizes(void **state)
{
	static const int keys[] = { 0, TOP_KEY_ENTER, '2', '3', 'h', TOP_KEY_END };
	struct shown shown;
	size_t i, width, height;

	(void)state;
	begin(&shown, 80, 24);
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		key(&shown, keys[i]);
		for (width = 0; width < 260; width += 13)
			for (height = 0; height < 40; height++) {
				struct string out = { 0 };

				shown.width = width;
				shown.height = height;
				draw(&shown);
				append_screen(&shown, &out);
				string_fini(&out);
			}
		shown.width = 80;
		shown.height = 24;
	}
	end(&shown);
}

/* Any keys, any events: nothing breaks. */
static void test_random_keys(void **state)
{
	static const int keys[] = { 'j',
				    'k',
				    's',
				    'S',
				    'r',
				    '/',
				    'a',
				    ' ',
				    'h',
				    '1',
				    '2',
				    '3',
				    TOP_KEY_ENTER,
				    TOP_KEY_ESCAPE,
				    TOP_KEY_TAB,
				    TOP_KEY_UP,
				    TOP_KEY_DOWN,
				    TOP_KEY_HOME,
				    TOP_KEY_END,
				    TOP_KEY_PAGE_UP,
				    TOP_KEY_PAGE_DOWN,
				    TOP_KEY_BACKSPACE,
				    TOP_KEY_LEFT };
	uint64_t random = 1;
	struct shown shown;
	uint32_t step, pid;

	(void)state;
	begin(&shown, 80, 24);
	for (step = 0; step < 3000; step++) {
		random = unit_random(random);
		pid = 100 + (uint32_t)(random >> 20) % 50;
		if (random % 5 == 0) {
			topped_feed(&shown.topped, topped_alloc(pid + step, 0x1000, random % 9999));
			topped_feed(&shown.topped, topped_of(pid + step / 2, record_exit(0)));
			topped_wait(&shown.topped, 1);
			look(&shown);
		} else {
			key(&shown, keys[(random >> 8) % (sizeof(keys) / sizeof(*keys))]);
		}
		assert_true(shown.view.cursor <= shown.view.shown_count);
	}
	end(&shown);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void test_ladder(void **state)
{
	struct top_device device = { .nvml_known = true,
				     .total_known = true,
				     .total_bytes = 100,
				     .parts = { 20, 10, 20, 5, 5, 40 } };
	struct string out = { 0 };

	(void)state;
	top_bar_ladder(&out, &device, 20, true);
	assert_int_equal(top_lines_width(out.bytes, out.length), 20);
	string_append_char(&out, '\0');
	assert_string_equal(out.bytes, TOP_STYLE_LIVE "####" TOP_STYLE_TRACED "++" TOP_STYLE_OTHERS
						      "oooo" TOP_STYLE_DIM "-" TOP_STYLE_DIM
						      "=" TOP_STYLE_DIM "........" TOP_STYLE_PLAIN);
	string_clear(&out);
	top_bar_ladder(&out, &device, 7, false);
	assert_int_equal(top_lines_width(out.bytes, out.length), 7);
	string_fini(&out);
}

static void test_samples(void **state)
{
	const uint64_t samples[] = { 0, 10, 100, 50 };
	struct string out = { 0 };

	(void)state;
	top_bar_samples(&out, samples, 4, 60, true);
	assert_int_equal(out.length, 60);
	assert_memory_equal(out.bytes + 54, "  __#-", 6);
	string_clear(&out);
	/* Three samples a column, the newest on the right. */
	top_bar_samples(&out, samples, 4, 20, true);
	assert_int_equal(out.length, 20);
	assert_memory_equal(out.bytes + 17, " _#", 3);
	string_clear(&out);
	top_bar_samples(&out, samples, 4, 10, false);
	assert_int_equal(top_lines_width(out.bytes, out.length), 10);
	string_fini(&out);
}

static void test_best(void **state)
{
	struct top_best best = { 0 };
	uint64_t i;

	(void)state;
	for (i = 0; i < 10 * TOP_BEST_MOST; i++)
		top_best_offer(&best, i * 7919 % (10 * TOP_BEST_MOST), NULL, NULL);
	top_best_sort(&best);
	assert_int_equal(best.count, TOP_BEST_MOST);
	assert_int_equal(best.left_out, 9 * TOP_BEST_MOST);
	for (i = 0; i < TOP_BEST_MOST; i++)
		assert_int_equal(best.items[i].value, 10 * TOP_BEST_MOST - 1 - i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_pages_of_a_process),
		cmocka_unit_test(test_call_stacks),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_order_and_filter),
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_more_processes_than_lines),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_random_keys),
		cmocka_unit_test(test_ladder),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_best),
	};

	return unit_run("top_screen", tests);
}
