// SPDX-License-Identifier: BSD-2-Clause
/*
 * The agent's server, from libmicrohttpd's calls on: what clients ask for, by the address and over
 * the socket, and what the capture answers, in any order. The library is a model of its own, which
 * behaves as the real one promises; tests/e2e/agent_clients.bats has the real one.
 *
 * The first byte of the input says whether there are passwords. A step is a byte, what it needs,
 * and texts, each of which is a byte for one that is often sent, or for the length of what follows.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/http_server.c" /* NOLINT(bugprone-suspicious-include): its callbacks are its own */
#include "fuzz.h"

#define CONNECTIONS 6
#define MINUTE_NS (60 * SECOND_NS)

struct MHD_Response {
	unsigned int references;
	bool of_ledger;
	struct request request; /* of which it is the answer */
};

struct MHD_Connection {
	bool open, suspended, asked;
	struct MHD_Response *response; /* that it sends */
	void *client, *exchange;
	char *url, *method, *headers[2], *arguments[3];
	union MHD_ConnectionInfo info;
};

static struct MHD_Connection connections[CONNECTIONS];
static struct server server;
static size_t responses;
static int capture_fd, unix_fds[2], inet_fd;
static struct channel_question question; /* that the capture has not answered */
static bool was_right;

static const uint8_t *input;
static size_t left;

/* In the place of the page, which is not made in this build. */
const char *page_text(uint32_t document)
{
	fuzz_check(document == REQUEST_PAGE || document == REQUEST_STYLE ||
		   document == REQUEST_SCRIPT);
	return "";
}

/* ---- the input ------------------------------------------------------------------------------- */

static uint8_t take_byte(void)
{
	if (!left)
		return 0;
	left--;
	return *input++;
}

/* As long as its memory, so that a byte behind it is a finding. NULL: it is not sent. */
static char *take_text(const char *const *often, size_t count)
{
	const uint8_t which = take_byte();
	size_t length;
	char *text;

	if (which == 255)
		return NULL;
	if (which < count)
		return strdup(often[which]);
	length = which - count < left ? which - count : left;
	text = malloc(length + 1);
	memcpy(text, input, length);
	text[length] = '\0';
	input += length;
	left -= length;
	return text;
}

#define TAKE_TEXT(often) take_text(often, sizeof(often) / sizeof(*(often)))

/* ---- the library ----------------------------------------------------------------------------- */

static const union MHD_ConnectionInfo *get_connection_info(struct MHD_Connection *connection,
							   enum MHD_ConnectionInfoType type, ...)
{
	if (type == MHD_CONNECTION_INFO_SOCKET_CONTEXT) {
		connection->info.socket_context = connection->client;
		return &connection->info;
	}
	if (type == MHD_CONNECTION_INFO_CLIENT_ADDRESS ||
	    type == MHD_CONNECTION_INFO_GNUTLS_SESSION)
		return NULL;
	fuzz_check(type == MHD_CONNECTION_INFO_CONNECTION_FD);
	return &connection->info;
}

static const char *lookup(struct MHD_Connection *connection, enum MHD_ValueKind kind,
			  const char *key)
{
	fuzz_check(kind == MHD_HEADER_KIND);
	return connection->headers[strcmp(key, "Accept") != 0];
}

static int get_values(struct MHD_Connection *connection, enum MHD_ValueKind kind,
		      MHD_KeyValueIterator iterator, void *context)
{
	static const char *const names[] = { "from", "to", "by" };
	int count = 0;
	size_t i;

	fuzz_check(kind == MHD_GET_ARGUMENT_KIND);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!connection->arguments[i])
			continue;
		count++;
		if (iterator(context, kind, names[i], connection->arguments[i]) != MHD_YES)
			break;
	}
	return count;
}

static struct MHD_Response *add_response(void)
{
	struct MHD_Response *response = calloc(1, sizeof(*response));

	response->references = 1;
	responses++;
	return response;
}

static struct MHD_Response *create_from_buffer(size_t size, void *buffer,
					       enum MHD_ResponseMemoryMode mode)
{
	fuzz_check(mode == MHD_RESPMEM_MUST_COPY && strlen(buffer) == size);
	return add_response();
}

