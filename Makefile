# SPDX-License-Identifier: BSD-2-Clause
#
# make            builds ./memscope-bpf
# make check      all tests; `make lint`, `make bench`, `make demo`, `make install`: as they say
# make deb        a Debian package of it
# make fuzz       random inputs for the parsers, FUZZ_SECONDS=60 for each
# make analyze    clang's static analyser, as far as it goes; `make lint` stops sooner
# make soak       what months do to the agent, in SOAK_MINUTES=3 (SOAK_RATE=10: processes a second)
# make check-long what takes minutes and is done in short by `make check`
# make stress     kills, floods, all of what has very many cases: what `make check` does in short
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
# Of the C++ library, what demangles names.
USER_LIBS := -l:libbpf.a -l:libelf.a -l:libsqlite3.a -l:libz.a -l:libzstd.a -l:libsupc++.a -lm -lpthread

NVTX_SOURCES := user/inject/nvtx.c
INJECT_SOURCES := $(filter-out $(NVTX_SOURCES),$(wildcard user/inject/*.c))
USER_SOURCES := $(filter-out $(INJECT_SOURCES) $(NVTX_SOURCES),$(wildcard user/*.c user/*/*.c user/*/*/*.c))
USER_OBJECTS := $(USER_SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/html/assets.o $(BUILD)/agent/page.o

# What commands load, if that is asked for (user/inject).
INJECTED := libmemscope-cupti.so libmemscope-nvtx.so

all: memscope-bpf $(INJECTED)

include tests/simcuda/simcuda.mk
include tests/simnv/simnv.mk
include tests/simcupti/simcupti.mk

# ---- the BPF programs

BPF_SOURCES := $(wildcard bpf/*.c bpf/*.h bpf/*.def) vmlinux/$(ARCH)/vmlinux.h
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -Wall -Wextra -Werror \
	-Wno-unused-parameter -Ivmlinux/$(ARCH) -Ibpf

SKELETONS := $(patsubst bpf/%.bpf.c,$(BUILD)/bpf/%.skel.h,$(wildcard bpf/*.bpf.c))
.SECONDARY: $(SKELETONS:.skel.h=.bpf.o)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(BPF_SOURCES)
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@.unlinked
	$(Q)$(BPFTOOL) gen object $@ $@.unlinked

$(BUILD)/bpf/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)echo '// NOLINTBEGIN' > $@
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf >> $@
	$(Q)echo '// NOLINTEND' >> $@

# ---- the library that --markers=inject loads into a command: with nothing of ours but layouts, and
# of others nothing but libc. Its one probed function begins with a push, which the kernel emulates.

NVTX_CFLAGS = -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden -fno-omit-frame-pointer \
	$(if $(filter x86_64,$(ARCH)),-fcf-protection=none) $(WARNINGS) -Ibpf

$(BUILD)/libmemscope-nvtx.so: $(NVTX_SOURCES) bpf/abi.h bpf/marker_abi.h
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(NVTX_CFLAGS) -shared -Wl,-z,nodelete,-z,relro,-z,now,-Bsymbolic,--as-needed $(NVTX_SOURCES) -o $@

libmemscope-nvtx.so: $(BUILD)/libmemscope-nvtx.so
	$(Q)cp -f $< $@

# ---- user space

$(BUILD)/user/%.o: user/%.c | $(SKELETONS)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(USER_CFLAGS) -MD -MP -c $< -o $@

# ---- the library that --gpu-time loads into a command: with nothing of ours but layouts, and of
# others nothing but libc. Its one probed function begins with a push, which the kernel emulates.

INJECT_CFLAGS = -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden -fno-omit-frame-pointer \
	$(if $(filter x86_64,$(ARCH)),-fcf-protection=none) $(WARNINGS) -Iuser -Ibpf
INJECT_OBJECTS := $(INJECT_SOURCES:%.c=$(BUILD)/%.o)

$(INJECT_OBJECTS): $(BUILD)/%.o: %.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(INJECT_CFLAGS) -MD -MP -c $< -o $@

$(BUILD)/libmemscope-cupti.so: $(INJECT_OBJECTS)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-z,nodelete,-z,relro,-z,now,-Bsymbolic,--as-needed -pthread $^ -ldl -o $@

libmemscope-cupti.so: $(BUILD)/libmemscope-cupti.so
	$(Q)cp -f $< $@

# ---- the HTML report's parts, put together and into the program

HTML_PARTS := user/render/html
HTML_SCRIPTS := $(addprefix $(HTML_PARTS)/,base.js tables.js canvas.js view.js memory.js held.js spans.js lanes.js \
	owners.js sites.js addresses.js sides.js main.js)

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

# ---- the agent's page

$(BUILD)/agent/page.o: $(addprefix user/agent/page/,assets.S page.html page.css page.js)
	$(call say,AS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -Wa,-Iuser/agent/page -c $< -o $@

$(BUILD)/memscope-bpf: $(USER_OBJECTS)
	$(call say,LD,$@)
	$(Q)$(CC) $(USER_LDFLAGS) $^ $(USER_LIBS) -o $@

memscope-bpf: $(BUILD)/memscope-bpf
	$(Q)cp -f $< $@

include tests/tests.mk

include tools/bench/bench.mk

# ---- a demonstration

demo:
	$(Q)tools/install-deps demo
	$(Q)$(MAKE) --no-print-directory -j"$$(nproc)" memscope-bpf simcuda
	$(Q)BUILD=$(BUILD) tools/demo

# ---- lint

C_FILES = $(shell git ls-files '*.c' '*.h' | grep -v '^vmlinux/')
SHELL_FILES = .ci/run vmlinux/generate tests/run \
	$(addprefix tests/,$(addprefix kernels/,run init guest version) fuzz/run fuzz/replay) \
	$(addprefix tests/torch/,set-up old-runtime torch.bash) tests/frameworks/set-up \
	$(addprefix tests/simcuda/,check-exports gen-exports list-driver-names list-proc-versions) \
	$(addprefix tools/,install-deps check-layers check-sizes completion.bash demo terminal-picture deb) \
	$(addprefix tools/bench/,mapping report export budget soak)

# clang-format breaks code after 100 columns, but no comments: lines of theirs, and those behind code.
define long_comments
awk 'FNR == 1 || /clang-format on/ { table = 0 } /clang-format off/ { table = 1 } \
	!table && (/^[ \t]*(\*|\/\/)/ || /^[^"]*\/\*/) { gsub("\t", "        "); \
		if (length > 100) { print FILENAME ":" FNR ": " length " columns"; bad = 1 } } \
	END { exit bad }'
endef

# A file is looked at again if its object is newer than the note that it was: then it or a header is, too.
# $1: flags for clang, $2: which notes are made.
define tidy
	$(call say,TIDY,$*.c)
	$(Q)mkdir -p $(sort $(dir $2))
	$(Q)clang-tidy --quiet $*.c -- $(USER_CFLAGS) $1
	$(Q)touch $2
endef

# How many states of a function are looked at is a matter of minutes.
$(BUILD)/tidied/%: $(BUILD)/%.o .clang-tidy
	$(call tidy,-Xclang -analyzer-config -Xclang max-nodes=5000,$@)

# Where all of them were, fewer need not be.
$(BUILD)/analyzed/%: $(BUILD)/%.o .clang-tidy
	$(call tidy,,$@ $(BUILD)/tidied/$*)

TIDY_NAMES := $(patsubst %.c,%,$(USER_SOURCES) $(INJECT_SOURCES) $(NVTX_SOURCES))
$(NVTX_SOURCES:%.c=$(BUILD)/tidied/%) $(NVTX_SOURCES:%.c=$(BUILD)/analyzed/%): $(BUILD)/libmemscope-nvtx.so
.SECONDARY: $(NVTX_SOURCES:%.c=$(BUILD)/%.o)

analyze: $(TIDY_NAMES:%=$(BUILD)/analyzed/%)

lint: $(TIDY_NAMES:%=$(BUILD)/tidied/%)
	$(call say,LINT,clang-format)
	$(Q)clang-format --dry-run -Werror $(C_FILES)
	$(call say,LINT,comments)
	$(Q)$(long_comments) $(C_FILES)
	$(call say,LINT,shellcheck)
	$(Q)shellcheck $(SHELL_FILES)
	$(Q)shellcheck --shell=bats --include=SC2314,SC2315 tests/*/*.bats
	$(call say,LINT,layers)
	$(Q)tools/check-layers
	$(call say,LINT,layouts)
	$(Q)tools/check-layouts
	$(call say,LINT,sizes)
	$(Q)tools/check-sizes

# ---- man pages, completion and the JSON Schema, made from the tables

COMMANDS := $(shell sed -n 's/^\t&\([a-z]*\)_command,/\1/p' user/commands/commands.c)
MAN_PAGES := $(BUILD)/man/memscope-bpf.1 $(COMMANDS:%=$(BUILD)/man/memscope-bpf-%.1)

$(BUILD)/mkdocs: tools/mkdocs.c tools/mkdocs_schema.c $(filter-out %/main.o,$(USER_OBJECTS))
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

schema: $(addprefix $(BUILD)/,event.schema.json report.schema.json who.schema.json agent-who.schema.json)
	$(Q)cp $^ docs

# ---- installation

install: memscope-bpf $(INJECTED) docs
	install -D -m 755 memscope-bpf $(DESTDIR)$(PREFIX)/bin/memscope-bpf
	install -d $(DESTDIR)$(PREFIX)/lib/memscope-bpf
	install -m 644 $(INJECTED) $(DESTDIR)$(PREFIX)/lib/memscope-bpf
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(MAN_PAGES) $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 $(BUILD)/memscope-bpf.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/memscope-bpf

# A package for Debian and Ubuntu, of the machine's own kind.
deb: memscope-bpf $(INJECTED) docs
	$(Q)rm -rf $(BUILD)/deb
	$(Q)$(MAKE) --no-print-directory install DESTDIR=$(abspath $(BUILD)/deb) PREFIX=/usr > /dev/null
	$(Q)tools/deb $(BUILD) $(VERSION) $(DATE)

clean:
	rm -rf build build-san build-debug build-san-debug memscope-bpf $(INJECTED)

.PHONY: all analyze clean deb demo lint docs schema install
.DELETE_ON_ERROR:

-include $(USER_OBJECTS:.o=.d) $(INJECT_OBJECTS:.o=.d)
