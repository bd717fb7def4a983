// SPDX-License-Identifier: BSD-2-Clause
#include "commands/spellings.h"

#include <stddef.h>
#include <string.h>

#define LIVE "trace record"
#define RUNNING "trace record top"
#define READING "report diff export"

#define MEANS(option, value, text) SPELLING_OPTION, option, value, text
#define REPLACED(option, value, text) SPELLING_REPLACED, option, value, text
#define FILE_OPERAND(text) SPELLING_OPERAND, NULL, NULL, text
#define ADVICE(text) SPELLING_ADVICE, NULL, NULL, text
#define ANYWAY(text) SPELLING_NOTHING, NULL, NULL, text
#define ANYWAY_VALUE(value, text) SPELLING_NOTHING, NULL, value, text

#define TRACE_STACKS "it is --stack here"
#define RECORD_STACKS "it is --stacks=alloc here"
#define NO_REPLACING \
	"a recording never takes the place of a file: remove that, or write -o run-%t.mscope"
#define ALL_CALLS "every call is seen, none is sampled; leave it out"
#define NUMBERS_OVER_TIME \
	"top is for people; for programs: memscope-bpf trace -c -i 2 --json, with the same -p or -a"
#define SELECTING "report export"
#define CHOOSING "report export who top"
#define OF_A_SERVICE \
	"write --cgroup /sys/fs/cgroup/system.slice/NAME.service, or -p \"$(systemctl show -p MainPID --value NAME)\""
#define BOUNDED "write --ring 1G: the newest events are kept, in at most so much"
#define TCPDUMP \
	"in place of -C 10 -W 5 of tcpdump write --ring 50M: the newest events are kept, in at most" \
	" so much"
#define TIME_IS_SHOWN "each line has the time anyway"
#define TOOK_IS_SHOWN "each line has how long the call took anyway"
#define LEAK_GATE "write --fail-on leak: exit code 8 if there is one"
#define COLOURS "there are colours on a terminal alone; NO_COLOR=1 turns them off"
#define HOW_TO_SELECT \
	"write --user NAME, --comm PATTERN, --cgroup PATH, --container ID, --pod NAME or --pid PID"
#define WHICH_CALLS "-e chooses among calls: -e alloc,free"

/* clang-format off */

