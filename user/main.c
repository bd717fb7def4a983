// SPDX-License-Identifier: BSD-2-Clause
/*
 * Finds the command and runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/nearest.h"
#include "capture/attach/features.h"
#include "commands/command.h"
#include "commands/help.h"
#include "commands/spellings.h"

static void print_usage(FILE *out)
{
	const struct command *const *command;

	fprintf(out, "Usage: memscope-bpf COMMAND [OPTIONS]\n"
		     "See where GPU memory goes, in running and unmodified programs.\n\n"
		     "Commands:\n");
	for (command = commands; *command; command++)
		fprintf(out, "  %-10s %s\n", (*command)->name, (*command)->summary);
	fprintf(out, "  %-10s %s\n", "help", "Explain a command");
	fprintf(out, "  %-10s %s\n", "--version", "Print the version");
	fprintf(out, "\n`memscope-bpf COMMAND --help` lists a command's options.\n");
}

static int print_version(void)
{
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is no failure */
	printf("memscope-bpf %s\nlibbpf %s\n", MEMSCOPE_VERSION, features_libbpf_version());
	return EXIT_OK;
}

static const char *nearest_command(const char *name)
{
	struct nearest nearest = { .word = name };
	const struct command *const *command;

	for (command = commands; *command; command++)
		nearest_offer(&nearest, (*command)->name);
	nearest_offer(&nearest, "help");
	return nearest.found;
}

/* Of those that stand without a command. */
static const char *nearest_option(const char *name)
{
	struct nearest nearest = { .word = name };

	nearest_offer(&nearest, "--version");
	nearest_offer(&nearest, "--help");
	return nearest.found;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t length = strlen(text);

	return length > strlen(end) && !strcmp(text + length - strlen(end), end);
}

/* Whether a shell would find it. */
static bool is_program(const char *name)
{
	const char *directory = getenv("PATH");
	char path[PATH_MAX];
	size_t length;
	bool found = strchr(name, '/');

	for (; !found && directory && *directory;
	     directory += length + (directory[length] == ':')) {
		length = strcspn(directory, ":");
		snprintf(path, sizeof(path), "%.*s/%s", (int)length, directory, name);
		found = *name && !access(path, X_OK);
	}
	return found;
}

/* One line, which says what to type. */
static int unknown(const char *name)
{
	const char *instead = spelling_of_command(name);
	const char *nearest = instead ? NULL : nearest_command(name);

	if (!strcmp(name, "-v"))
		log_error("there is no option \"-v\" without a command; the version is --version");
	else if (*name == '-' && nearest_option(name))
		log_error("there is no option \"%s\"; did you mean %s?", name,
			  nearest_option(name));
	else if (*name == '-')
		log_error("the command comes first: memscope-bpf trace %s ...; `memscope-bpf help`"
			  " lists the commands",
			  name);
	else if (*name && !name[strspn(name, "0123456789")])
		log_error("there is no command \"%s\"; for a process: memscope-bpf trace -p %s",
			  name, name);
	else if (instead)
		log_error("there is no command \"%s\"; use memscope-bpf %s", name, instead);
	else if (nearest)
		log_error("there is no command \"%s\"; did you mean %s?", name, nearest);
	else if (ends_with(name, ".mscope"))
		log_error("there is no command \"%s\"; for a recording: memscope-bpf report %s",
			  name, name);
	else if (is_program(name))
		log_error("there is no command \"%s\": `memscope-bpf help` lists them; to start a"
			  " program: memscope-bpf trace -- %s ...",
			  name, name);
	else
		log_error("there is no command \"%s\": `memscope-bpf help` lists them", name);
	return EXIT_USAGE;
}

/* Words that mean nothing here may be meant for another command. */
static int refuse_word(const char *before, const char *word)
{
	log_error("%s takes no \"%s\"; see `memscope-bpf help`", before, word);
	return EXIT_USAGE;
}

static int help(const char *name)
{
	const struct command *command = name ? command_find(name) : NULL;

	signal(SIGPIPE, SIG_IGN);
	if (command)
		help_print(command);
	else if (name && strcmp(name, "help") != 0)
		return unknown(name);
	else
		print_usage(stdout);
	return EXIT_OK;
}

/*
 * Descriptors 0 to 2 belong to standard input, output and errors even if those are closed: else the
 * next file that is opened becomes the standard output. Reading only, so that writing still fails.
 */
static void occupy_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static void do_nothing(int number)
{
	(void)number;
}

/*
 * A file that becomes larger than it may is a full disk: the write fails, which is told. Ignored,
 * the command that is started would inherit that.
 */
static void outlive_limits(void)
{
	struct sigaction action;

	if (!sigaction(SIGXFSZ, NULL, &action) && action.sa_handler == SIG_DFL)
		signal(SIGXFSZ, do_nothing);
}

static int run(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *command;

	if (!name) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V") || !strcmp(name, "version"))
		return argc > 2 ? refuse_word(name, argv[2]) : print_version();
	if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h"))
		return argc > 3 ? refuse_word(name, argv[3]) : help(argc > 2 ? argv[2] : NULL);
	command = command_find(name);
	/* As of git, but for a marker or a file of that name. */
	if (command && command != &mark_command && argc == 3 && !strcmp(argv[2], "help") &&
	    access("help", F_OK))
		return help(name);
	return command ? command->run(argc - 1, argv + 1) : unknown(name);
}

int main(int argc, char **argv)
{
	int code;

	occupy_standard_descriptors();
	outlive_limits();
	code = run(argc, argv);
	if (fflush(stdout) && errno != EPIPE && code == EXIT_OK) {
		log_error("standard output: cannot write: %s", strerror(errno));
		code = EXIT_FAILED;
	}
	return code;
}
