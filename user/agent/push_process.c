// SPDX-License-Identifier: BSD-2-Clause
#include "agent/push_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "agent/channel.h"
#include "agent/curl_library.h"
#include "agent/keeper.h"
#include "agent/push_body.h"
#include "agent/push_client.h"
#include "agent/push_queue.h"
#include "agent/push_target.h"
#include "host/sandbox.h"
#include "base/clock.h"
#include "base/log.h"
#include "export/otlp.h"

#define SECOND_NS 1000000000ull
#define CONNECT_MS 5000l
#define SEND_MS 30000l
#define ANSWER_NS (15 * SECOND_NS) /* the capture's children have less */
#define BACKOFF_LEAST_NS SECOND_NS
#define BACKOFF_MOST_NS (60 * SECOND_NS)
#define LAST_NS (5 * SECOND_NS) /* the agent ends: what is not sent by then stays in the file */
#define RETRY_AFTER_MOST 600    /* seconds: a receiver's wish is followed so far */
#define ERROR_BYTES 256         /* as libcurl has it */

struct push {
	const struct push_options *options;
	const struct push_protocol *protocol;
	struct push_target target;
	struct push_client client;
	struct push_body body;
	struct curl_library curl;
	void *multi, *easy;
	int statm_fd;

	struct push_queue queue;
	uint64_t sent_bytes; /* of the oldest, so far */
	char response[4096]; /* the beginning of it */
	size_t response_bytes;
	char error[ERROR_BYTES];
	uint64_t backoff_ns, retry_ns; /* how long it waits, and until when */
	bool failing;                  /* which has been said */
	long refused;                  /* status that has been said; 0: none */
	bool unsaved_said;

	uint64_t ask_ns, report_ns;           /* when it does so next */
	uint64_t numbers, asked, asked_at_ns; /* the question that waits for an answer; 0: none */
	uint64_t end_ns; /* the agent has ended: by when this has to be done; 0: it has not */
	struct channel_push counts;
};

/* ---- what libcurl calls ---------------------------------------------------------------------- */

static size_t read_body(char *to, size_t size, size_t count, void *context)
{
	struct push *push = context;
	const struct push_batch *batch = push_queue_oldest(&push->queue);
	const uint64_t left = batch->bytes - push->sent_bytes;
	const size_t most = size * count < left ? size * count : (size_t)left;
	const ssize_t length =
		pread(batch->fd, to, most, (off_t)(batch->offset + push->sent_bytes));

	if (length < 0)
		return CURL_LIBRARY_READ_ABORT;
	push->sent_bytes += (uint64_t)length;
	return (size_t)length;
}

/* It begins again, on another connection. */
static int seek_body(void *context, long long offset, int origin)
{
	struct push *push = context;

	if (origin != SEEK_SET || offset < 0 ||
	    (uint64_t)offset > push_queue_oldest(&push->queue)->bytes)
		return 1;
	push->sent_bytes = (uint64_t)offset;
	return 0;
}

static size_t take_response(char *bytes, size_t size, size_t count, void *context)
{
	struct push *push = context;
	size_t length = size * count;

	if (length > sizeof(push->response) - push->response_bytes)
		length = sizeof(push->response) - push->response_bytes;
	memcpy(push->response + push->response_bytes, bytes, length);
	push->response_bytes += length;
	return size * count;
}

/* ---- what becomes of a batch ----------------------------------------------------------------- */

/* It is tried again later: not by all agents of a fleet at once. */
static void wait_before_retry(struct push *push, long long retry_after)
{
	uint64_t random = 0;

	push->backoff_ns = push->backoff_ns ? 2 * push->backoff_ns : BACKOFF_LEAST_NS;
	if (push->backoff_ns > BACKOFF_MOST_NS)
		push->backoff_ns = BACKOFF_MOST_NS;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = 0;
	push->retry_ns = push->backoff_ns;
	if (retry_after > RETRY_AFTER_MOST)
		retry_after = RETRY_AFTER_MOST;
	if (retry_after > 0 && (uint64_t)retry_after * SECOND_NS > push->retry_ns)
		push->retry_ns = (uint64_t)retry_after * SECOND_NS;
	push->retry_ns += clock_monotonic_ns() + random % (push->backoff_ns / 4);
	push->counts.failures++;
}

