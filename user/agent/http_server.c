// SPDX-License-Identifier: BSD-2-Clause
#include "agent/http_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "agent/channel.h"
#include "agent/http_answers.h"
#include "agent/http_audit.h"
#include "agent/http_clients.h"
#include "agent/keeper.h"
#include "agent/page.h"
#include "agent/web_auth.h"
#include "agent/web_tls.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "host/sandbox.h"

#define CLIENTS 160        /* of each listener */
#define CLIENT_BYTES 16384 /* of a connection, for its request's and the answer's headers */
#define SECOND_NS 1000000000ull
#define STALE_NS (10 * SECOND_NS) /* the capture says how it is each second */

struct server {
	struct http_library library;
	struct loop *loop;
	const struct http_server_options *options;
	struct MHD_Daemon *daemons[HTTP_SERVER_LISTENERS];
	struct http_clients clients;
	struct http_answers answers;
	struct web_config web;
	struct web_auth auth;
	struct http_audit audit;
	struct channel_server counts;
	struct channel_status status;
	uint64_t status_ns; /* when that came; 0: never */
	int statm_fd;
};

/* A request, from its first line to its answer. */
struct exchange {
	struct request request;
	struct http_answer *answer; /* that it waits for; NULL: none */
};

/* ---- answers --------------------------------------------------------------------------------- */

static enum MHD_Result queue(struct server *server, struct MHD_Connection *connection,
			     unsigned int status, struct MHD_Response *response)
{
	const union MHD_ConnectionInfo *info =
		server->library.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http_client *client = info ? info->socket_context : NULL;

	if (client)
		http_clients_allow(client, HTTP_CLIENTS_ANSWER_NS);
	server->counts.answered[status / 100 % 6]++;
	return server->library.queue_response(connection, status, response);
}

static void put_headers(struct server *server, struct MHD_Response *response,
			const struct request *request)
{
	const struct http_library *library = &server->library;
	size_t i;

	for (i = 0; i < server->web.headers_count; i++)
		library->add_response_header(response, server->web.headers[i].name,
					     server->web.headers[i].value);
	library->add_response_header(response, "Content-Type", request_content_type(request));
	library->add_response_header(response, "Cache-Control", "no-store");
	library->add_response_header(response, "X-Content-Type-Options", "nosniff");
	library->add_response_header(response, "Content-Security-Policy",
				     "default-src 'none'; script-src 'self'; style-src 'self';"
				     " connect-src 'self'; base-uri 'none'; form-action 'none';"
				     " frame-ancestors 'none'");
}

