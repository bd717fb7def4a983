// SPDX-License-Identifier: BSD-2-Clause
/*
 * Commands and values of options as other programs have them.
 */
#include <stddef.h>
#include <string.h>

#include "commands/spellings.h"

/* clang-format off */

static const struct {
	const char *word, *instead;
} other_commands[] = {
	/* strace, perf */
	{ "stat", "trace -c -p PID" },
	{ "script", "export -f ndjson FILE" },
	{ "annotate", "report FILE" },
	{ "cat", "export -f ndjson FILE" },
	{ "replay", "report FILE, for one moment report --at TIME FILE, for each event export -f ndjson FILE" },
	{ "dump", "export -f ndjson FILE" },
	{ "view", "report FILE" },
	{ "open", "report -o run.html FILE, and open that in a browser" },
	{ "list", "who" },
	{ "test", "report --fail-on leak,oom,loss FILE" },
	{ "info", "report FILE" },
	/* memray */
	{ "run", "trace -- COMMAND" },
	{ "attach", "trace -p PID" },
	{ "live", "trace -p PID" },
	{ "detach", "trace -d SECONDS -p PID: Ctrl-C or the end of the time detaches" },
	{ "flamegraph", "export -f folded FILE" },
	{ "table", "report FILE" },
	{ "tree", "report FILE" },
	{ "summary", "report FILE" },
	{ "stats", "report FILE" },
	{ "transform", "export -f FORMAT FILE" },
	{ "parse", "export -f ndjson FILE" },
	/* nsys */
	{ "profile", "record -o run.mscope -- COMMAND" },
	{ "launch", "record -o run.mscope -- COMMAND" },
	{ "start", "record -o run.mscope -p PID" },
	{ "stop", "record -d SECONDS ...: Ctrl-C or the end of the time stops it" },
	{ "analyze", "report FILE" },
	{ "status", "check" },
	/* kubectl */
	{ "get", "who" },
	{ "monitor", "top -a" },
	{ "snapshot", "who" },
	{ "mem", "who" },
	{ "describe", "check -p PID" },
	{ "logs", "trace -p PID" },
	{ "exec", "trace -- COMMAND" },
	{ "explain", "help COMMAND" },
	/* others */
	{ "doctor", "check" },
	{ "ps", "who" },
	{ "smi", "who" },
	{ "nvidia-smi", "who" },
	{ "fuser", "who" },
	{ "compare", "diff A B" },
	{ "convert", "export -f FORMAT FILE" },
	{ "repair", "verify --repair GOOD FILE" },
	{ "show", "report FILE" },
	{ "gate", "report --fail-on leak,oom,loss FILE" },
	{ "ci", "report --fail-on leak,oom,loss FILE" },
	{ "leaks", "report FILE" },
	{ "ls", "who" },
	{ "leak", "report --fail-on leak FILE, after record -o FILE -p PID" },
	{ "inspect", "check -p PID, or report FILE" },
	{ "man", "help COMMAND" },
	{ "kill", "who, to find processes; it ends none itself" },
	{ "config", "agent --check-config --config FILE, or agent --help" },
	{ "fleet", "agent on each machine, whose metrics Prometheus collects (docs/agent.md)" },
	{ "serve", "agent" },
	{ "daemon", "agent" },
	{ "watch", "top -a" },
	{ "devices", "who" },
	{ "query", "who --json" },
	{ "usage", "who" },
	{ "perf", "record" },
	{ "strace", "trace" },
};