static const struct spelling spellings[] = {
	/* Earlier versions. */
	{ "record", "--stdout", MEANS("output", "-", "it is -o - now") },
	/* One name for one thing. */
	{ "verify", "-o", ADVICE("verify writes to standard output: write > FILE, or --json for JSON") },
	{ "check", "-o", ADVICE("check writes to standard output: write > FILE, or --json for JSON") },
	{ READING, "--input", FILE_OPERAND("not needed: files are given as they are") },
	{ READING, "-i", FILE_OPERAND("not needed: files are given as they are") },
	{ READING, "--type", MEANS("format", NULL, "it is --format here") },
	{ READING, "-t", MEANS("format", NULL, "it is --format here") },
	{ READING, "--stdio", MEANS("format", "text", "it is --format text here") },
	{ READING, "--until", MEANS("to", NULL, "it is --to here") },
	{ READING, "--since-time", MEANS("from", NULL, "it is --from here") },
	{ READING, "--since", ADVICE("write --from -5m (5 minutes before the end), or --from 15:04") },
	{ READING, "--tail", ADVICE("write --from -10s: the last 10 seconds") },
	{ CHOOSING, "--where", ADVICE(HOW_TO_SELECT) },
	{ CHOOSING, "--filter", ADVICE(HOW_TO_SELECT) },
	{ CHOOSING, "--process", ADVICE("by its name: --comm train.py; by its number: --pid PID") },
	{ CHOOSING, "--name", MEANS("comm", NULL, "it is --comm here") },
	{ CHOOSING, "--script", MEANS("comm", NULL, "it is --comm here") },
	{ CHOOSING, "--uid", MEANS("user", NULL, "it is --user here") },
	{ CHOOSING, "-u", MEANS("user", NULL, "it is --user here") },
	{ "report", "--gpu", MEANS("device", NULL, "it is --device here") },
	{ READING, "--last", ADVICE("write --from -5m: the last 5 minutes") },
	{ READING, "--output-format", MEANS("format", NULL, "it is --format here") },
	{ CHOOSING, "--pids", MEANS("pid", NULL, "it is --pid here") },
	{ "report", "--sort", ADVICE("tables are sorted by size; --format html has ones that sort by any column") },
	{ "report", "-n", MEANS("top", NULL, "it is --top here: rows of each table; a namespace is --namespace NAME") },
	{ "report", "--limit", MEANS("top", NULL, "it is --top here") },
	{ "report diff", "-s", ADVICE("tables are sorted by size; --format html has ones that sort by any column") },
	{ "diff", "--sort", ADVICE("tables are sorted by size; --format html has ones that sort by any column") },
	{ SELECTING, "-l", ADVICE("labels are not recorded: write --pod NAMESPACE/NAME, --container ID or --user NAME") },
	{ "report", "-A", ADVICE("every process of the recording is in the report; for a table of pods: report --by pod") },
	{ READING, "-F", ADVICE("fields are chosen from JSON: --format json | jq") },
	{ "report", "--no-children", ADVICE("call stacks are shown whole; to draw them: --format html") },
	{ "report", "--exit-code", ADVICE(LEAK_GATE "; what a run left: --fail-on left=1M") },
	{ "diff", "--exit-code", ADVICE("write --fail-on leak,growth=10M: exit code 8 if there is a new leak, or so much more") },
	{ "report", "--max-left", ADVICE("write --fail-on left=1M") },
	{ "diff", "--threshold", ADVICE("write --fail-on growth=10M") },
	{ "record", "-S", ADVICE("write --on-signal USR1, and kill -USR1: a bundle of the newest events each time") },
	{ "record", "--snapshot", ADVICE("write --on-signal USR1, and kill -USR1: a bundle of the newest events each time") },
	{ "record", "--switch-max-files", ADVICE(BOUNDED) },
	{ "record", "--max-age", ADVICE(BOUNDED) },
	{ "record", "--leak-check", ADVICE("leaks are looked for afterwards: memscope-bpf report --fail-on leak FILE") },
	{ "check", "--leaks", ADVICE("memscope-bpf report --fail-on leak FILE looks for leaks, in a recording") },
	{ "report", "--leaks", ADVICE("leaks are in each report; --fail-on leak makes an exit code of them") },
	{ "report", "--temporal", ADVICE("--format html draws what is live over time; --at TIME is one moment") },
	{ "report", "--stats", ADVICE("each report has them; leave it out") },
	/* What bounds the disk elsewhere: perf, tcpdump, logrotate. */
	{ "record", "--max-size", ADVICE(BOUNDED) },
	{ "record", "--switch-output", ADVICE(BOUNDED) },
	{ "record", "--overwrite", ADVICE(BOUNDED) },
	{ "record", "--rotate", ADVICE(BOUNDED) },
	{ "record", "--max", ADVICE(BOUNDED) },
	{ "record", "--max-file-size", ADVICE(BOUNDED) },
	{ "record", "--size", ADVICE(BOUNDED) },
	{ "record", "--limit", ADVICE(BOUNDED) },
	{ "record", "--quota", ADVICE(BOUNDED) },
	{ "record", "--keep", ADVICE(BOUNDED) },
	{ "record", "--segments", ADVICE(BOUNDED) },
	{ "record", "--max-events", ADVICE("events are not counted off: how long is -d TIME, how much --ring SIZE") },
	{ "record", "--limit-size", ADVICE(BOUNDED) },
	{ "record", "-C", ADVICE(TCPDUMP) },
	{ "record", "-W", ADVICE(TCPDUMP) },
	{ "trace", "-W", ADVICE("of record, -C 10 -W 5 of tcpdump is --ring 50M: the newest events are kept") },
	/* One name in trace, another in record. */
	{ "record", "--stack", MEANS("stacks", "alloc", RECORD_STACKS) },
	{ "trace", "--stacks", MEANS("stack", NULL, TRACE_STACKS) },
	{ "top", "--stack", MEANS("stacks", "alloc", RECORD_STACKS) },
	{ "top", "--call-graph", REPLACED("stacks", "alloc", RECORD_STACKS) },
	{ "top", "-G", MEANS("cgroup", NULL, "it is --cgroup here") },
	{ "report", "--oom", ADVICE("who held what when memory ran out is in each report; leave it out") },
	{ "trace", "-z", ADVICE("for calls that succeeded alone: --json, and select(.result == 0) of jq") },
	/* valgrind */
	{ "report", "--leak-check", ADVICE(LEAK_GATE) },
	{ "report", "--error-exitcode", ADVICE(LEAK_GATE) },
	/* strace */
	{ "trace", "-t", ANYWAY(TIME_IS_SHOWN) },
	{ "trace", "-r", ANYWAY(TIME_IS_SHOWN) },
	{ "trace", "--absolute-timestamps", ANYWAY(TIME_IS_SHOWN) },
	{ "trace", "--relative-timestamps", ANYWAY(TIME_IS_SHOWN) },
	{ "trace", "-T", ANYWAY(TOOK_IS_SHOWN) },
	{ "trace", "--syscall-times", ANYWAY(TOOK_IS_SHOWN) },
	{ "trace", "-C", ANYWAY("the summary comes after the lines anyway") },
	{ "trace", "--summary", ANYWAY("the summary comes after the lines anyway; -c shows it alone") },
	{ "trace", "-y", ANYWAY("addresses and streams are shown anyway") },
	{ "trace", "--decode-fds", ANYWAY("addresses and streams are shown anyway") },
	{ "trace", "-s", ANYWAY_VALUE("LENGTH", "nothing is cut short anyway") },
	{ "trace", "--string-limit", ANYWAY_VALUE("LENGTH", "nothing is cut short anyway") },
	{ "trace", "-x", ANYWAY("addresses are hexadecimal anyway") },
	{ "trace", "-P", ADVICE("there are no paths in CUDA calls; by size: --min-size 1M; by call: -e alloc,free or --api NAME") },
	{ LIVE, "-ff", MEANS("follow", NULL, "it is -f here: one output has all processes, each line with its PID") },
	{ "trace", "--no-abbrev", ANYWAY("nothing is cut short anyway") },
	{ "trace", "--seccomp-bpf", ANYWAY("programs are not stopped anyway") },
	{ "trace", "-Z", ADVICE("failed calls are shown in any case; for them alone: --json | jq 'select((.result // 0) != 0)'") },
	{ "trace", "-w", ANYWAY("the times of -c are those that pass, as of strace -cw") },
	{ "trace", "--summary-wall-clock", ANYWAY("the times of -c are those that pass, as of strace -cw") },
	{ "trace", "-S", ADVICE("-c sorts by total time; leave it out") },
	{ "trace", "-k", MEANS("stack", NULL, TRACE_STACKS) },
	{ "record", "-k", MEANS("stacks", "alloc", RECORD_STACKS) },
	{ "trace", "--stack-trace", MEANS("stack", NULL, TRACE_STACKS) },
	{ "record", "--stack-trace", MEANS("stacks", "alloc", RECORD_STACKS) },
	{ LIVE, "-u", ADVICE("running processes of a user: --user NAME; to run COMMAND as another user: -- sudo -u USER COMMAND, with -f") },
	{ LIVE, "-E", ADVICE("to set a variable: -- env NAME=VALUE COMMAND") },
	{ LIVE, "--follow-forks", MEANS("follow", NULL, "it is --follow here") },
	{ LIVE, "--attach", MEANS("pid", NULL, "it is --pid here") },
	{ "record", "-e", ADVICE("all calls are recorded; --launches=off and --copies=off leave some out") },
	{ "record", "-c", ADVICE("the counts are in the report: memscope-bpf report FILE; live: trace -c; a container is --container NAME") },
	{ "record", "--json", ADVICE("a recording is not text: memscope-bpf export -f ndjson FILE, or trace --json") },
	{ "record", "--format", ADVICE("a recording has one format: memscope-bpf export makes others of it") },
	/* perf */
	{ LIVE, "-G", MEANS("cgroup", NULL, "it is --cgroup here") },
	{ "trace", "-g", MEANS("stack", NULL, TRACE_STACKS) },
	{ "record", "-g", MEANS("stacks", "alloc", RECORD_STACKS) },
	{ "trace", "--call-graph", REPLACED("stack", NULL, TRACE_STACKS) },
	{ "record", "--call-graph", REPLACED("stacks", "alloc", RECORD_STACKS) },
	{ LIVE, "-F", ADVICE(ALL_CALLS) },
	{ LIVE, "--freq", ADVICE(ALL_CALLS) },
	{ LIVE, "--all-cpus", MEANS("all", NULL, "it is --all here") },
	{ LIVE, "--for-each-cgroup", MEANS("cgroup", NULL, "it is --cgroup here") },
	{ LIVE, "-D", ADVICE("to start later: sleep 5; memscope-bpf ..., with -p PID") },
	{ LIVE, "--delay", ADVICE("to start later: sleep 5; memscope-bpf ..., with -p PID") },
	{ RUNNING, "-t", ADVICE("threads are not chosen one by one; -p PID takes their process; what is traced is CUDA in any case") },
	{ LIVE, "--tid", ADVICE("threads are not chosen one by one; -p PID takes their process") },
	{ "record", "-r", ADVICE("no priority is needed: what does not fit is counted; --buffer SIZE makes the buffers larger") },
	{ "record", "-m", ADVICE("write --buffer SIZE, in bytes: --buffer 128M") },
	{ "record", "--mmap-pages", ADVICE("write --buffer SIZE, in bytes: --buffer 128M") },
	{ "record", "-b", ADVICE("there are no branches of the processor in it; call stacks: --stacks=alloc") },
	{ "record", "-j", ADVICE("there are no branches of the processor in it; call stacks: --stacks=alloc") },
	{ "record", "-z", ADVICE("recordings are compressed anyway; leave it out") },
	{ "report", "-S", ADVICE("calls of one function: --format json | jq, or export -f csv; one program: --comm NAME") },
	{ "report", "-d", ADVICE("a device is --device NUMBER; a program is --comm NAME") },
	{ "report", "--strict", ADVICE("write --fail-on leak,oom,loss: exit code 8 if any is found, 9 if it could only not be checked") },
	{ "export", "-r", ADVICE("rows are in the order of time; with -f sqlite, ORDER BY changes that") },
	{ "diff", "-r", ADVICE("A and B are recordings, or directories of recordings; leave it out") },
	{ "diff", "-y", ADVICE("A and B stand beside each other as it is; leave it out") },
	{ "diff", "-w", ADVICE("A and B stand beside each other as it is; COLUMNS=120 is their width") },
	{ "trace", "-I", ADVICE("it is -c -i SECONDS here: perf counts milliseconds") },
	{ "trace", "--duration-filter", ADVICE("select by duration_ns of --json with jq") },
	/* memray */
	{ LIVE, "--follow-fork", MEANS("follow", NULL, "it is --follow here") },
	{ "trace", "--native", MEANS("stack", NULL, TRACE_STACKS) },
	{ "record", "--native", MEANS("stacks", "alloc", RECORD_STACKS) },
	{ LIVE, "--aggregate", ADVICE("copies and launches are summed up as it is; leave it out") },
	{ LIVE, "--live", ADVICE("trace is live; leave it out") },
	{ "record", "--force", ADVICE(NO_REPLACING) },
	{ READING, "--force", ADVICE("files are replaced as it is; leave it out") },
	/* nsys */
	{ "record", "--force-overwrite", ADVICE(NO_REPLACING) },
	{ READING, "--force-overwrite", ADVICE("files are replaced as it is; leave it out") },
	{ "trace", "--trace", ADVICE("CUDA is what is traced; " WHICH_CALLS) },
	{ "record", "--trace", ADVICE("CUDA is what is traced, all calls of it; --launches=off and --copies=off leave some out") },
	{ LIVE, "--stats", ADVICE("trace ends with a summary; of a recording: memscope-bpf report FILE") },
	{ LIVE, "--cuda-memory-usage", ADVICE("memory is what is traced; leave it out") },
	{ LIVE, "--sample", ADVICE(ALL_CALLS) },
	{ "report", "--report", ADVICE("one report has all tables; --format json | jq selects") },
	{ "report", "-r", ADVICE("one report has all tables; --format json | jq selects") },
	/* kubectl */
	{ NULL, "--namespace", ADVICE("of a pod's process, /proc/PID/cgroup has the path for --cgroup PATH") },
	{ LIVE, "-n", ADVICE("for some lines write | head -n 10; pods of a namespace: --namespace NAME") },
	{ LIVE, "-l", ADVICE("labels are not known here: write --pod NAMESPACE/NAME, --container ID or --user NAME") },
	{ LIVE, "-A", MEANS("all", NULL, "it is -a here; to append to a file, as strace -A does, write >> FILE in place of -o FILE") },
	{ LIVE, "--all-namespaces", MEANS("all", NULL, "it is -a here") },
	{ LIVE, "--name", MEANS("comm", NULL, "it is --comm here") },
	{ LIVE, "--script", MEANS("comm", NULL, "it is --comm here") },
	{ LIVE, "--uid", MEANS("user", NULL, "it is --user here") },
	{ RUNNING, "--service", ADVICE(OF_A_SERVICE) },
	{ RUNNING, "--unit", ADVICE(OF_A_SERVICE) },
	{ RUNNING, "--systemd-unit", ADVICE(OF_A_SERVICE) },
	{ "record", "--rotate-size", ADVICE(BOUNDED) },
	{ "report export", "-c", ADVICE("a container is --container NAME") },
	{ "diff", "--fail-on-regression", ADVICE("write --fail-on leak,oom,growth=10M") },
	{ LIVE, "--process", ADVICE("by its name: --comm train.py; by its number: -p PID") },
	{ RUNNING, "--device", ADVICE("all devices are traced; of a recording: report --device NUMBER") },
	{ RUNNING, "--gpu", ADVICE("all devices are traced; of a recording: report --device NUMBER") },
	{ LIVE, "--since", ADVICE("what was before is not known; of a recording: report --from TIME") },
	{ LIVE, "--watch", ADVICE("trace goes on until Ctrl-C as it is; leave it out") },
	{ LIVE, "--timeout", MEANS("duration", NULL, "it is --duration here") },
	{ "top", "--by", ADVICE("each process has a row; --sort live|growth|rate|peak|pid is their order; sums by user: memscope-bpf who --by user") },
	{ "top", "-o", ADVICE("the order is --sort live|growth|rate|peak|pid; for programs: memscope-bpf trace -c -i 2 --json, with the same -p or -a") },
	{ "top", "-c", ADVICE("each process has its program, and the script of an interpreter; for command lines: trace --cmdline; a container is --container NAME") },
	{ "top", "-i", ADVICE("processes that do not use CUDA are not shown; every 2 seconds is -d 2; leave it out") },
	{ "top", "-S", ADVICE("the order is --sort live|growth|rate|peak|pid; what ended processes held: record, and report") },
	{ "top", "--containers", ADVICE("the remarks name the container of each process; for one: --container ID") },
	{ "top", "-g", MEANS("stacks", "alloc", RECORD_STACKS) },
	{ "who", "--group-by", MEANS("by", NULL, "it is --by here") },
	{ "who", "-o", ADVICE("who writes to standard output: write > FILE, or --json for JSON") },
	{ "who", "-g", ADVICE("it traces nothing, so it has no stacks; memscope-bpf record --stacks=alloc has") },
	{ READING, "-g", ADVICE("stacks that were recorded are shown anyway: memscope-bpf record --stacks=alloc") },
	{ "diff export", "--by", ADVICE("of one recording: memscope-bpf report --by user; over days: memscope-bpf history --by user") },
	{ "report", "--group-by", MEANS("by", NULL, "it is --by here") },
	{ "diff", "-u", ADVICE("it compares all processes; of one recording: report --user NAME") },
	{ "diff", "--user", ADVICE("it compares all processes; of one recording: report --user NAME") },
	{ "history", "-u", ADVICE("write --by user; for one: --by user --json | jq") },
	{ "history", "--user", ADVICE("write --by user; for one: --by user --json | jq") },
	{ "history", "-o", ADVICE("history writes to standard output: write > FILE, or --json for JSON") },
	{ "history", "-g", ADVICE("the history has no stacks; memscope-bpf record --stacks=alloc has") },
	{ LIVE, "--fail-on", ADVICE("a report looks for it afterwards: memscope-bpf report --fail-on leak FILE") },
	/* Many programs */
	{ NULL, "--color", ADVICE(COLOURS) },
	{ NULL, "--colour", ADVICE(COLOURS) },
	{ NULL, "--no-color", ADVICE(COLOURS) },
	{ NULL, "--pager", ADVICE("write | less") },
	{ NULL, "--no-pager", ADVICE("there is none; leave it out") },
	{ NULL, "--width", ADVICE("COLUMNS=80 is 80 columns") },
	{ "trace", "--timestamps", ANYWAY(TIME_IS_SHOWN) },
	{ "check", "--all", ADVICE("check looks at the machine, and with -p at one process") },
	{ "diff", "--baseline", FILE_OPERAND("not needed: A is the first of the two files") },
	/* For those who know another command of ours. */
	{ "top", "--json", ADVICE(NUMBERS_OVER_TIME) },
	{ "top", "--format", ADVICE(NUMBERS_OVER_TIME) },
	{ "agent", "--json", ADVICE("what it serves is JSON: curl -s http://127.0.0.1:9750/api/v1/who") },
	{ "agent", "--port", ADVICE("write --listen 127.0.0.1:9999") },
	{ "agent", "-p", ADVICE("it traces all processes; one alone: memscope-bpf record -p PID") },
	{ "agent", "-a", ADVICE("it traces all processes; leave it out") },
	{ "who", "-a", ADVICE("it shows every process; leave it out") },
	{ "who", "-n", MEANS("namespace", NULL, "it is --namespace here; to look again each second: -w 1") },
	{ "who", "-c", MEANS("container", NULL, "it is --container here") },
	{ "who", "--agent", ADVICE("who looks for itself, without an agent; leave it out; what an agent knows: top --agent SOCKET") },
	{ "who", "-A", ADVICE("it shows every process; leave it out") },
	{ "who", "--all-namespaces", ADVICE("it shows every process; leave it out") },
	{ "who", "-l", ADVICE("to look again each second: -w 1; labels are not known here: write --pod NAMESPACE/NAME or --container ID") },
	{ "who", "--sort", ADVICE("by memory, the largest first; otherwise --json | jq") },
	{ "who", "--sort-by", ADVICE("by memory, the largest first; otherwise --json | jq") },
	{ "who", "--query-compute-apps", ADVICE("write --json") },
	{ "top", "--sort-by", MEANS("sort", NULL, "it is --sort here") },
	{ "top", "-H", ADVICE("each process has a row; threads: trace -v shows them") },
	{ "record", "-w", MEANS("output", NULL, "it is --output here") },
	{ "record", "--size-limit", ADVICE(BOUNDED) },
	{ "record", "--append", ADVICE(NO_REPLACING) },
	{ "record", "--error-exitcode", ADVICE("write report --fail-on leak,oom FILE afterwards") },
	{ READING, "--time", ADVICE("write --from 15:04:00 --to 15:04:30, or --from +10s --to +20s") },
	{ READING, "--start", MEANS("from", NULL, "it is --from here") },
	{ READING, "--begin", MEANS("from", NULL, "it is --from here") },
	{ READING, "--end", MEANS("to", NULL, "it is --to here") },
	{ READING, "--around", ADVICE("write --from 15:04:00 --to 15:04:30; at one moment: report --at 15:04:15") },
	{ READING, "--window", ADVICE("write --from 15:04:00 --to 15:04:30") },
	{ READING, "--duration", ADVICE("write --from +10s --to +20s") },
	{ READING, "--grep", ADVICE(HOW_TO_SELECT) },
	{ "report", "--github", ADVICE("write --format github") },
	{ "export", "--at", ADVICE("who held what at one moment: memscope-bpf report --at TIME") },
	{ "export", "--fail-on", ADVICE("write report --fail-on leak,oom FILE") },
	{ "check", "--fail-on", ADVICE("of a recording: report --fail-on leak,oom FILE") },
	{ "diff", "--brief", ADVICE("the first line says what is more; for a script: --fail-on leak,growth=10M") },
	{ "diff", "--stat", ADVICE("the first line says what is more; for a script: --json") },
	{ "trace", "--filter", ADVICE("by size: --min-size 1M; by call: -e alloc,free or --api NAME") },
	{ "trace", "--grep", ADVICE("by size: --min-size 1M; by call: -e alloc,free or --api NAME") },
	{ "trace who history check verify", "--output-format", MEANS("format", NULL, "it is --format here") },
	{ "trace", "--limit", ADVICE("for some lines write | head -n 10") },
	{ "trace", "-O", ADVICE("the cost of tracing is in the summary; leave it out") },
	{ "trace", "-U", ADVICE("the columns are those that fit; --json has all") },
	{ "trace", "-X", ADVICE("values are shown as numbers and by name; --json has all") },
	{ "record", "--dry-run", ADVICE("memscope-bpf check -p PID says what would be seen") },
	{ "record", "--daemon", ADVICE("to go on after you log out: nohup memscope-bpf record ... &, or systemd-run; always on: memscope-bpf agent") },
	{ "record", "--background", ADVICE("to go on after you log out: nohup memscope-bpf record ... &, or systemd-run; always on: memscope-bpf agent") },
	{ LIVE, "--for", MEANS("duration", NULL, "it is --duration here") },
	{ LIVE, "--time", MEANS("duration", NULL, "it is --duration here") },
	{ LIVE, "--until", ADVICE("write how long: -d 8h30m, or -d $(($(date -d 'tomorrow 06:00' +%s) - $(date +%s)))") },
	{ "record", "--interval", ADVICE("every call is recorded when it comes; sums every 2 seconds: trace -c -i 2") },
	{ "record", "--compress", ANYWAY("recordings are compressed anyway") },
	{ LIVE, "--pid-file", ADVICE("write -p \"$(cat FILE)\"") },
	{ LIVE, "--pidfile", ADVICE("write -p \"$(cat FILE)\"") },
	{ "record", "--last", ADVICE("what was before is not known; to keep the newest from now on: --ring 1G, or --ring 1G --on-signal USR1") },
	{ "record", "--trigger", ADVICE("write --on-oom, --on-exit or --on-signal USR1") },
	{ "record", "--exclude", ADVICE("write what to record: --comm PATTERN, --user NAME or --cgroup PATH; without launches: --launches=off") },
	{ "record", "--on-leak", ADVICE("a leak is found afterwards: report --fail-on leak FILE; triggers: --on-oom, --on-exit, --on-signal USR1") },
	{ LIVE, "--mem", ANYWAY("memory is what is traced anyway") },
	{ LIVE, "--memory", ANYWAY("memory is what is traced anyway") },
	{ "record", "-s", ANYWAY("each event has its thread anyway") },
	{ "record", "-T", ANYWAY("each event has its time anyway") },
	{ "record", "--timestamp", ANYWAY("each event has its time anyway") },
	{ "record", "-R", ANYWAY("all that is known of a call is recorded anyway") },
	{ "record", "-i", ADVICE("children are recorded with -f alone; leave it out") },
	{ "record", "--per-thread", ANYWAY("each event has its thread anyway") },
	{ "record", "--sample-cpu", ADVICE("where threads ran is summed up for each call; leave it out") },
	{ "report diff", "--html", MEANS("format", "html", "it is --format html here") },
	{ "report diff", "--md", MEANS("format", "md", "it is --format md here") },
	{ "report diff", "--markdown", MEANS("format", "md", "it is --format md here") },
	{ "report diff", "--text", MEANS("format", "text", "it is --format text here") },
	{ "report", "--junit", ADVICE("write --format junit -o FILE") },
	{ "report", "--leak", ADVICE("leaks are in each report; --fail-on leak makes an exit code of them") },
	{ "report", "--short", ADVICE("the first lines of a report are its summary: | head -20") },
	{ "report", "--flamegraph", ADVICE("--format html draws one, if record took stacks; for other programs: export -f folded") },
	{ "report", "--summary", ADVICE("the first lines of a report are its summary: | head -20") },
	{ "report", "--tui", ADVICE("write | less, or --format html for a browser") },
	{ "report", "--open", ADVICE("write -o run.html, and open that in a browser") },
	{ "report", "--serve", ADVICE("the page is one file: write -o run.html, and open that in a browser") },
	{ "report", "-w", ADVICE("COLUMNS=80 is 80 columns") },
	{ "report", "--peak", ADVICE("write --at peak") },
	{ "report", "--diff", ADVICE("write memscope-bpf diff A B") },
	{ "report", "--compare", ADVICE("write memscope-bpf diff A B") },
	{ "report", "--baseline", ADVICE("write memscope-bpf diff A B, where A is the baseline") },
	{ "report", "--fail-on-leak", ADVICE("write --fail-on leak") },
	{ "report", "--max-peak", ADVICE("write --fail-on peak=1G") },
	{ "report", "--max-leak", ADVICE("write --fail-on growth=10M, or --fail-on left=10M at the end") },
	{ "report", "--assert", ADVICE("write --fail-on leak,oom,loss: exit code 8 if one of these is found") },
	{ "report", "--gate", ADVICE("write --fail-on leak,oom,loss: exit code 8 if one of these is found") },
	{ "report", "--check", ADVICE("write --fail-on leak,oom,loss: exit code 8 if one of these is found") },
	{ "report", "--ci", ADVICE("write --fail-on leak,oom,loss: exit code 8 if one of these is found") },
	{ "diff", "--leaks", ADVICE("new leaks are in the first lines; --fail-on leak makes an exit code of them") },
	{ "diff", "--only-leaks", ADVICE("new leaks are in the first lines; --fail-on leak makes an exit code of them") },
	{ "diff", "--comm", ADVICE("it compares all processes, by their names; of one recording: report --comm NAME") },
	{ "diff", "--container", ADVICE("it compares all processes; of one recording: report --container ID") },
	{ "diff", "--pod", ADVICE("it compares all processes; of one recording: report --pod NAME") },
	{ "diff", "-p", ADVICE("it compares all processes; of one recording: report -p PID") },
	{ "diff", "--pid", ADVICE("it compares all processes; of one recording: report -p PID") },
	{ "diff", "-c", ADVICE("each line has both numbers and how much more it is; leave it out") },
	{ "diff", "--normalize", ADVICE("rates stand beside sums where runs take different times; leave it out") },
	{ "who", "--all", ADVICE("it shows every process; leave it out") },
	{ "who", "--device", ADVICE("each device has a table; of one: --json | jq '.devices[0]'") },
	{ "who", "--gpu", ADVICE("each device has a table; of one: --json | jq '.devices[0]'") },
	{ "who", "-d", ADVICE("each device has a table; of one: --json | jq '.devices[0]'; to look again: -w 2") },
	{ "who", "--top", ADVICE("those that hold most come first; leave it out") },
	{ "who", "--mem", ADVICE("memory is what it shows; leave it out") },
	{ "who", "-m", ADVICE("memory is what it shows; leave it out") },
	{ "who", "--once", ADVICE("it looks once; leave it out") },
	{ "who", "--interval", MEANS("watch", NULL, "it is --watch here") },
	{ "who", "--containers", ADVICE("the remarks name the container of each process; of one: --container ID") },
	{ "who", "--pods", ADVICE("the remarks name the pod of each process; of one: --pod NAME") },
	{ "who top", "--no-headers", ADVICE("for a script: who --json, or trace -c -i 2 --json") },
	{ "top", "--interval", MEANS("delay", NULL, "it is --delay here") },
	{ "top", "--refresh", MEANS("delay", NULL, "it is --delay here") },
	{ "top", "--once", MEANS("iterations", "1", "it is -n 1 here") },
	{ "top", "-1", ADVICE("each device has a line; leave it out") },
	{ "top", "-w", ADVICE("a screen is as wide as its terminal; with -b, COLUMNS=200 is 200 columns") },
	{ "top", "-E", ADVICE("sizes have their units; leave it out") },
	{ "top", "-U", MEANS("user", NULL, "it is --user here") },
	{ "who", "-i", ADVICE("each device has a table; of one: --json | jq '.devices[0]'; to look again each second: -w 1") },
	{ "check", "-a", ADVICE("check looks at the machine, and with -p at one process") },
};

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
};

/* Values of options, for those that know the value that the answer `needs`. */
static const struct spelling_of_value other_values[] = {
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
	{ "by", "size time", "comm", "tables are sorted by size; report --format html sorts by any column", false },
};

/* clang-format on */

static bool has_word(const char *words, const char *word)
{
	const size_t length = strlen(word);

	for (; *words; words += strcspn(words, " "), words += *words == ' ')
		if (strcspn(words, " ") == length && !strncmp(words, word, length))
			return true;
	return false;
}

const struct spelling *spelling_find(const char *command, const char *word)
{
	size_t i;

	for (i = 0; i < sizeof(spellings) / sizeof(*spellings); i++)
		if (!strcmp(spellings[i].word, word) &&
		    (!spellings[i].commands || has_word(spellings[i].commands, command)))
			return &spellings[i];
	return NULL;
}

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
		if (!strcmp(other_values[i].option, option) &&
		    has_word(other_values[i].values, value) &&
		    is_one_of(other_values[i].needs, words))
			return &other_values[i];
	return NULL;
}
