# SPDX-License-Identifier: BSD-2-Clause
#
# make            builds ./memscope-bpf
# make check      all tests; `make lint`, `make bench`, `make demo`, `make install`: as they say
# make fuzz       random inputs for the parsers, FUZZ_SECONDS=60 for each
# make analyze    clang's static analyser, as far as it goes; `make lint` stops sooner
# make stress     kills, floods, thousands of processes: what `make check` does in short
# V=1 shows the commands, DEBUG=1 builds without optimisation, SAN=1 with sanitizers.

VERSION := 0.1.0
DATE := 2026-11-21
ARCH := $(shell uname -m)
BPF_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(ARCH)))

CLANG ?= clang
BPFTOOL ?= bpftool
PREFIX ?= /usr/local

BUILD := build$(if $(SAN),-san)$(if $(DEBUG),-debug)
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(2)')

CFLAGS ?= $(if $(DEBUG),-O0,-O2) -g
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
comma := ,
SANITIZE := $(if $(SAN),-fsanitize=address$(comma)undefined -fno-sanitize-recover=all)
USER_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARNINGS) $(SANITIZE) \
	-DMEMSCOPE_VERSION='"$(VERSION)"' -DMEMSCOPE_DATE='"$(DATE)"' -Iuser -Ibpf -isystem $(BUILD)/bpf
USER_LDFLAGS = $(LDFLAGS) $(SANITIZE)
# One file that runs wherever glibc does.
USER_LIBS := -l:libbpf.a -l:libelf.a -l:libsqlite3.a -l:libz.a -l:libzstd.a -lm -lpthread