static struct MHD_Response *create_from_fd(size_t size, int fd)
{
	struct MHD_Response *response = add_response();

	(void)size;
	close(fd);
	response->of_ledger = true;
	response->request = question.request;
	return response;
}

static void destroy_response(struct MHD_Response *response)
{
	fuzz_check(response->references);
	if (--response->references)
		return;
	responses--;
	free(response);
}

static enum MHD_Result add_header(struct MHD_Response *response, const char *name,
				  const char *value)
{
	(void)response;
	fuzz_check(*name && !strpbrk(name, "\r\n") && !strpbrk(value, "\r\n"));
	return MHD_YES;
}

/* Nobody gets what another user asked for, or something else. */
static enum MHD_Result queue_response(struct MHD_Connection *connection, unsigned int status,
				      struct MHD_Response *response)
{
	const struct exchange *exchange = connection->exchange;
	const struct http_client *client = connection->client;

	fuzz_check(connection->asked && !connection->response && !connection->suspended);
	fuzz_check(status == 200 || (status >= 400 && status < 600));
	if (server.web.users_count && !client->is_unix)
		fuzz_check(was_right || status == 401 || status == 429);
	if (response->of_ledger) {
		fuzz_check(status == 200 && exchange);
		fuzz_check(request_is_same(&response->request, &exchange->request));
		fuzz_check(response->request.uid == client->uid);
	}
	response->references++;
	connection->response = response;
	return MHD_YES;
}

static void suspend(struct MHD_Connection *connection)
{
	fuzz_check(connection->asked && !connection->suspended && !connection->response);
	connection->suspended = true;
}

static void resume(struct MHD_Connection *connection)
{
	fuzz_check(connection->suspended);
	connection->suspended = false;
}

static void forget_request(struct MHD_Connection *connection)
{
	size_t i;

	free(connection->url);
	free(connection->method);
	for (i = 0; i < 2; i++)
		free(connection->headers[i]);
	for (i = 0; i < 3; i++)
		free(connection->arguments[i]);
	connection->url = connection->method = NULL;
	memset(connection->headers, 0, sizeof(connection->headers));
	memset(connection->arguments, 0, sizeof(connection->arguments));
}

static void end_request(struct MHD_Connection *connection, enum MHD_RequestTerminationCode code)
{
	if (connection->asked)
		end_exchange(&server, connection, &connection->exchange, code);
	fuzz_check(!connection->exchange);
	if (connection->response)
		destroy_response(connection->response);
	connection->response = NULL;
	connection->asked = false;
	forget_request(connection);
}

static void close_connection(struct MHD_Connection *connection)
{
	end_request(connection, MHD_REQUEST_TERMINATED_CLIENT_ABORT);
	note_connection(&server, connection, &connection->client, MHD_CONNECTION_NOTIFY_CLOSED);
	*connection = (struct MHD_Connection){ 0 };
}

/* Returns whether it may be called again. */
static bool call(struct MHD_Connection *connection, size_t upload_bytes)
{
	const size_t before = upload_bytes;
	const enum MHD_Result result =
		handle(&server, connection, connection->url, connection->method, "HTTP/1.1",
		       upload_bytes ? "" : NULL, &upload_bytes, &connection->exchange);

	if (result == MHD_NO) {
		close_connection(connection);
		return false;
	}
	fuzz_check(connection->response || !before || !upload_bytes);
	if (!connection->response)
		return !connection->suspended;
	end_request(connection, MHD_REQUEST_TERMINATED_COMPLETED_OK);
	return false;
}

/* Those that have been resumed are asked again. */
static enum MHD_Result run(struct MHD_Daemon *daemon)
{
	size_t i;

	(void)daemon;
	for (i = 0; i < CONNECTIONS; i++)
		if (connections[i].asked && !connections[i].suspended) {
			call(&connections[i], 0);
			fuzz_check(!connections[i].asked || connections[i].suspended);
		}
	return MHD_YES;
}