static void note_sent(struct push *push)
{
	struct otlp_response response = { 0 };

	if (push->protocol->has_response)
		otlp_read_response(&response, push->response, push->response_bytes);
	push->counts.sent++;
	push->counts.sent_ns = clock_monotonic_ns() + clock_realtime_offset_ns();
	if (response.rejected && !push->counts.rejected)
		log_warning("%s has not taken %llu data points of the metrics: %s; further ones"
			    " are only counted (memscope_agent_otlp_rejected_points_total)",
			    push->target.shown, (unsigned long long)response.rejected,
			    *response.message ? response.message : "it does not say why");
	push->counts.rejected += response.rejected;
	if (push->failing)
		log_info("%s takes metrics again", push->target.shown);
	push->failing = false;
	push->refused = 0;
	push->backoff_ns = 0;
	push_queue_remove(&push->queue);
	if (!push->queue.count)
		push_body_all_sent(&push->body);
}

static void note_failure(struct push *push, int result, long status)
{
	char reason[ERROR_BYTES + 32];

	if (result)
		snprintf(reason, sizeof(reason), "%s",
			 *push->error ? push->error : push->curl.easy_strerror(result));
	else
		snprintf(reason, sizeof(reason), "it answers with status %ld", status);
	if (!push->failing)
		log_warning("cannot push metrics to %s: %s; the newest %llu MiB of them, at most"
			    " %d intervals, are kept until it takes them",
			    push->target.shown, reason, PUSH_QUEUE_BYTES >> 20, PUSH_QUEUE_BATCHES);
	push->failing = true;
}

/* The beginning of what it says, as far as that is text of one line. */
static void print_response(const struct push *push, char *out, size_t size)
{
	size_t i;

	for (i = 0; i < push->response_bytes && i < size - 1; i++) {
		const char c = push->response[i];

		if (c == '\r' || c == '\n')
			break;
		out[i] = c;
		if ((unsigned char)c < ' ' || (unsigned char)c > '~')
			out[i] = '?';
	}
	out[i] = '\0';
}

static void note_refused(struct push *push, long status)
{
	const bool unknown = status == 401 || status == 403;
	char words[200];

	print_response(push, words, push->protocol->has_response ? 1 : sizeof(words));
	if (push->refused != status)
		log_error("%s refuses metrics with status %ld%s%s, so that they are lost; %s%s%s",
			  push->target.shown, status, *words ? ": " : "", words,
			  unknown ? "--" : "is it the URL of ",
			  unknown ? push->protocol->option : push->protocol->of,
			  unknown ? "-client has what it wants to know" : "?");
	push->refused = status;
	push->counts.refused++;
	push->backoff_ns = 0;
	push_queue_remove(&push->queue);
	push_body_lost(&push->body);
}

static void finish(struct push *push, int result)
{
	long status = 0;
	long long retry_after = 0;

	push->curl.easy_getinfo(push->easy, CURL_LIBRARY_INFO_STATUS, &status);
	push->curl.easy_getinfo(push->easy, CURL_LIBRARY_INFO_RETRY_AFTER, &retry_after);
	push->curl.multi_remove_handle(push->multi, push->easy);
	push->queue.sending = false;
	push->report_ns = 0; /* at once: if it is killed, what it has not said counts as lost */
	if (!result && status >= 200 && status < 300) {
		note_sent(push);
	} else if (result || push_protocol_is_passing(push->options->protocol, status)) {
		note_failure(push, result, status);
		wait_before_retry(push, retry_after);
	} else {
		note_refused(push, status);
	}
}

static void begin(struct push *push)
{
	const struct push_batch *batch = push_queue_oldest(&push->queue);

	if (!batch || push->queue.sending || clock_monotonic_ns() < push->retry_ns)
		return;
	push->sent_bytes = push->response_bytes = 0;
	*push->error = '\0';
	push->curl.easy_setopt(push->easy, CURL_LIBRARY_BODY_BYTES, (long long)batch->bytes);
	push->queue.sending = !push->curl.multi_add_handle(push->multi, push->easy);
	if (!push->queue.sending)
		push->retry_ns = clock_monotonic_ns() + SECOND_NS;
}

