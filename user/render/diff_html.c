// SPDX-License-Identifier: BSD-2-Clause
#include "render/diff_html.h"

#include "render/diff_document.h"
#include "render/diff_words.h"
#include "render/document_html.h"
#include "render/json_writer.h"

struct page {
	struct html html; /* first */
	const struct diff *diff;
	size_t top;
};

static const struct diff *diff_of(const struct html *html)
{
	return ((const struct page *)html)->diff;
}

/* The colour of the verdict, and its heading. */
struct grade {
	const char *class, *title;
};

/* No difference is no good news if what would show one may be missing. */
static struct grade grade_of(const struct diff *diff)
{
	if (diff_is_worse(diff))
		return (struct grade){ "bad", "Something new is wrong" };
	if (diff_leaks_more(diff))
		return (struct grade){ "bad", "A leak is worse than before" };
	if (diff_differs(diff))
		return (struct grade){ "warn", "What changed" };
	if (diff_has_losses(diff->a) || diff_has_losses(diff->b))
		return (struct grade){ "warn", "No change beyond noise in what was recorded" };
	if (diff_is_inexact(diff->a) || diff_is_inexact(diff->b))
		return (struct grade){ "warn", "No change beyond noise, but not all is exact" };
	if (diff_times_changed(diff))
		return (struct grade){ "warn", "Nothing but times changed beyond noise" };
	return (struct grade){ "good", "Nothing changed beyond noise" };
}

static void append_verdict(struct html *html)
{
	const struct diff *diff = diff_of(html);
	const struct grade grade = grade_of(diff);
	struct verdict verdict;

	diff_verdict(&verdict, diff);
	verdict_html(html, grade.class, grade.title, &verdict);
	verdict_fini(&verdict);
	string_append_text(html->out, "</section>\n");
}

/* Several recordings of a side have no common time. */
static bool has_chart(const struct diff *diff)
{
	return diff->a->count == 1 && diff->b->count == 1 &&
	       timeline_length(&diff->a->recordings[0]->timeline) &&
	       timeline_length(&diff->b->recordings[0]->timeline);
}

static void append_body(struct html *html)
{
	struct document_html of;

	append_verdict(html);
	string_append_text(html->out,
			   "<noscript><p class=\"note\">Sorting and filtering need JavaScript;"
			   " everything is below.</p></noscript>\n");
	if (has_chart(diff_of(html)))
		string_append_text(
			html->out,
			"<section class=\"scripted\" aria-labelledby=\"sides-h\">\n"
			"<h2 id=\"sides-h\">Live memory over time</h2>\n"
			"<div class=\"mount\" data-chart=\"sides\"></div>\n</section>\n");
	string_append_text(html->out, "<div class=\"changes\">\n");
	document_html_init(&of, html, ((const struct page *)html)->top);
	string_append_text(&of.document.text, "What is compared");
	document_heading(&of.document, 2, "compared");
	diff_document_tables(&of.document, diff_of(html));
	document_html_fini(&of);
	string_append_text(html->out, "</div>\n");
}

static void append_hosts(struct html *html, const struct report *side)
{
	if (side->count > 1)
		string_append_format(html->out, "%zu recordings", side->count);
	else
		html_text_or(html, side->recordings[0]->coverage.host, "unknown host");
}

static void append_title(struct html *html)
{
	string_append_text(html->out, "GPU memory, what changed: ");
	append_hosts(html, diff_of(html)->a);
	string_append_text(html->out, " and ");
	append_hosts(html, diff_of(html)->b);
}

static void append_contents(struct html *html)
{
	string_append_text(html->out, "<p>What changed from A to B</p>");
}

/* Live on devices at the end of a part of the time, of all processes. */
static uint64_t live_at(const struct timeline *timeline, size_t bucket)
{
	uint64_t bytes = 0;
	uint32_t space;
	size_t i;

	for (i = 0; i <= timeline->count; i++) {
		const struct timeline_series *series =
			i < timeline->count ? timeline->series[i] : timeline->more;

		for (space = 0; series && space < MS_SPACES_COUNT; space++)
			if (series->levels[space] && usage_is_on_device(space))
				bytes += series->levels[space]->end[bucket];
	}
	return bytes;
}

static void put_side(struct json *json, const char *name, const struct report *side)
{
	const struct timeline *timeline = &side->recordings[0]->timeline;
	const size_t length = timeline_length(timeline);
	size_t i;

	json_open(json, '{');
	json_put_text(json, "name", name);
	json_put_u64(json, "bucket_ns", timeline->width_ns);
	json_name(json, "live_bytes");
	json_open(json, '[');
	for (i = 0; i < length; i++)
		json_u64(json, live_at(timeline, i));
	json_close(json, ']');
	json_close(json, '}');
}

static void append_report(struct html *html)
{
	const struct diff *diff = diff_of(html);
	struct json json = { .out = html->out, .escapes_html = true };

	json_open(&json, '{');
	json_name(&json, "recordings");
	json_open(&json, '[');
	json_close(&json, ']');
	if (has_chart(diff)) {
		json_name(&json, "sides");
		json_open(&json, '[');
		put_side(&json, "A", diff->a);
		put_side(&json, "B", diff->b);
		json_close(&json, ']');
	}
	json_close(&json, '}');
}

static void append_lanes(struct html *html)
{
	string_append_text(html->out, "[]");
}

void diff_html(struct string *out, const struct diff *diff, size_t top)
{
	static const struct html_page page = { .title = append_title,
					       .contents = append_contents,
					       .body = append_body,
					       .report = append_report,
					       .lanes = append_lanes };
	struct page of = { .html = { .out = out, .report = diff->a }, .diff = diff, .top = top };

	html_page_write(&of.html, &page);
}