USER_SOURCES := $(wildcard user/*.c user/*/*.c user/*/*/*.c)
USER_OBJECTS := $(USER_SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/html/assets.o

all: memscope-bpf

include tests/simcuda/simcuda.mk

# ---- the BPF programs

BPF_SOURCES := $(wildcard bpf/*.c bpf/*.h bpf/*.def) vmlinux/$(ARCH)/vmlinux.h
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -Wall -Wextra -Werror \
	-Wno-unused-parameter -Ivmlinux/$(ARCH) -Ibpf

$(BUILD)/bpf/memscope.bpf.o: $(BPF_SOURCES)
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c bpf/memscope.bpf.c -o $@.unlinked
	$(Q)$(BPFTOOL) gen object $@ $@.unlinked

$(BUILD)/bpf/memscope.skel.h: $(BUILD)/bpf/memscope.bpf.o
	$(call say,SKEL,$@)
	$(Q)echo '// NOLINTBEGIN' > $@
	$(Q)$(BPFTOOL) gen skeleton $< name memscope_bpf >> $@
	$(Q)echo '// NOLINTEND' >> $@

# ---- user space

$(BUILD)/user/%.o: user/%.c | $(BUILD)/bpf/memscope.skel.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(USER_CFLAGS) -MD -MP -c $< -o $@

# ---- the HTML report's parts, put together and into the program

HTML_PARTS := user/render/html
HTML_SCRIPTS := $(addprefix $(HTML_PARTS)/,base.js tables.js canvas.js view.js memory.js spans.js lanes.js \
	owners.js addresses.js main.js)

$(BUILD)/html/report.js: $(HTML_SCRIPTS)
	$(Q)mkdir -p $(@D)
	$(Q)cat $^ > $@

$(BUILD)/html/report.css $(BUILD)/html/page.html: $(BUILD)/html/%: $(HTML_PARTS)/% Makefile
	$(Q)mkdir -p $(@D)
	$(Q)sed 's/@VERSION@/$(VERSION)/' $< > $@

# Nothing may be loaded, and of inline code only what has these hashes runs.
html_hash = $$(sha256sum $(1) | cut -d ' ' -f 1 | tr a-f A-F | basenc -d --base16 | base64)

$(BUILD)/html/policy: $(BUILD)/html/report.js $(BUILD)/html/report.css
	$(Q)printf "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; img-src data:; \
	base-uri 'none'; form-action 'none'" \
		"$(call html_hash,$(BUILD)/html/report.js)" "$(call html_hash,$(BUILD)/html/report.css)" > $@

$(BUILD)/html/assets.o: $(HTML_PARTS)/assets.S $(addprefix $(BUILD)/html/,page.html report.css report.js policy)
	$(call say,AS,$@)
	$(Q)$(CC) -Wa,-I$(BUILD)/html -c $< -o $@

$(BUILD)/memscope-bpf: $(USER_OBJECTS)
	$(call say,LD,$@)
	$(Q)$(CC) $(USER_LDFLAGS) $^ $(USER_LIBS) -o $@

memscope-bpf: $(BUILD)/memscope-bpf
	$(Q)cp -f $< $@

# ---- the pure layers (and of the others what needs no privileges) with sanitizers: for unit tests and fuzzing

PURE_ROOMS := base event ledger analysis timeline report
SAN_LAYERS := $(wildcard $(patsubst %,user/%/*.c,$(PURE_ROOMS) render elf store export)) user/pipeline.c user/host/device_view.c \
	$(patsubst %,user/capture/%.c,attach/detacher attach/exit_detach attach/helper attach/library \
	records/merge records/ring records/cpu_slots)
SAN_OBJECTS := $(SAN_LAYERS:%.c=$(BUILD)/sanitized/%.o) $(BUILD)/html/assets.o
SAN_LIBS := -l:libsqlite3.a -l:libz.a -l:libzstd.a -lm
# What libFuzzer watches: which branches are taken, and, where bytes of the input are compared with
# something, with what. In all other files watching comparisons only halves the speed.
SAN_COVERAGE = -fsanitize=fuzzer-no-link $(if $(findstring user/elf,$@),,-fno-sanitize-coverage=trace-cmp)
SAN_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O2 -gline-tables-only $(WARNINGS) -fsanitize=address,undefined \
	-fno-sanitize-recover=all -Iuser -Ibpf -Itests/fuzz -Itests/unit -DMEMSCOPE_VERSION='"$(VERSION)"'

$(BUILD)/sanitized/%.o: %.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(SAN_CFLAGS) $(SAN_COVERAGE) -MD -MP -c $< -o $@

# A library, so that a program has only what it uses: the fuzzer looks at all counters after each input.
$(BUILD)/sanitized/layers.a: $(SAN_OBJECTS)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# ---- unit tests

# What they test is optimised; to optimise them, too, takes longer than it saves.
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/*_test.c))

$(BUILD)/unit/%_test: tests/unit/%_test.c $(BUILD)/sanitized/layers.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(SAN_CFLAGS) -O0 -MD -MP $(filter %.c %.a,$^) -lcmocka $(SAN_LIBS) -o $@

check-unit: $(UNIT_TESTS)
	$(Q)tests/run $(UNIT_TESTS)

# ---- fuzzing: each tests/fuzz/NAME_fuzz.c is a target; docs/fuzzing.md

FUZZ_OBJECTS := $(patsubst %.c,$(BUILD)/sanitized/%.o,$(filter-out %_fuzz.c,$(wildcard tests/fuzz/*.c)))
FUZZ_TARGETS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/*_fuzz.c))

$(BUILD)/sanitized/tests/%.o: SAN_COVERAGE =

$(BUILD)/fuzz/helpers.a: $(FUZZ_OBJECTS)
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/fuzz/%_fuzz: tests/fuzz/%_fuzz.c $(BUILD)/fuzz/helpers.a $(BUILD)/sanitized/layers.a
	$(call say,FUZZER,$@)
	$(Q)$(CLANG) $(SAN_CFLAGS) $(SAN_COVERAGE) -fsanitize=fuzzer -MD -MP $(filter %.c %.a,$^) $(SAN_LIBS) -o $@

FUZZ_SECONDS ?= 60

# The committed inputs and a few more: a part of `make check`.
check-fuzz: $(FUZZ_TARGETS)
	$(Q)tests/run tests/fuzz/replay

fuzz: $(FUZZ_TARGETS)
	$(Q)BUILD=$(BUILD) tests/fuzz/run $(FUZZ_SECONDS) $(FUZZ_TARGETS)

# ---- end-to-end tests: root, BPF, the simulated CUDA

WORKLOADS := $(BUILD)/workloads
WORKLOAD_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O1 -g $(WARNINGS) -Itests/simcuda/include
WORKLOAD_PROGRAMS := $(addprefix $(WORKLOADS)/,puppet threads launches unreadable unprobed calls flood residue reuse mapped swapper \
	rows_driver rows_standin rows_refused rows_runtime-shared rows_runtime-ptds rows_runtime-static \
	rows_runtime-static-ptds)

WORKLOAD_RUNTIMES := $(filter %/rows_runtime-shared %/rows_runtime-ptds %/rows_runtime-static \
	%/rows_runtime-static-ptds,$(WORKLOAD_PROGRAMS))

$(WORKLOADS)/puppet: tests/workloads/puppet.c
$(WORKLOADS)/threads: tests/workloads/threads.c
$(WORKLOADS)/launches: tests/workloads/launches.c
$(WORKLOADS)/unreadable: tests/workloads/unreadable.c
$(WORKLOADS)/unprobed: tests/workloads/unprobed.c
$(WORKLOADS)/calls: tests/workloads/calls.c
$(WORKLOADS)/flood: tests/workloads/flood.c
$(WORKLOADS)/residue: tests/workloads/residue.c
$(WORKLOADS)/reuse: tests/workloads/reuse.c
$(WORKLOADS)/mapped: tests/workloads/mapped.c
$(WORKLOADS)/swapper: tests/workloads/swapper.c
$(WORKLOADS)/rows_driver: $(wildcard tests/workloads/rows_driver*.c) tests/workloads/rows.c
$(WORKLOADS)/rows_standin: $(wildcard tests/workloads/rows_standin*.c) tests/workloads/rows.c
$(WORKLOADS)/rows_refused: $(wildcard tests/workloads/rows_refused*.c) tests/workloads/rows.c
$(WORKLOAD_RUNTIMES): $(wildcard tests/workloads/rows_runtime*.c) tests/workloads/rows.c

$(WORKLOADS)/threads $(WORKLOADS)/launches $(WORKLOADS)/flood $(WORKLOADS)/rows_driver: WORKLOAD_LIBS = -lcuda
$(WORKLOADS)/residue: WORKLOAD_LIBS = -l:libbpf.a -l:libelf.a -l:libz.a -l:libzstd.a
$(WORKLOADS)/calls $(WORKLOADS)/rows_refused $(WORKLOAD_RUNTIMES): WORKLOAD_LIBS = -lcudart$(if $(findstring static,$@),_static)
%-ptds: WORKLOAD_DEFINES = -DCUDA_API_PER_THREAD_DEFAULT_STREAM

$(WORKLOAD_PROGRAMS): $(wildcard tests/workloads/*.h tests/simcuda/include/*.h) | simcuda
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) $(WORKLOAD_DEFINES) $(filter %.c,$^) -o $@ \
		-L$(BUILD)/simcuda $(WORKLOAD_LIBS) -pthread -ldl

# Reads dumps with the program's own parts.
$(WORKLOADS)/dumpcat: tests/workloads/dumpcat.c $(filter-out %/main.o,$(USER_OBJECTS))
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(USER_CFLAGS) $(USER_LDFLAGS) $^ $(USER_LIBS) -o $@

# Makes one, from the unit tests' records.
$(WORKLOADS)/hostile_dump: tests/workloads/hostile_dump.c $(wildcard tests/unit/*.h) \
		$(filter-out %/main.o,$(USER_OBJECTS))
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(USER_CFLAGS) -Itests/unit $(USER_LDFLAGS) $(filter %.c %.o,$^) -lcmocka $(USER_LIBS) -o $@

# Makes recordings that are to cost a reader as much as possible.
$(WORKLOADS)/crafted_dump: $(wildcard tests/workloads/crafted*.c) tests/workloads/crafted.h \
		$(wildcard tests/unit/*.h) $(filter-out %/main.o,$(USER_OBJECTS))
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(USER_CFLAGS) -Wno-missing-field-initializers -Itests/unit -Itests/workloads $(USER_LDFLAGS) \
		$(filter %.c %.o,$^) -lcmocka $(USER_LIBS) -o $@

# Only if the compiler makes jumps of its calls is it worth anything.
$(WORKLOADS)/shim.so: tests/workloads/shim.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -O2 -foptimize-sibling-calls -fPIC -shared -o $@ $< -ldl

$(WORKLOADS)/lacking.so: tests/workloads/lacking.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -fPIC -shared -o $@ $< -ldl

# They would see each other's processes and probes, and are timed. Beside them runs the one that keeps
# to files of its own, and those that record only what they start.
E2E_FILES := $(wildcard tests/e2e/*.bats)
E2E_SINGLE := tests/e2e/single.bats
E2E_READING := $(filter tests/e2e/export% %/crafted.bats %/diff.bats %/html.bats %/report.bats,$(E2E_FILES))
E2E_TESTS := $(filter-out $(E2E_SINGLE) $(E2E_READING),$(E2E_FILES)) -- $(E2E_SINGLE) -- $(E2E_READING)

E2E_DEPS := $(WORKLOAD_PROGRAMS) $(WORKLOADS)/dumpcat $(WORKLOADS)/hostile_dump $(WORKLOADS)/crafted_dump \
	$(WORKLOADS)/shim.so $(WORKLOADS)/lacking.so $(SIMCUDA_SELFTESTS) $(SIMCUDA_OUT)/libselftest-injection.so \
	$(BUILD)/event.schema.json $(BUILD)/report.schema.json $(BUILD)/bench/dumps simcuda-varied

check-e2e-deps: memscope-bpf docs $(E2E_DEPS)

check-e2e: check-e2e-deps
	$(Q)BUILD=$(BUILD) tests/run $(E2E_TESTS)

# What asks how many or for a stride is done in short by `make check`.
STRESS_E2E := $(shell grep -lE '(times|stride) [0-9]+' tests/e2e/*.bats)
STRESS_UNIT := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(shell grep -l unit_stride tests/unit/*_test.c))

stress: memscope-bpf $(E2E_DEPS) $(STRESS_UNIT) $(FUZZ_TARGETS)
	$(Q)STRESS=1 BUILD=$(BUILD) tests/run $(STRESS_E2E) -- $(STRESS_UNIT) tests/fuzz/replay

# Other kernels than this machine's, emulated. Beginnings of versions, or "newest".
export KERNELS ?= 5.10 6.1 6.12 6.17 newest

check-kernels:
	$(Q)tools/install-deps kernels
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) check-e2e-deps
	$(Q)BUILD=$(BUILD) tests/run tests/kernels/run

# ---- everything, on a fresh machine too

check check-fuzz demo: export BUILD := $(BUILD)

check:
	$(Q)tools/install-deps test
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) check-e2e-deps
	$(Q)tests/run $(E2E_TESTS) -- make:check-deps $(UNIT_TESTS) tests/bpf-stack tests/fuzz/replay -- make:lint

check-deps: check-e2e-deps $(UNIT_TESTS) $(FUZZ_TARGETS)

demo:
	$(Q)tools/install-deps demo
	$(Q)$(MAKE) --no-print-directory memscope-bpf simcuda
	$(Q)tools/demo

# ---- lint

C_FILES = $(shell git ls-files '*.c' '*.h' | grep -v '^vmlinux/')
SHELL_FILES = .ci/run vmlinux/generate tests/run \
	$(addprefix tests/,$(addprefix kernels/,run init guest version) fuzz/run fuzz/replay) \
	$(addprefix tests/simcuda/,check-exports gen-exports list-driver-names list-proc-versions) \
	$(addprefix tools/,install-deps check-layers completion.bash demo terminal-picture) \
	$(addprefix tools/bench/,mapping report export)

# clang-format breaks code after 100 columns, but no comments: lines of theirs, and those behind code.
define long_comments
awk 'FNR == 1 || /clang-format on/ { table = 0 } /clang-format off/ { table = 1 } \
	!table && (/^[ \t]*(\*|\/\/)/ || /^[^"]*\/\*/) { gsub("\t", "        "); \
		if (length > 100) { print FILENAME ":" FNR ": " length " columns"; bad = 1 } } \
	END { exit bad }'
endef

# $1: flags for clang. How many states of a function are looked at is a matter of minutes.
define tidy
	$(call say,LINT,clang-tidy)
	$(Q)printf '%s\n' $(USER_SOURCES) | \
		xargs -P $$(nproc) -I {} clang-tidy --quiet {} -- $(USER_CFLAGS) $1
endef

lint: $(BUILD)/bpf/memscope.skel.h
	$(call say,LINT,clang-format)
	$(Q)clang-format --dry-run -Werror $(C_FILES)
	$(call say,LINT,comments)
	$(Q)$(long_comments) $(C_FILES)
	$(call say,LINT,shellcheck)
	$(Q)shellcheck $(SHELL_FILES)
	$(Q)shellcheck --shell=bats --include=SC2314,SC2315 tests/*/*.bats
	$(call tidy,-Xclang -analyzer-config -Xclang max-nodes=20000)
	$(call say,LINT,layers)
	$(Q)tools/check-layers

analyze: $(BUILD)/bpf/memscope.skel.h
	$(call tidy)

# ---- benchmark

BENCH_PROLOGUE := -O2 -fcf-protection=none -fno-shrink-wrap

$(BUILD)/bench/libtarget.so: tools/bench/target_api.c tools/bench/target_api.h
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) $(BENCH_PROLOGUE) -fPIC -shared $< -o $@

$(BUILD)/bench/libinterposer.so: tools/bench/interposer.c tools/bench/target_api.h
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O2 -fPIC -shared $< -o $@

$(BUILD)/bench/target: tools/bench/target.c tools/bench/target.h $(BUILD)/bench/libtarget.so
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O2 $(filter %.c %.so,$^) \
		-Wl,-rpath,'$$ORIGIN' -o $@

$(BUILD)/bench/reference.skel.h: tools/bench/reference.bpf.c vmlinux/$(ARCH)/vmlinux.h
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $(BUILD)/bench/reference.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $(BUILD)/bench/reference.bpf.o > $@

BENCH_SOURCES := $(addprefix tools/bench/,bench.c targets.c tool.c tracers.c peers.c calls.c attach.c \
	consumer.c rates.c record.c)

$(BUILD)/bench/bench: $(BENCH_SOURCES) $(wildcard tools/bench/*.h) $(BUILD)/bench/reference.skel.h \
		$(filter-out %/main.o,$(USER_OBJECTS))
	$(call say,LD,$@)
	$(Q)$(CC) $(USER_CFLAGS) -isystem $(BUILD)/bench -Itools/bench $(filter %.c %.o,$^) $(USER_LIBS) -o $@

# The account alone needs neither root nor BPF.
BENCH_LEDGER_LAYERS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(patsubst %,user/%/*.c,$(PURE_ROOMS)))) \
	$(BUILD)/user/pipeline.o

$(BUILD)/bench/ledger: tools/bench/ledger.c tools/bench/quantile.h $(BENCH_LEDGER_LAYERS)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(USER_CFLAGS) -Itools/bench $(filter %.c %.o,$^) -o $@

# Dumps of any size, of which `report` is timed: 3 million events/s and more on one core, in the same
# memory however many there are.
BENCH_DUMP_LAYERS := $(BENCH_LEDGER_LAYERS) $(patsubst %.c,$(BUILD)/%.o,$(wildcard user/store/*.c))
DUMP_EVENTS ?= 1000000 10000000

$(BUILD)/bench/dumps: tools/bench/dumps.c $(BENCH_DUMP_LAYERS)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(USER_CFLAGS) $(filter %.c %.o,$^) -l:libzstd.a -o $@

bench-report: memscope-bpf $(BUILD)/bench/dumps
	$(Q)tools/bench/report $(BUILD)/bench ./memscope-bpf $(DUMP_EVENTS)

# The largest that is promised: DUMP_EVENTS="1000000 10000000 100000000". It takes much room on the disk.
bench-export: memscope-bpf $(BUILD)/bench/dumps
	$(Q)tools/bench/export $(BUILD)/bench ./memscope-bpf $(DUMP_EVENTS)

bench-ledger: $(BUILD)/bench/ledger
	$(Q)$<

BENCH_DEPS := memscope-bpf $(addprefix $(BUILD)/bench/,bench target libinterposer.so) \
	$(BUILD)/simcuda/libcuda.so.1

# What nobody builds breaks.
check-deps: $(BENCH_DEPS) $(BUILD)/bench/ledger $(BUILD)/bench/dumps

# ROUNDS=5 TABLES="calls attach" makes it shorter. What it compares with is installed by
# `tools/install-deps bench`; without it, rows are left out.
bench: $(BENCH_DEPS) $(if $(TABLES),,bench-ledger)
	$(Q)$(BUILD)/bench/bench $(BUILD)/bench ./memscope-bpf $(BUILD)/simcuda/libcuda.so.1 \
		$(or $(ROUNDS),15) $(TABLES)

# ---- man pages, completion and the JSON Schema, made from the tables

COMMANDS := $(shell sed -n 's/^\t&\([a-z]*\)_command,/\1/p' user/commands/commands.c)
MAN_PAGES := $(BUILD)/man/memscope-bpf.1 $(COMMANDS:%=$(BUILD)/man/memscope-bpf-%.1)

$(BUILD)/mkdocs: tools/mkdocs.c $(filter-out %/main.o,$(USER_OBJECTS))
	$(call say,LD,$@)
	$(Q)$(CC) $(USER_CFLAGS) $(USER_LDFLAGS) $^ $(USER_LIBS) -o $@

$(BUILD)/man/memscope-bpf.1: $(BUILD)/mkdocs
	$(Q)mkdir -p $(@D)
	$(Q)$< man > $@

$(BUILD)/man/memscope-bpf-%.1: $(BUILD)/mkdocs
	$(Q)mkdir -p $(@D)
	$(Q)$< man $* > $@

$(BUILD)/memscope-bpf.bash: $(BUILD)/mkdocs tools/completion.bash
	$(Q)($< completion && cat tools/completion.bash) > $@

docs: $(MAN_PAGES) $(BUILD)/memscope-bpf.bash

# Calls, spaces and counters come from tables, the rest of the schemas is written by hand.
$(BUILD)/%.schema.json: docs/%.schema.in.json tools/schema.jq $(BUILD)/mkdocs
	$(Q)$(BUILD)/mkdocs schema | jq --slurpfile rest $< --from-file tools/schema.jq > $@

schema: $(BUILD)/event.schema.json $(BUILD)/report.schema.json
	$(Q)cp $^ docs

# ---- installation

install: memscope-bpf docs
	install -D -m 755 memscope-bpf $(DESTDIR)$(PREFIX)/bin/memscope-bpf
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(MAN_PAGES) $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 $(BUILD)/memscope-bpf.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/memscope-bpf

clean:
	rm -rf build build-san build-debug build-san-debug memscope-bpf

.PHONY: all analyze clean check check-deps check-unit check-kernels check-fuzz check-e2e check-e2e-deps demo fuzz lint docs schema install bench stress bench-ledger bench-report bench-export
.DELETE_ON_ERROR:
.SECONDARY: $(SAN_OBJECTS) $(FUZZ_OBJECTS) $(BUILD)/sanitized/layers.a $(BUILD)/fuzz/helpers.a

-include $(USER_OBJECTS:.o=.d) $(SAN_OBJECTS:.o=.d) $(UNIT_TESTS:=.d) \
	$(FUZZ_OBJECTS:.o=.d) $(FUZZ_TARGETS:=.d)