static void go_on(struct push *push)
{
	struct curl_library_message *message;
	int left;

	do {
		begin(push);
		push->curl.multi_perform(push->multi, &left);
		while ((message = push->curl.multi_info_read(push->multi, &left)))
			if (message->message == CURL_LIBRARY_MESSAGE_DONE)
				finish(push, message->data.result);
	} while (push_queue_oldest(&push->queue) && !push->queue.sending &&
		 clock_monotonic_ns() >= push->retry_ns);
}

/* ---- the capture ----------------------------------------------------------------------------- */

static uint64_t resident_bytes(const struct push *push)
{
	char text[128];
	const ssize_t length = pread(push->statm_fd, text, sizeof(text) - 1, 0);
	unsigned long long size, resident;

	if (length <= 0)
		return 0;
	text[length] = '\0';
	return sscanf(text, "%llu %llu", &size, &resident) == 2 ? resident * getpagesize() : 0;
}

static int say(struct push *push, uint64_t number, bool is_hello)
{
	const struct push_queue *queue = &push->queue;
	struct channel_question question = {
		.number = number,
		.is_hello = is_hello,
		.request = { .document = push->protocol->document, .uid = REQUEST_EVERYBODY },
	};

	push->counts.dropped = queue->dropped;
	push->counts.queued = queue->count;
	push->counts.queued_bytes = queue->bytes;
	push->counts.unsaved = queue->unsaved;
	push->counts.cpu_ns = clock_cpu_ns();
	push->counts.resident_bytes = resident_bytes(push);
	question.push = push->counts;
	return channel_ask(push->options->channel, &question);
}

static void ask(struct push *push, uint64_t now_ns)
{
	if (push->asked && now_ns - push->asked_at_ns >= ANSWER_NS) {
		push->asked = 0;
		push->counts.missed++;
	}
	if (now_ns < push->ask_ns)
		return;
	push->ask_ns += push->options->interval_ns;
	if (push->ask_ns < now_ns)
		push->ask_ns = now_ns + push->options->interval_ns;
	if (push->asked || say(push, push->numbers + 1, false)) {
		push->counts.missed++;
		return;
	}
	push->asked = ++push->numbers;
	push->asked_at_ns = now_ns;
}

/* Takes over the descriptor of a batch. */
static void keep_batch(struct push *push, int fd, uint64_t bytes, bool last)
{
	const uint64_t dropped = push->queue.dropped;

	if (push->protocol->is_remote_write) {
		fd = push_body_make(&push->body, fd, &bytes,
				    clock_monotonic_ns() + clock_realtime_offset_ns(),
				    last || !push->queue.count);
		if (fd < 0) {
			push->counts.missed++;
			return;
		}
	}
	push_queue_put(&push->queue, fd, bytes);
	if (push->queue.dropped != dropped)
		push_body_lost(&push->body);
	if (push->queue.unsaved && !push->unsaved_said)
		log_warning("cannot keep metrics for %s in the state directory: %s; what it does"
			    " not take is kept in memory only, and is lost when the agent ends",
			    push->target.shown, strerror(push->queue.unsaved_error));
	push->unsaved_said = push->queue.unsaved;
}

/* What the agent's end has comes without a question. */
static void take_answer(struct push *push, const struct channel_message *message, int fd)
{
	const bool last = message->type == CHANNEL_LAST;
	const bool expected = last || (push->asked && message->number == push->asked);

	if (last) {
		push->end_ns = clock_monotonic_ns() + LAST_NS;
		push->retry_ns = 0;
		push->failing = false;
	} else if (expected) {
		push->asked = 0;
	}
	if (expected && message->status == 200 && fd >= 0) {
		keep_batch(push, fd, message->bytes, last);
		return;
	}
	push->counts.missed += expected;
	if (fd >= 0)
		close(fd);
}

static int take_messages(struct push *push)
{
	struct channel_message message;
	int fd, err;

	while (!(err = channel_take_message(push->options->channel, &message, &fd)))
		take_answer(push, &message, fd);
	return err == -EAGAIN ? 0 : err;
}