/* Values of options, for those that know the value that the answer `needs`. */
static const struct spelling_of_value other_values[] = {
	{ NULL, "none no false never disable disabled 0", "off", "it is off here", true },
	{ "stacks", "on yes true full native default 1", "alloc", "it is --stacks=alloc here", true },
	{ "stacks", "python", "alloc", "write --stacks=alloc; lines of Python alone: --stack-frames=python", false },
	{ "stacks", "sync wait copy", "waits", "write --stacks=waits: of copies, memsets and synchronisations, too", false },
	{ "launches", "on yes true", "all", "it is --launches=all here", true },
	{ "launches", "yes true", "on", "it is --launches=on here", true },
	{ "format", "htm", "html", "it is --format html here", true },
	{ "format", "txt plain", "text", "it is --format text here", true },
	{ "format", "pdf", "html", "there is no PDF: write -o run.html, and print that in a browser", false },
	{ "format", "csv tsv xlsx excel sqlite perfetto folded pprof", "md", "numbers and events for other programs: memscope-bpf export -f csv FILE", false },
	{ "format", "csv tsv", "text", "write --format json, and jq -r '... | @csv'", false },
	{ "format", "pytorch torch snapshot memory-viz memory_snapshot", "memory_viz", "PyTorch's memory viewer reads -f memory_viz", false },
	{ "format", "trace trace_event chrome-trace chrometrace catapult", "chrome", "write -f chrome, or -f perfetto", false },
	{ "format", "speedscope", "folded", "speedscope reads -f folded and -f pprof", false },
	{ "format", "parquet arrow excel xlsx duckdb tsv", "csv", "write -f csv or -f sqlite, which others read", false },
	{ "format", "nsys nsys-rep qdrep", "sqlite", "write -f sqlite: it runs queries for exports of nsys", false },
	{ "format", "html htm md text txt pdf junit github", "ndjson", "reports are another command: memscope-bpf report -o run.html FILE", false },
	{ "format", "list", "ndjson", "`memscope-bpf export --help` lists the formats", false },
	{ "format", "gha github-actions", "github", "it is --format github here", true },
	{ "format", "sarif", "github", "there is no SARIF; --format github annotates files and lines, --format junit is for others", false },
	{ "format", "junit-xml xml", "junit", "it is --format junit here", true },
	{ "format", "yaml", "json", "there is no YAML: write --format json", false },
	{ "format", "table", "text", "it is --format text here", true },
	{ "format", "markdown", "md", "it is --format md here", true },
	{ "format", "flamegraph flame svg", "folded", "flame graphs are drawn by report -o run.html; programs that draw them read -f folded", false },
	{ "format", "memray", "folded", "only memray writes its files; what it shows: report -o run.html, -f folded or -f pprof", false },
	{ "sort", "memory mem %MEM", "live", "it is --sort live here", true },
	{ "sort", "cpu", "live", "processors are not looked at: --sort live, or --sort rate", false },
	{ "by", "name process-name program exe script command cmd", "comm", "it is --by comm here", true },
	{ "by", "name comm program pid", "process", "it is --by process here", true },
	{ "by", "gpu uuid", "device", "it is --by device here", true },
	{ "by", "uid owner", "user", "write --by user", false },
	{ "by", "namespace ns deployment", "pod", "write --by pod; one of them: --pod NAMESPACE/NAME", false },
	{ "by", "slurm jobid job-id rank", "job", "write --by job", false },
	{ "by", "pid process", "comm", "each process has a row as it is; leave it out, or --pid PID for one", false },
	{ "by", "gpu device uuid", "comm", "each device has its own rows as it is; leave it out; of a recording: report --device NUMBER", false },
	{ "by", "library libraries owner-library framework", "comm", "memory by library is in each report, if record took stacks (--stacks=alloc); leave it out", false },
	{ "by", "line stack function site file callsite python", "comm", "where memory was allocated is in each report, if record took stacks; as flame graphs: export -f folded, or report -o run.html", false },
	{ "by", "node host machine hostname", "comm", "this is of one machine; over several: Prometheus, with what each agent serves (docs/agent.md)", false },
	{ "by", "size time", "comm", "tables are sorted by size; report --format html sorts by any column", false },
};

/* clang-format on */

const char *spelling_of_command(const char *word)
{
	size_t i;

	for (i = 0; i < sizeof(other_commands) / sizeof(*other_commands); i++)
		if (!strcmp(other_commands[i].word, word))
			return other_commands[i].instead;
	return NULL;
}

/* Whether the word is one of those, as an option's argument lists them: "text|json". */
static bool is_one_of(const char *word, const char *words)
{
	const size_t length = strlen(word);

	for (; *words; words += strcspn(words, "|, "), words += *words != '\0')
		if (strcspn(words, "|, ") == length && !strncmp(words, word, length))
			return true;
	return false;
}

const struct spelling_of_value *spelling_of_value(const char *option, const char *value,
						  const char *words)
{
	const size_t count = sizeof(other_values) / sizeof(*other_values);
	size_t i;

	for (i = 0; i < count; i++)
		if ((!other_values[i].option || !strcmp(other_values[i].option, option)) &&
		    spelling_has_word(other_values[i].values, value) &&
		    is_one_of(other_values[i].needs, words))
			return &other_values[i];
	return NULL;
}