static enum MHD_Result queue_text(struct server *server, struct MHD_Connection *connection,
				  unsigned int status, const char *text,
				  const struct request *request)
{
	struct MHD_Response *response = server->library.create_response_from_buffer(
		strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	put_headers(server, response, request);
	if (status == 405)
		server->library.add_response_header(response, "Allow", "GET, HEAD");
	if (status == 401)
		server->library.add_response_header(
			response, "WWW-Authenticate",
			"Basic realm=\"memscope-bpf\", charset=\"UTF-8\"");
	if (status == 503 || status == 429)
		server->library.add_response_header(response, "Retry-After",
						    status == 503 ? "1" : "4");
	result = queue(server, connection, status, response);
	server->library.destroy_response(response);
	return result;
}

static enum MHD_Result queue_error(struct server *server, struct MHD_Connection *connection,
				   unsigned int status)
{
	static const struct request plain = { .document = REQUEST_HEALTH };
	const char *text = status == 400 ? REQUEST_ARGUMENTS :
			   status == 404 ? REQUEST_PATHS :
			   status == 405 ? "only GET and HEAD are answered\n" :
			   status == 403 ? "only root and the group memscope may see this\n" :
			   status == 401 ? "a name and a password are needed (--web-config)\n" :
			   status == 429 ? "too many passwords were wrong lately\n" :
			   status == 503 ? "the agent is busy\n" :
					   "the answer could not be made\n";

	return queue_text(server, connection, status, text, &plain);
}

static enum MHD_Result queue_state(struct server *server, struct MHD_Connection *connection,
				   const struct request *request)
{
	const bool alive = server->status_ns && clock_monotonic_ns() - server->status_ns < STALE_NS;
	const bool good = alive && (request->document == REQUEST_HEALTH || server->status.ready);
	char text[CHANNEL_REASON_BYTES + 64];

	if (!alive)
		snprintf(text, sizeof(text), "the capture does not answer\n");
	else if (request->document == REQUEST_HEALTH)
		snprintf(text, sizeof(text), "ok\n");
	else
		snprintf(text, sizeof(text), "%s%s%s\n", good ? "ready" : "not ready",
			 *server->status.reason ? ": " : "", server->status.reason);
	return queue_text(server, connection, good ? 200 : 503, text, request);
}

/* ---- questions to the capture ---------------------------------------------------------------- */

static uint64_t resident_bytes(const struct server *server)
{
	char text[128];
	const ssize_t length = pread(server->statm_fd, text, sizeof(text) - 1, 0);
	unsigned long long size, resident;

	if (length <= 0)
		return 0;
	text[length] = '\0';
	return sscanf(text, "%llu %llu", &size, &resident) == 2 ? resident * getpagesize() : 0;
}

static void ask(struct server *server)
{
	struct http_answer *answer = http_answers_next(&server->answers);
	struct channel_question question;

	if (!answer)
		return;
	server->counts.refused = server->clients.dropped;
	server->counts.connections = server->clients.count;
	server->counts.cpu_ns = clock_cpu_ns();
	server->counts.resident_bytes = resident_bytes(server);
	question = (struct channel_question){
		.number = server->answers.numbers + 1,
		.request = answer->request,
		.server = server->counts,
	};
	if (!channel_ask(server->options->channel, &question))
		http_answers_asked(&server->answers, answer, clock_monotonic_ns());
}

static void run_daemons(struct server *server)
{
	size_t i;

	for (i = 0; i < server->options->listeners_count; i++)
		server->library.run(server->daemons[i]);
}

/*
 * Each of them is asked again what it wants, and takes what there is: when the library runs next,
 * which no descriptor would tell.
 */
static void wake(struct server *server)
{
	struct http_client *client;

	for (client = server->clients.first; client; client = client->next)
		if (client->waits) {
			client->waits = false;
			server->library.resume_connection(client->connection);
		}
	run_daemons(server);
}

static void take_answer(struct server *server, const struct channel_message *message, int fd)
{
	struct http_answer *answer = http_answers_take(&server->answers, message, fd);

	if (answer && answer->response)
		put_headers(server, answer->response, &answer->request);
	wake(server);
	ask(server);
}

static int take_messages(void *context, uint64_t data)
{
	struct server *server = context;
	struct channel_message message;
	int fd, err;

	(void)data;
	while (!(err = channel_take_message(server->options->channel, &message, &fd))) {
		if (message.type == CHANNEL_ANSWER) {
			take_answer(server, &message, fd);
		} else if (message.type == CHANNEL_RENEW) {
			return -ESTALE;
		} else {
			server->status = message.state;
			server->status.reason[CHANNEL_REASON_BYTES - 1] = '\0';
			server->status_ns = clock_monotonic_ns();
			if (fd >= 0)
				close(fd);
		}
	}
	return err == -EAGAIN ? 0 : err; /* the agent is gone: so is this */
}

/* ---- requests -------------------------------------------------------------------------------- */

static struct http_client *client_of(struct server *server, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		server->library.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static enum MHD_Result answer_of_ledger(struct server *server, struct MHD_Connection *connection,
					struct http_client *client, struct exchange *exchange)
{
	struct http_answer *answer = exchange->answer;

	if (!answer) {
		answer = http_answers_get(&server->answers, &exchange->request,
					  clock_monotonic_ns());
		if (!answer)
			return queue_error(server, connection, 503);
		exchange->answer = answer;
		answer->users++;
	}
	ask(server);
	if (answer->state == HTTP_ANSWER_READY)
		return answer->response ? queue(server, connection, 200, answer->response) :
					  queue_error(server, connection, answer->status);
	client->connection = connection;
	client->waits = true;
	client->due_ns = UINT64_MAX; /* it is we whom it waits for */
	server->library.suspend_connection(connection);
	return MHD_YES;
}

static enum MHD_Result answer_page(struct server *server, struct MHD_Connection *connection,
				   const struct request *request)
{
	return queue_text(server, connection, 200, page_text(request->document), request);
}

/* Returns an HTTP status: 200, 401 or 429. Whom the kernel knows needs no password. */
static unsigned int authorise(struct server *server, struct MHD_Connection *connection,
			      const struct http_client *client)
{
	const union MHD_ConnectionInfo *info;
	const char *header;

	if (client->is_unix)
		return 200;
	info = server->library.get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	header = server->library.lookup_connection_value(connection, MHD_HEADER_KIND,
							 "Authorization");
	switch (web_auth_check(&server->auth, web_auth_peer(info ? info->client_addr : NULL),
			       header, clock_monotonic_ns())) {
	case WEB_AUTH_RIGHT:
		return 200;
	case WEB_AUTH_LATER:
		return 429;
	case WEB_AUTH_WRONG:
		break;
	}
	return 401;
}

/* What is asked for, as far as its arguments are taken. */
struct asked {
	struct request *request;
	unsigned int status;
};

static enum MHD_Result take_argument(void *context, enum MHD_ValueKind kind, const char *name,
				     const char *value)
{
	struct asked *asked = context;

	(void)kind;
	asked->status = request_take(asked->request, name, value ? value : "");
	return asked->status == 200 ? MHD_YES : MHD_NO;
}

static enum MHD_Result begin_exchange(struct server *server, struct MHD_Connection *connection,
				      struct http_client *client, const char *url,
				      const char *method, void **place)
{
	const struct http_library *library = &server->library;
	struct request request;
	struct exchange *exchange;
	struct asked asked = { .request = &request };
	unsigned int status = authorise(server, connection, client);

	if (status == 200)
		status = request_parse(&request, method, url,
				       library->lookup_connection_value(connection, MHD_HEADER_KIND,
									"Accept"));

	asked.status = status;
	if (status == 200)
		library->get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_argument,
					       &asked);
	status = asked.status;
	if (status != 200)
		return queue_error(server, connection, status);
	if (client->is_unix && client->uid == REQUEST_EVERYBODY && request_is_of_ledger(&request))
		http_audit_note(&server->audit, client->fd, &request, url, clock_monotonic_ns());
	exchange = calloc(1, sizeof(*exchange));
	if (!exchange)
		return MHD_NO;
	request.uid = client->uid;
	exchange->request = request;
	*place = exchange;
	return MHD_YES;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_bytes, void **place)
{
	struct server *server = context;
	struct http_client *client = client_of(server, connection);
	struct exchange *exchange = *place;

	(void)version;
	(void)upload;
	if (!client)
		return MHD_NO;
	if (!exchange)
		return begin_exchange(server, connection, client, url, method, place);
	if (*upload_bytes) {
		*upload_bytes = 0; /* a body says nothing */
		return MHD_YES;
	}
	if (request_is_of_ledger(&exchange->request))
		return answer_of_ledger(server, connection, client, exchange);
	if (exchange->request.document == REQUEST_HEALTH ||
	    exchange->request.document == REQUEST_READY)
		return queue_state(server, connection, &exchange->request);
	return answer_page(server, connection, &exchange->request);
}

static void end_exchange(void *context, struct MHD_Connection *connection, void **place,
			 enum MHD_RequestTerminationCode code)
{
	struct server *server = context;
	struct http_client *client = client_of(server, connection);
	struct exchange *exchange = *place;

	(void)code;
	if (client)
		http_clients_allow(client, HTTP_CLIENTS_KEPT_NS);
	if (exchange && exchange->answer)
		exchange->answer->users--;
	free(exchange);
	*place = NULL;
}

/* ---- connections ----------------------------------------------------------------------------- */

static bool ask_certificate(struct server *server, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		server->library.get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	return web_tls_ask_client(info ? info->tls_session : NULL, server->web.client);
}

static void note_connection(void *context, struct MHD_Connection *connection, void **place,
			    enum MHD_ConnectionNotificationCode code)
{
	struct server *server = context;
	const union MHD_ConnectionInfo *info =
		server->library.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct http_client *client;
	const gid_t group = server->options->has_group ? server->options->group : (gid_t)-1;
	int domain = AF_UNIX;
	socklen_t bytes = sizeof(domain);

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		http_clients_remove(&server->clients, *place);
		return;
	}
	if (!info || getsockopt(info->connect_fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes))
		return;
	if (domain != AF_UNIX && !ask_certificate(server, connection))
		return; /* without a client, no request is answered */
	client = http_clients_add(&server->clients, info->connect_fd,
				  domain == AF_UNIX ? http_clients_peer(info->connect_fd, group) :
						      REQUEST_EVERYBODY);
	if (client)
		client->is_unix = domain == AF_UNIX;
	*place = client;
}