static const struct http_library model = {
	.get_connection_info = get_connection_info,
	.run = run,
	.suspend_connection = suspend,
	.resume_connection = resume,
	.lookup_connection_value = lookup,
	.get_connection_values = get_values,
	.create_response_from_buffer = create_from_buffer,
	.create_response_from_fd = create_from_fd,
	.add_response_header = add_header,
	.queue_response = queue_response,
	.destroy_response = destroy_response,
};

/* ---- steps ----------------------------------------------------------------------------------- */

static struct MHD_Connection *take_connection(void)
{
	return &connections[take_byte() % CONNECTIONS];
}

/* Of the address, of root, or of one of two users. */
static void step_connect(void)
{
	struct MHD_Connection *connection = take_connection();
	const uint8_t who = take_byte() % 4;

	if (connection->open)
		return;
	connection->open = true;
	connection->info.connect_fd = who ? unix_fds[0] : inet_fd;
	note_connection(&server, connection, &connection->client, MHD_CONNECTION_NOTIFY_STARTED);
	if (connection->client && who)
		((struct http_client *)connection->client)->uid =
			who == 1 ? REQUEST_EVERYBODY : 1000u + who;
}

static void step_request(void)
{
	static const char *const methods[] = { "GET", "HEAD", "POST", "" };
	static const char *const paths[] = {
		"/",
		"/metrics",
		"/api/v1/who",
		"/api/v1/processes/1",
		"/api/v1/processes/4294967296",
		"/api/v1/history",
		"/debug/pprof/gpu_heap",
		"/health",
		"/ready",
		"/page.js",
		"/api/v1/processes/",
	};
	static const char *const accepts[] = {
		"*/*",
		"application/openmetrics-text;version=1.0.0,text/plain;q=0.5",
		"text/plain;version=0.0.4;q=0.75, application/openmetrics-text; q=1.1",
	};
	static const char *const passwords[] = { "Basic Ym9iOnNlY3JldA==", "basic  YWxpY2U6Ym9i",
						 "Bearer x" };
	static const char *const values[] = { "-1h", "2026-11-21T15:04", "pod", "now" };
	struct MHD_Connection *connection = take_connection();
	uint8_t uploads;
	size_t i;

	if (!connection->open || connection->asked)
		return;
	connection->method = TAKE_TEXT(methods);
	connection->url = TAKE_TEXT(paths);
	connection->headers[0] = TAKE_TEXT(accepts);
	connection->headers[1] = TAKE_TEXT(passwords);
	for (i = 0; i < 3; i++)
		connection->arguments[i] = TAKE_TEXT(values);
	uploads = take_byte() % 4;
	if (!connection->method || !connection->url) {
		forget_request(connection);
		return;
	}
	connection->asked = true;
	if (!call(connection, 0))
		return;
	while (uploads-- && connection->asked)
		call(connection, 1 + uploads);
	if (connection->asked)
		call(connection, 0);
}

/* A connection that is suspended is not closed: the library does not look at it. */
static void step_close(void)
{
	struct MHD_Connection *connection = take_connection();

	if (connection->open && !connection->suspended)
		close_connection(connection);
}

/* It has not been given up. */
static bool is_waited_for(uint64_t number)
{
	size_t i;

	for (i = 0; i < HTTP_ANSWERS_KEPT; i++)
		if (server.answers.answers[i].state == HTTP_ANSWER_ASKED &&
		    server.answers.answers[i].number == number)
			return true;
	return false;
}

/* There is one at a time. */
static void take_question(void)
{
	struct channel_question next;

	while (!channel_take_question(capture_fd, &next))
		if (next.number) {
			fuzz_check(!question.number || !is_waited_for(question.number));
			fuzz_check(request_is_of_ledger(&next.request));
			question = next;
		}
}

static void step_answer(void)
{
	static const uint32_t statuses[] = { 200, 200, 403, 404, 400, 500, 503 };
	const uint8_t how = take_byte();
	struct channel_message message = { .type = CHANNEL_ANSWER, .number = question.number };
	int fd = -1;

	message.status = statuses[how % (sizeof(statuses) / sizeof(*statuses))];
	/* An answer that is not asked for any more. */
	if (how & 0x80)
		message.number ^= 1;
	if (message.status == 200 && !(how & 0x40))
		fd = memfd_create("answer", MFD_CLOEXEC);
	fuzz_check(!channel_say(capture_fd, &message, fd));
	if (fd >= 0)
		close(fd);
	fuzz_check(!take_messages(&server, 0));
	if (message.number == question.number)
		question.number = 0;
	take_question();
}

