# SPDX-License-Identifier: BSD-2-Clause
#
# The benchmarks: of the tool's overhead and of its rivals', of the account, of reading recordings. Included
# by the top-level Makefile, whose objects they use.

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

BENCH_SOURCES := $(addprefix tools/bench/,bench.c targets.c tool.c tracers.c peers.c calls.c attach.c first.c \
	consumer.c rates.c record.c)

$(BUILD)/bench/bench: $(BENCH_SOURCES) $(wildcard tools/bench/*.h) $(BUILD)/bench/reference.skel.h \
		$(filter-out %/main.o,$(USER_OBJECTS))
	$(call say,LD,$@)
	$(Q)$(CC) $(USER_CFLAGS) -isystem $(BUILD)/bench -Itools/bench $(filter %.c %.o,$^) $(USER_LIBS) -o $@

# Needs as much free memory as it asks about. CUPTI's times: of the simulated one.
$(BUILD)/bench/placement: tools/bench/placement.c $(addprefix $(BUILD)/user/,base/clock.o host/page_nodes.o)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(USER_CFLAGS) $(filter %.c %.o,$^) -o $@

bench-host: memscope-bpf simcuda simcupti $(addprefix $(BUILD)/workloads/,gpu_work waits puppet) $(BUILD)/bench/placement
	$(Q)$(BUILD)/bench/placement
	$(Q)tools/bench/looks $(BUILD)/workloads ./memscope-bpf $(BUILD)/simcuda
	$(Q)tools/bench/switches $(BUILD)/workloads ./memscope-bpf $(BUILD)/simcuda
	$(Q)tools/bench/gpu_times $(BUILD) ./memscope-bpf

# What the probe of ioctl() costs, beside an empty pair of tracepoints.
$(BUILD)/bench/ioctls: tools/bench/ioctls.c $(BUILD)/bench/reference.skel.h $(BUILD)/user/base/clock.o
	$(call say,LD,$@)
	$(Q)$(CC) $(USER_CFLAGS) -isystem $(BUILD)/bench $(filter %.c %.o,$^) $(USER_LIBS) -o $@

bench-ioctls: memscope-bpf $(BUILD)/bench/ioctls $(BUILD)/workloads/simnv-devices
	$(Q)$(BUILD)/bench/ioctls ./memscope-bpf $(BUILD)/workloads/simnv-devices $(or $(ROUNDS),15)

# What the record of a tensor costs, beside an empty uprobe.
$(BUILD)/bench/tensors: tools/bench/tensors.c $(BUILD)/bench/reference.skel.h $(BUILD)/user/base/clock.o
	$(call say,LD,$@)
	$(Q)$(CC) $(USER_CFLAGS) -isystem $(BUILD)/bench $(filter %.c %.o,$^) $(USER_LIBS) -o $@

bench-tensors: memscope-bpf simcuda $(BUILD)/bench/tensors $(BUILD)/workloads/libc10.so
	$(Q)$(BUILD)/bench/tensors ./memscope-bpf $(CURDIR)/$(BUILD)/workloads/libc10.so $(CURDIR)/$(BUILD)/simcuda/libcuda.so.1 $(or $(ROUNDS),7)

# The account alone needs neither root nor BPF.
BENCH_LEDGER_LAYERS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(patsubst %,user/%/*.c,$(PURE_ROOMS)))) \
	$(BUILD)/user/pipeline.o

$(BUILD)/bench/ledger: tools/bench/ledger.c tools/bench/quantile.h $(BENCH_LEDGER_LAYERS)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(USER_CFLAGS) -Itools/bench $(filter %.c %.o,$^) -l:libsupc++.a -lm -o $@

# Dumps of any size, of which `report` is timed: 3 million events/s and more on one core, in the same
# memory however many there are.
BENCH_DUMP_LAYERS := $(BENCH_LEDGER_LAYERS) $(patsubst %.c,$(BUILD)/%.o,$(wildcard user/store/*.c))
DUMP_EVENTS ?= 1000000 10000000

$(BUILD)/bench/dumps: tools/bench/dumps.c $(BENCH_DUMP_LAYERS)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(USER_CFLAGS) $(filter %.c %.o,$^) -l:libzstd.a -l:libsupc++.a -lm -o $@

bench-report: memscope-bpf $(BUILD)/bench/dumps
	$(Q)tools/bench/report $(BUILD)/bench ./memscope-bpf $(DUMP_EVENTS)

# The largest that is promised: DUMP_EVENTS="1000000 10000000 100000000". It takes much room on the disk.
bench-export: memscope-bpf $(BUILD)/bench/dumps
	$(Q)tools/bench/export $(BUILD)/bench ./memscope-bpf $(DUMP_EVENTS)

# The history of a year, for nodes on which 100 processes run a day, or all the time.
$(BUILD)/bench/history: tools/bench/history.c tools/bench/quantile.h \
		$(patsubst %.c,$(BUILD)/%.o,$(wildcard user/base/*.c user/history/*.c))
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(USER_CFLAGS) -Itools/bench $(filter %.c %.o,$^) -l:libsqlite3.a -l:libsupc++.a -lm -lpthread -o $@

bench-history: $(BUILD)/bench/history
	$(Q)rm -rf $(BUILD)/bench/year && mkdir -p $(BUILD)/bench/year/some $(BUILD)/bench/year/always
	$(Q)$< $(BUILD)/bench/year/some 100 380
	$(Q)$< $(BUILD)/bench/year/always 100 380 always
	$(Q)rm -rf $(BUILD)/bench/year

# What the agent's budget keeps, by the clocks of programs that call at various rates: six minutes. BUDGET=1%
$(BUILD)/bench/paced: tools/bench/paced.c tests/simcuda/include/simcuda.h $(BUILD)/simcuda/libcuda.so.1
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O2 -Itests/simcuda/include $(filter %.c %.so.1,$^) -o $@

bench-budget: memscope-bpf $(BUILD)/bench/paced
	$(Q)tools/bench/budget $(BUILD)/bench ./memscope-bpf $(BUILD)/simcuda $(or $(BUDGET),0.5%) $(SECONDS)

# What an agent takes: memory, CPU time, latency, bytes. Two minutes.
bench-agent: memscope-bpf $(BUILD)/workloads/puppet
	$(Q)tools/bench/agent $(BUILD)/workloads ./memscope-bpf $(BUILD)/simcuda

# How long clients of the agent's socket wait for totals while a million allocations are live: eight minutes.
$(BUILD)/bench/holding: tools/bench/holding.c tests/simcuda/include/simcuda.h $(BUILD)/simcuda/libcuda.so.1
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O2 -Itests/simcuda/include $(filter %.c %.so.1,$^) -pthread -o $@

$(BUILD)/bench/asking: tools/bench/asking.c tools/bench/quantile.h
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O2 -Itools/bench $(filter %.c,$^) -o $@

bench-clients: memscope-bpf $(BUILD)/bench/holding $(BUILD)/bench/asking
	$(Q)tools/bench/clients $(BUILD)/bench ./memscope-bpf $(BUILD)/simcuda $(or $(SECONDS),10) $(or $(CLIENTS),128)

# What months do to the agent, in short: SOAK_MINUTES=60 SOAK_RATE=10
soak: memscope-bpf $(addprefix $(BUILD)/workloads/,puppet exhaust flood) $(BUILD)/simcuda/libcuda.so.1
	$(Q)tools/bench/soak $(BUILD)/workloads ./memscope-bpf $(BUILD)/simcuda $(or $(SOAK_MINUTES),3) $(SOAK_RATE)

bench-ledger: $(BUILD)/bench/ledger
	$(Q)$<

BENCH_DEPS := memscope-bpf $(addprefix $(BUILD)/bench/,bench target libinterposer.so) \
	$(BUILD)/simcuda/libcuda.so.1

# What nobody builds breaks.
check-deps: $(BENCH_DEPS) $(BUILD)/bench/ledger $(BUILD)/bench/history $(BUILD)/bench/dumps $(BUILD)/bench/paced $(BUILD)/bench/ioctls \
	$(BUILD)/bench/holding $(BUILD)/bench/asking

# ROUNDS=5 TABLES="calls attach" makes it shorter. What it compares with is installed by
# `tools/install-deps bench`; without it, rows are left out.
bench: $(BENCH_DEPS) $(if $(TABLES),,bench-agent bench-ledger bench-ioctls bench-stacks)
	$(Q)$(BUILD)/bench/bench $(BUILD)/bench ./memscope-bpf $(BUILD)/simcuda/libcuda.so.1 \
		$(or $(ROUNDS),15) $(TABLES)

.PHONY: bench bench-agent bench-budget bench-clients bench-ioctls bench-tensors soak bench-history bench-host bench-ledger bench-report bench-export

# What call stacks cost; STACK_FILES: from which tables are made, too.
STACK_FILES ?= $(realpath /lib/x86_64-linux-gnu/libc.so.6 /usr/lib/x86_64-linux-gnu/libstdc++.so.6 \
	/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1)

$(BUILD)/bench/stack_target: tools/bench/stack_target.c | simcuda
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O2 -Itests/simcuda/include $< -o $@ -L$(BUILD)/simcuda -lcuda

$(BUILD)/bench/unwind_tables: tools/bench/unwind_tables.c $(filter-out %/main.o,$(USER_OBJECTS))
	$(call say,LD,$@)
	$(Q)$(CC) $(USER_CFLAGS) $(USER_LDFLAGS) $^ $(USER_LIBS) -o $@

bench-stacks: memscope-bpf $(BUILD)/bench/stack_target $(BUILD)/bench/unwind_tables
	$(Q)tools/bench/stacks $(BUILD) ./memscope-bpf $(STACK_FILES)

.PHONY: bench-stacks