/* ---- the process ----------------------------------------------------------------------------- */

/* At the end, a receiver that does not take them, or takes too long, is not waited for. */
static bool is_done(const struct push *push, uint64_t now_ns)
{
	if (!push->end_ns || now_ns >= push->end_ns)
		return push->end_ns;
	return !push->queue.sending && (!push->queue.count || push->failing);
}

static enum keeper_end end(const struct push *push)
{
	const size_t lost = push_queue_unsaved(&push->queue), kept = push->queue.count - lost;

	if (kept)
		log_info("the agent ends: %zu interval%s of metrics that %s has not taken %s kept"
			 " until it is started again",
			 kept, kept == 1 ? "" : "s", push->target.shown, kept == 1 ? "is" : "are");
	if (lost)
		log_warning(
			"the agent ends: %zu interval%s of metrics that %s has not taken %s lost",
			lost, lost == 1 ? "" : "s", push->target.shown, lost == 1 ? "is" : "are");
	return KEEPER_AGENT_GONE;
}

static enum keeper_end run(struct push *push)
{
	struct curl_library_fd channel = { .fd = push->options->channel,
					   .events = CURL_LIBRARY_WAIT_IN };
	int err = 0;

	push->ask_ns = push->report_ns = clock_monotonic_ns();
	while (!err) {
		const uint64_t now_ns = clock_monotonic_ns();

		if (is_done(push, now_ns))
			return end(push);
		if (!push->end_ns)
			ask(push, now_ns);
		if (now_ns >= push->report_ns) {
			say(push, 0, false);
			push->report_ns = now_ns + SECOND_NS;
		}
		go_on(push);
		if (push->curl.multi_poll(push->multi, &channel, 1, 250, NULL))
			return KEEPER_FAILED;
		err = take_messages(push);
	}
	return err == -EPIPE ? KEEPER_AGENT_GONE : KEEPER_FAILED;
}

static int set_headers(struct push *push)
{
	const char *const *line;
	struct curl_slist *headers = NULL;
	size_t i;

	for (line = push->protocol->header; *line; line++) {
		headers = push->curl.slist_append(headers, *line);
		if (!headers)
			return -ENOMEM;
	}
	for (i = 0; i < push->client.headers_count; i++) {
		headers = push->curl.slist_append(headers, push->client.headers[i]);
		if (!headers)
			return -ENOMEM;
	}
	push->curl.easy_setopt(push->easy, CURL_LIBRARY_HTTP_HEADER, headers);
	return 0;
}

/* Files cannot be read later, so that it gets their bytes. */
static int set_pem(const struct push *push, int option, char *pem)
{
	struct curl_library_blob blob = { .bytes = pem, .length = pem ? strlen(pem) : 0 };

	if (!pem || !push->curl.easy_setopt(push->easy, option, &blob))
		return 0;
	log_error("--%s-client: this libcurl takes no certificates of its user's; it has to be of"
		  " version 7.77 or later, with OpenSSL",
		  push->protocol->option);
	return -ENOTSUP;
}

static int set_client(struct push *push)
{
	int err;

	if (!push->options->client_path)
		return 0;
	err = push_client_read(&push->client, push->options->client_path);
	if (!err)
		err = set_pem(push, CURL_LIBRARY_AUTHORITY, push->client.authority);
	if (!err)
		err = set_pem(push, CURL_LIBRARY_CERTIFICATE, push->client.certificate);
	if (!err)
		err = set_pem(push, CURL_LIBRARY_KEY, push->client.key);
	return err;
}