static void step_status(void)
{
	struct channel_message message = { .type = CHANNEL_STATUS };

	message.state.ready = take_byte() & 1;
	memset(message.state.reason, take_byte(), sizeof(message.state.reason));
	fuzz_check(!channel_say(capture_fd, &message, -1));
	fuzz_check(!take_messages(&server, 0));
}

static void make_older(uint64_t *ns, uint64_t by_ns)
{
	if (*ns && *ns != UINT64_MAX)
		*ns = *ns > by_ns ? *ns - by_ns : 1;
}

static void pass(uint64_t ns)
{
	struct http_client *client;
	size_t i;

	for (i = 0; i < HTTP_ANSWERS_KEPT; i++)
		make_older(&server.answers.answers[i].made_ns, ns);
	for (client = server.clients.first; client; client = client->next)
		make_older(&client->due_ns, ns);
	for (i = 0; i < WEB_AUTH_PEERS; i++)
		make_older(&server.auth.peers[i].full_ns, ns);
	make_older(&server.auth.full_ns, ns);
	make_older(&server.status_ns, ns);
	pass_second(&server, 0);
	take_question();
}

/* Up to 13 s: within them, answers grow old, and are given up. */
static void step_pass(void)
{
	pass(take_byte() * (SECOND_NS / 20));
}

static void step(void)
{
	static void (*const steps[])(void) = { step_connect, step_request, step_close,
					       step_answer,  step_status,  step_pass };

	steps[take_byte() % (sizeof(steps) / sizeof(*steps))]();
	run(NULL);
	take_question();
}

/* ---- the whole of it ------------------------------------------------------------------------- */

/* In the place of bcrypt: every password is its own hash. */
static char *same(const char *phrase, const char *setting, struct crypt_data *data)
{
	static char out[WEB_AUTH_TEXT_BYTES];

	(void)data;
	snprintf(out, sizeof(out), "%s", phrase);
	was_right |= !strcmp(phrase, setting);
	return out;
}

static void ignore(void *context, const char *line)
{
	(void)context;
	(void)line;
}

static void begin(bool passwords)
{
	static struct web_config_pair bob = { "bob", "secret" },
				      header = { "X-Frame-Options", "deny" };
	static struct http_server_options options = { .listeners_count = 1 };

	memset(&server, 0, sizeof(server));
	memset(&question, 0, sizeof(question));
	was_right = false;
	log_divert(ignore, NULL);
	fuzz_check(!channel_open(&capture_fd, &options.channel));
	server.options = &options;
	server.library = model;
	server.answers.library = &server.library;
	server.statm_fd = -1;
	server.auth.config = &server.web;
	server.auth.crypt = same;
	if (passwords) {
		server.web.users[server.web.users_count++] = bob;
		server.web.headers[server.web.headers_count++] = header;
	}
}

/* Whatever there was: when it is over, nobody waits, and nothing is left. */
static void end(void)
{
	size_t i;

	for (i = 0; i < HTTP_ANSWERS_KEPT + 1; i++)
		pass(MINUTE_NS);
	for (i = 0; i < CONNECTIONS; i++) {
		fuzz_check(!connections[i].suspended && !connections[i].asked);
		if (connections[i].open)
			close_connection(&connections[i]);
	}
	fuzz_check(!server.clients.count && !server.clients.first);
	for (i = 0; i < HTTP_ANSWERS_KEPT; i++) {
		fuzz_check(!server.answers.answers[i].users);
		if (server.answers.answers[i].response)
			destroy_response(server.answers.answers[i].response);
	}
	fuzz_check(!responses);
	close(capture_fd);
	close(server.options->channel);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	input = bytes;
	left = size;
	if (!inet_fd) {
		fuzz_check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, unix_fds));
		inet_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		fuzz_check(inet_fd >= 0);
	}
	begin(take_byte() & 1);
	while (left)
		step();
	end();
	return 0;
}