static int run_daemon(void *context, uint64_t data)
{
	struct server *server = context;

	server->library.run(server->daemons[data]);
	return 0;
}

/* The library has connections that it knows to be ready, and no descriptor that says so. */
static bool run_rest(void *context)
{
	struct server *server = context;
	MHD_UNSIGNED_LONG_LONG ms;
	bool more = false;
	size_t i;

	for (i = 0; i < server->options->listeners_count; i++) {
		if (server->library.get_timeout(server->daemons[i], &ms) != MHD_YES || ms)
			continue;
		server->library.run(server->daemons[i]);
		more = true;
	}
	return more;
}

static int pass_second(void *context, uint64_t data)
{
	struct server *server = context;
	const uint64_t now_ns = clock_monotonic_ns();

	(void)data;
	http_clients_drop_late(&server->clients, now_ns);
	if (http_answers_give_up(&server->answers, now_ns))
		wake(server);
	ask(server);
	run_daemons(server);
	return 0;
}

/* ---- the process ----------------------------------------------------------------------------- */

/* What the library has to know for TLS. */
static void put_tls_options(const struct web_config *web, char *priorities,
			    struct MHD_OptionItem options[5])
{
	size_t count = 0;

	options[count++] =
		(struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_CERT, 0, web->certificate };
	options[count++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_KEY, 0, web->key };
	options[count++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_PRIORITIES, 0, priorities };
	if (web->authority)
		options[count++] =
			(struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_TRUST, 0, web->authority };
	options[count] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
}