/* The environment has no say: neither in proxies nor in protocols. */
static int prepare(struct push *push)
{
	const struct curl_library *curl = &push->curl;
	void *easy;

	push->multi = curl->multi_init();
	easy = push->easy = curl->easy_init();
	if (!push->multi || !easy ||
	    push_target_parse(&push->target, push->options->protocol, push->options->url))
		return -ENOMEM;
	curl->easy_setopt(easy, CURL_LIBRARY_URL, push->target.url);
	if (*push->target.socket)
		curl->easy_setopt(easy, CURL_LIBRARY_UNIX_SOCKET, push->target.socket);
	curl->easy_setopt(easy, CURL_LIBRARY_PROXY, "");
	curl->easy_setopt(easy, CURL_LIBRARY_PROTOCOLS, (long)CURL_LIBRARY_ONLY_HTTP);
	curl->easy_setopt(easy, CURL_LIBRARY_HTTP_VERSION, (long)CURL_LIBRARY_HTTP_1_1);
	curl->easy_setopt(easy, CURL_LIBRARY_NOSIGNAL, 1l);
	curl->easy_setopt(easy, CURL_LIBRARY_POST, 1l);
	curl->easy_setopt(easy, CURL_LIBRARY_CONNECT_TIMEOUT_MS, CONNECT_MS);
	curl->easy_setopt(easy, CURL_LIBRARY_TIMEOUT_MS, SEND_MS);
	curl->easy_setopt(easy, CURL_LIBRARY_USER_AGENT, "memscope-bpf/" MEMSCOPE_VERSION);
	curl->easy_setopt(easy, CURL_LIBRARY_ERROR_BUFFER, push->error);
	curl->easy_setopt(easy, CURL_LIBRARY_READ_FUNCTION, read_body);
	curl->easy_setopt(easy, CURL_LIBRARY_READ_DATA, push);
	curl->easy_setopt(easy, CURL_LIBRARY_SEEK_FUNCTION, seek_body);
	curl->easy_setopt(easy, CURL_LIBRARY_SEEK_DATA, push);
	curl->easy_setopt(easy, CURL_LIBRARY_WRITE_FUNCTION, take_response);
	curl->easy_setopt(easy, CURL_LIBRARY_WRITE_DATA, push);
	return 0;
}

/* What earlier processes have left. */
static void restore(struct push *push)
{
	size_t damaged = 0;
	int err = push_queue_restore(&push->queue, push->options->file, &damaged);

	push->counts.damaged = damaged;
	push->counts.restored = push->queue.count + push->queue.dropped;
	if (err)
		log_error("cannot read what was kept for %s: %s; metrics are kept in memory only",
			  push->target.shown, strerror(-err));
	if (damaged)
		log_warning("%zu interval%s of metrics that %s kept for %s %s damaged, and lost",
			    damaged, damaged == 1 ? "" : "s", damaged == 1 ? "was" : "were",
			    push->target.shown, damaged == 1 ? "is" : "are");
	if (push->queue.dropped)
		log_warning("%llu interval%s of metrics that %s kept for %s %s dropped: there is no"
			    " room for so many",
			    (unsigned long long)push->queue.dropped,
			    push->queue.dropped == 1 ? "" : "s",
			    push->queue.dropped == 1 ? "was" : "were", push->target.shown,
			    push->queue.dropped == 1 ? "is" : "are");
	if (push->queue.count)
		log_info("%zu interval%s of metrics from before %s still to be sent to %s",
			 push->queue.count, push->queue.count == 1 ? "" : "s",
			 push->queue.count == 1 ? "is" : "are", push->target.shown);
}

static enum keeper_end serve(void *context)
{
	static struct push push;

	push.options = context;
	push_queue_init(&push.queue);
	push.protocol = &push_protocols[push.options->protocol];
	/* No other process that was here before has asked by these numbers. */
	push.numbers = (uint64_t)getpid() << 32;
	tzset(); /* not to look for its file each time */
	push.statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (curl_library_load(&push.curl) || prepare(&push) || set_client(&push) ||
	    set_headers(&push) || sandbox_enter_network())
		return KEEPER_CANNOT;
	if (push.options->file >= 0)
		restore(&push);
	if (say(&push, 0, true))
		return KEEPER_CANNOT;
	return run(&push);
}

pid_t push_process_start(const struct push_options *options)
{
	const struct push_protocol *protocol = &push_protocols[options->protocol];
	const int fds[] = { options->channel, options->file };
	const struct keeper keeper = { .name = protocol->name,
				       .parent_name = protocol->parent_name,
				       .task = "pushes metrics",
				       .fds = fds,
				       .fds_count = options->file < 0 ? 1 : 2,
				       .serve = serve,
				       .context = (void *)options };

	return keeper_start(&keeper);
}