static int add_daemon(struct server *server, size_t i)
{
	const union MHD_DaemonInfo *info;
	const bool tls = server->web.certificate && !server->options->listeners[i].is_unix;
	struct MHD_OptionItem options[5] = { { MHD_OPTION_END, 0, NULL } };
	char priorities[WEB_TLS_PRIORITIES_BYTES];

	if (tls)
		put_tls_options(&server->web, web_tls_priorities(priorities, &server->web),
				options);
	server->daemons[i] = server->library.start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0), 0, NULL, NULL,
		handle, server, MHD_OPTION_LISTEN_SOCKET, server->options->listeners[i].fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CLIENTS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CLIENT_BYTES,
		MHD_OPTION_NOTIFY_COMPLETED, end_exchange, server, MHD_OPTION_NOTIFY_CONNECTION,
		note_connection, server, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (!server->daemons[i]) {
		if (tls)
			log_error(
				"%s: cannot serve with it: is key_file the key of cert_file, and has"
				" libmicrohttpd been built with TLS?",
				server->options->web_config_path);
		return -EIO;
	}
	info = server->library.get_daemon_info(server->daemons[i], MHD_DAEMON_INFO_EPOLL_FD);
	if (!info || info->epoll_fd < 0)
		return -EIO;
	return loop_add_fd(server->loop, info->epoll_fd, EPOLLIN, run_daemon, server, i, NULL);
}

/* A question without a number: clients are served from now on. */
static int say_hello(struct server *server)
{
	const struct channel_question hello = { .is_hello = true, .server = server->counts };

	return channel_ask(server->options->channel, &hello);
}

static int open_server(struct server *server)
{
	const struct http_server_options *options = server->options;
	int err = http_library_load(&server->library);
	size_t i;

	if (!err && options->web_config_path)
		err = web_config_read(&server->web, options->web_config_path);
	if (!err)
		err = web_auth_init(&server->auth, &server->web);
	if (!err)
		err = web_tls_init(&server->web);
	if (err)
		return err;
	server->answers.library = &server->library;
	/* No other server that was here before has asked by these numbers. */
	server->answers.numbers = (uint64_t)getpid() << 32;
	server->counts.pid = (uint64_t)getpid();
	tzset(); /* files cannot be opened later */
	server->statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	err = loop_open(&server->loop);
	for (i = 0; !err && i < options->listeners_count; i++)
		err = add_daemon(server, i);
	if (!err)
		err = loop_add_fd(server->loop, options->channel, EPOLLIN, take_messages, server, 0,
				  NULL);
	if (!err)
		err = loop_add_timer(server->loop, SECOND_NS, SECOND_NS, pass_second, server, 0,
				     NULL);
	if (!err)
		err = loop_add_check(server->loop, run_rest, server);
	if (!err)
		err = sandbox_enter();
	return err ? err : say_hello(server);
}

static enum keeper_end serve(void *options)
{
	struct server server = { .options = options };

	if (open_server(&server))
		return KEEPER_CANNOT;
	switch (loop_run(server.loop)) {
	case -EPIPE:
		return KEEPER_AGENT_GONE;
	case -ESTALE:
		return KEEPER_AGAIN;
	}
	return KEEPER_FAILED;
}

pid_t http_server_start(const struct http_server_options *options)
{
	int fds[1 + sizeof(options->listeners) / sizeof(*options->listeners)];
	struct keeper keeper = { .name = "memscope-http",
				 .parent_name = "memscope-keeper",
				 .task = "serves clients",
				 .fds = fds,
				 .serve = serve,
				 .context = (void *)options,
				 .renews = true };
	size_t i;

	fds[keeper.fds_count++] = options->channel;
	for (i = 0; i < options->listeners_count; i++)
		fds[keeper.fds_count++] = options->listeners[i].fd;
	return keeper_start(&keeper);
}
