# SPDX-License-Identifier: BSD-2-Clause
#
# What is tested, with what, and beside what: unit tests, fuzzing, end-to-end tests, other kernels; all
# of them, and all of them at length. Included by the top-level Makefile, whose objects they use.

# ---- the pure layers (and of the others what needs no privileges) with sanitizers: for unit tests and fuzzing

PURE_ROOMS := base event ledger analysis timeline report
SAN_LAYERS := $(wildcard $(patsubst %,user/%/*.c,$(PURE_ROOMS) history host render elf store export symbols top)) user/pipeline.c \
	$(patsubst %,user/capture/%.c,attach/detacher attach/exit_detach attach/helper attach/library attach/plain_files attach/jump_targets attach/kept_functions attach/wanted_names attach/marker_rows \
	attach/who_layout file_cache file_makers stacks/stack_ids stacks/frame_ids targets/policy targets/known_libraries records/identity_record records/whos records/merge records/ring records/cpu_slots) \
	$(patsubst %,user/agent/%.c,request listener channel notify http_clients bundles costs governor history_sampler history_events history_names history_used held_sum \
	push_target push_protocol push_queue push_file push_client push_body keeper broker web_config web_yaml web_auth web_tls thresholds books nvml_watch who_json limits_json http_answers http_audit http_library)
SAN_OBJECTS := $(SAN_LAYERS:%.c=$(BUILD)/sanitized/%.o) $(BUILD)/html/assets.o
SAN_LIBS := -l:libsqlite3.a -l:libz.a -l:libzstd.a -l:libsupc++.a -lm
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

# What they test is optimised; to optimise them, too, takes longer than it saves. Two hundred programs
# with all of the sanitizers' library are most of the work of making them: lld halves it. The build ID is
# as ld's, which tests look at.
SAN_LINKER := $(if $(shell command -v ld.lld),-fuse-ld=lld -Wl$(comma)--threads=1$(comma)--build-id=sha1)
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/*_test.c))

$(BUILD)/unit/%_test: tests/unit/%_test.c $(BUILD)/sanitized/layers.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(SAN_CFLAGS) $(SAN_LINKER) -O0 -MD -MP $< $(filter %.a,$^) -lcmocka $(SAN_LIBS) -o $@

check-unit: $(UNIT_TESTS)
	$(Q)tests/run $(UNIT_TESTS)

# The frames of all interpreters that are to be found here, or of those that PYTHONS names.
PYTHON_MINORS := 8 9 10 11 12 13 14
PYTHONS ?= $(wildcard $(foreach minor,$(PYTHON_MINORS),/usr/bin/python3.$(minor) /usr/local/bin/python3.$(minor) \
	$(HOME)/.pyenv/versions/3.$(minor).*/bin/python3))

check-pythons: $(BUILD)/unit/python_process_test memscope-bpf simcuda $(WORKLOADS)/native_thread.so
	$(Q)PYTHONS="$(PYTHONS)" tests/run $(BUILD)/unit/python_process_test
	$(Q)[ $$(id -u) -ne 0 ] || PYTHONS="$(PYTHONS)" BUILD=$(BUILD) tests/run tests/e2e/python.bats
	$(Q)for minor in $(PYTHON_MINORS); do case " $(PYTHONS) " in *3.$$minor[./\ ]*) echo "checked: 3.$$minor" ;; \
		*) echo "skipped: no Python 3.$$minor here" ;; esac; done

# ---- fuzzing: each tests/fuzz/NAME_fuzz.c is a target; docs/fuzzing.md

FUZZ_OBJECTS := $(patsubst %.c,$(BUILD)/sanitized/%.o,$(filter-out %_fuzz.c,$(wildcard tests/fuzz/*.c)))
FUZZ_TARGETS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/*_fuzz.c))

$(BUILD)/sanitized/tests/%.o: SAN_COVERAGE =

$(BUILD)/fuzz/helpers.a: $(FUZZ_OBJECTS)
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/fuzz/%_fuzz: tests/fuzz/%_fuzz.c $(BUILD)/fuzz/helpers.a $(BUILD)/sanitized/layers.a
	$(call say,FUZZER,$@)
	$(Q)$(CLANG) $(SAN_CFLAGS) $(SAN_LINKER) $(SAN_COVERAGE) -fsanitize=fuzzer -MD -MP $< $(filter %.a,$^) $(SAN_LIBS) -o $@

FUZZ_SECONDS ?= 60

# The committed inputs and a few more: a part of `make check`.
check-fuzz: $(FUZZ_TARGETS)
	$(Q)tests/run tests/fuzz/replay

fuzz: $(FUZZ_TARGETS)
	$(Q)BUILD=$(BUILD) tests/fuzz/run $(FUZZ_SECONDS) $(FUZZ_TARGETS)

# ---- end-to-end tests: root, BPF, the simulated CUDA

WORKLOADS := $(BUILD)/workloads
WORKLOAD_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O1 -g $(WARNINGS) -Itests/simcuda/include
WORKLOAD_PROGRAMS := $(addprefix $(WORKLOADS)/,puppet gpu_work tensors bfc ranks markers markers3 threads waits launches unreadable unprobed calls flood exhaust residue reuse mapped swapper grow ioctls kept patterns short_lives stubs stacks hostile_stack oncall \
	rows_driver rows_standin rows_refused rows_runtime-shared rows_runtime-ptds rows_runtime-static \
	rows_runtime-static-ptds)
WORKLOAD_PROGRAMS += $(addprefix $(WORKLOADS)/,held ioctl_storm driver_files)

WORKLOAD_RUNTIMES := $(filter %/rows_runtime-shared %/rows_runtime-ptds %/rows_runtime-static \
	%/rows_runtime-static-ptds,$(WORKLOAD_PROGRAMS))

$(WORKLOADS)/puppet: tests/workloads/puppet.c
$(WORKLOADS)/gpu_work: tests/workloads/gpu_work.c
$(WORKLOADS)/threads: tests/workloads/threads.c
$(WORKLOADS)/waits: tests/workloads/waits.c
$(WORKLOADS)/tensors: tests/workloads/tensors.c
$(WORKLOADS)/bfc: tests/workloads/bfc.c
$(WORKLOADS)/ranks: tests/workloads/ranks.c | $(WORKLOADS)/libnccl.so.2
$(WORKLOADS)/ranks: WORKLOAD_LIBS = -lcuda -L$(WORKLOADS) -l:libnccl.so.2 -Wl,-rpath,'$$ORIGIN'
$(WORKLOADS)/markers: tests/workloads/markers.c | $(WORKLOADS)/libnvToolsExt.so.1
$(WORKLOADS)/launches: tests/workloads/launches.c
$(WORKLOADS)/unreadable: tests/workloads/unreadable.c
$(WORKLOADS)/unprobed: tests/workloads/unprobed.c
$(WORKLOADS)/calls: tests/workloads/calls.c
$(WORKLOADS)/flood: tests/workloads/flood.c
$(WORKLOADS)/residue: tests/workloads/residue.c
$(WORKLOADS)/exhaust: tests/workloads/exhaust.c
$(WORKLOADS)/oncall: tests/workloads/oncall.c
$(WORKLOADS)/oncall: WORKLOAD_LIBS = -lcuda -lcudart
$(WORKLOADS)/held: tests/workloads/held.c
$(WORKLOADS)/ioctl_storm: $(addprefix tests/workloads/ioctl_storm,.c _calls.c _files.c _ranges.c)
$(WORKLOADS)/driver_files: tests/workloads/driver_files.c
$(WORKLOADS)/kept: tests/workloads/kept.c
$(WORKLOADS)/patterns: tests/workloads/patterns.c
$(WORKLOADS)/ioctl_storm: WORKLOAD_LIBS = -lcuda
$(WORKLOADS)/driver_files: WORKLOAD_LIBS = -lcuda
$(WORKLOADS)/held: WORKLOAD_LIBS = -lcuda
$(WORKLOADS)/reuse: tests/workloads/reuse.c
$(WORKLOADS)/mapped: tests/workloads/mapped.c
$(WORKLOADS)/swapper: tests/workloads/swapper.c
$(WORKLOADS)/grow: tests/workloads/grow.c
$(WORKLOADS)/ioctls: tests/workloads/ioctls.c
$(WORKLOADS)/short_lives: tests/workloads/short_lives.c
$(WORKLOADS)/stubs: tests/workloads/stubs.c
$(WORKLOADS)/stacks: tests/workloads/stacks.c
$(WORKLOADS)/stacks: WORKLOAD_DEFINES = -O2 -fomit-frame-pointer
$(WORKLOADS)/hostile_stack: tests/workloads/hostile_stack.c
$(WORKLOADS)/hostile_stack: WORKLOAD_DEFINES = -O2 -fomit-frame-pointer
$(WORKLOADS)/rows_driver: $(wildcard tests/workloads/rows_driver*.c) tests/workloads/rows.c
$(WORKLOADS)/rows_standin: $(wildcard tests/workloads/rows_standin*.c) tests/workloads/rows.c
$(WORKLOADS)/rows_refused: $(wildcard tests/workloads/rows_refused*.c) tests/workloads/rows.c
$(WORKLOAD_RUNTIMES): $(wildcard tests/workloads/rows_runtime*.c) tests/workloads/rows.c

$(WORKLOADS)/gpu_work $(WORKLOADS)/threads $(WORKLOADS)/waits $(WORKLOADS)/exhaust $(WORKLOADS)/launches $(WORKLOADS)/flood $(WORKLOADS)/grow $(WORKLOADS)/ioctls $(WORKLOADS)/kept $(WORKLOADS)/patterns $(WORKLOADS)/tensors $(WORKLOADS)/bfc $(WORKLOADS)/stacks $(WORKLOADS)/hostile_stack $(WORKLOADS)/rows_driver: WORKLOAD_LIBS = -lcuda
$(WORKLOADS)/residue: WORKLOAD_LIBS = -l:libbpf.a -l:libelf.a -l:libz.a -l:libzstd.a
$(WORKLOADS)/calls $(WORKLOADS)/stubs $(WORKLOADS)/rows_refused $(WORKLOAD_RUNTIMES): WORKLOAD_LIBS = -lcudart$(if $(findstring static,$@),_static)
$(WORKLOADS)/markers3: tests/workloads/markers.c tests/workloads/nvtx3.c
$(WORKLOADS)/markers3: WORKLOAD_LIBS = -lcuda -Wl,-s
$(WORKLOADS)/markers: WORKLOAD_LIBS = -lcuda -L$(WORKLOADS) -l:libnvToolsExt.so.1 -Wl,-rpath,'$$ORIGIN'
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

$(WORKLOADS)/unwindcat: tests/workloads/unwindcat.c $(filter-out %/main.o,$(USER_OBJECTS))
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

# A program with a driver of its own, whatever LD_LIBRARY_PATH says.
$(WORKLOADS)/novel/libcuda.so.1: tests/workloads/novel.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -DDRIVER -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ $<

$(WORKLOADS)/novel/novel: tests/workloads/novel.c $(WORKLOADS)/novel/libcuda.so.1
	$(call say,CC,$@)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -o $@ $^ -Wl,--disable-new-dtags,-rpath,'$$ORIGIN'

$(WORKLOADS)/native_thread.so: tests/workloads/native_thread.c | simcuda
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -fPIC -shared -o $@ $< -L$(BUILD)/simcuda -lcuda -pthread

$(WORKLOADS)/libc10.so: tests/workloads/c10.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -fPIC -shared -o $@ $<

$(WORKLOADS)/tsl.so $(WORKLOADS)/tsl_local.so: tests/workloads/tsl.c tests/workloads/tsl.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) $(if $(findstring local,$@),-DTSL_LOCAL) -fPIC -shared -o $@ $<

$(WORKLOADS)/libnccl.so.2: tests/workloads/nccl.c tests/workloads/nccl.h | simcuda
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -fPIC -shared -Wl,-soname,libnccl.so.2 -o $@ $< -L$(BUILD)/simcuda -lcuda -pthread

$(WORKLOADS)/libnvToolsExt.so.1: tests/workloads/nvtx.c tests/workloads/nvtx.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -fPIC -shared -Wl,-soname,$(@F) -o $@ $<

# As CUDA 13 has it: NVTX 3 in a library.
$(WORKLOADS)/libnvtx3interop.so.1: tests/workloads/nvtx3.c tests/workloads/nvtx.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -fPIC -shared -Wl,-soname,$(@F) -o $@ $<

$(WORKLOADS)/lacking.so: tests/workloads/lacking.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -fPIC -shared -o $@ $< -ldl

$(WORKLOADS)/simnv-devices: tests/simnv/devices.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -o $@ $<

# A driver that interrupts programs, and what walks the copies of their stacks: tests/stacks/README.md
$(BUILD)/stacks/libcuda.so.1: tests/stacks/sampler.c tests/stacks/sample.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -fPIC -shared -Wl,-soname,$(@F) -o $@ $<

$(BUILD)/stacks/walk_copies: tests/stacks/walk_copies.c tests/stacks/sample.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -o $@ $< -ldw

# End-to-end tests wait most of the time, so groups of about the same length run beside each other: one
# waits for single uprobes to go, one reads recordings, and it and another trace what they start and look at nothing
# else. The rest are of all processes, of what is left in the kernel, of where probes are, or of floods,
# and would see each other.
E2E_LONG := $(wildcard tests/e2e/*_long.bats)
E2E_FILES := $(filter-out $(E2E_LONG),$(wildcard tests/e2e/*.bats))
E2E_SINGLE := tests/e2e/single.bats
E2E_READING := $(filter tests/e2e/export% %/crafted.bats %/diff.bats %/html.bats %/report.bats,$(E2E_FILES))
E2E_CALM := $(patsubst %,tests/e2e/%.bats,launches trace calls bad_input check ffmpeg verify docs who \
	simcuda names)
E2E_QUIET := $(patsubst %,tests/e2e/%.bats,gpu_time bottlenecks markers tensors python stacks stack_owners stack_truth)
E2E_ALONE := $(filter-out $(E2E_SINGLE) $(E2E_READING) $(E2E_CALM) $(E2E_QUIET),$(E2E_FILES))
E2E_TESTS := $(E2E_ALONE) -- $(E2E_SINGLE) -- $(E2E_READING) $(E2E_QUIET) -- $(E2E_CALM)

E2E_DEPS := $(BUILD)/stacks/libcuda.so.1 $(BUILD)/stacks/walk_copies $(INJECTED) simcupti simnv $(WORKLOAD_PROGRAMS) $(WORKLOADS)/dumpcat $(WORKLOADS)/unwindcat $(WORKLOADS)/hostile_dump $(WORKLOADS)/crafted_dump \
	$(WORKLOADS)/shim.so $(WORKLOADS)/novel/novel $(WORKLOADS)/libc10.so $(WORKLOADS)/libnvtx3interop.so.1 $(WORKLOADS)/tsl.so $(WORKLOADS)/tsl_local.so $(WORKLOADS)/lacking.so $(WORKLOADS)/native_thread.so $(WORKLOADS)/simnv-devices $(SIMCUDA_SELFTESTS) $(SIMCUDA_OUT)/libselftest-injection.so \
	$(BUILD)/event.schema.json $(BUILD)/report.schema.json $(BUILD)/who.schema.json $(BUILD)/agent-who.schema.json $(BUILD)/bench/dumps simcuda-varied $(if $(shell command -v dpkg-deb),deb)

check-e2e-deps: memscope-bpf docs $(E2E_DEPS)

check-e2e: check-e2e-deps
	$(Q)BUILD=$(BUILD) tests/run $(E2E_TESTS)

# What takes minutes, and is known in short from the others.
check-long: check-e2e-deps
	$(Q)BUILD=$(BUILD) tests/run $(E2E_LONG)

# Receivers of the agent's metrics that are down for minutes; one minute in `make check-long`.
check-outage: check-e2e-deps
	$(Q)OUTAGE_MINUTES=$(or $(OUTAGE_MINUTES),10) OUTAGE_FIGURES=$(CURDIR)/$(BUILD)/outage.txt BUILD=$(BUILD) \
		tests/run tests/e2e/outage_long.bats
	$(Q)cat $(BUILD)/outage.txt

# What asks how many or for a stride is done in short by `make check`. STRESS=20: of what is random or
# only done often, a twentieth, but of all cases each, in minutes instead of hours.
STRESS_E2E := $(shell grep -lE '(times|stride) [0-9]+' tests/e2e/*.bats)
STRESS_UNIT := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(shell grep -l unit_stride tests/unit/*_test.c))

stress: memscope-bpf $(E2E_DEPS) $(STRESS_UNIT) $(FUZZ_TARGETS)
	$(Q)STRESS=$(or $(STRESS),1) BUILD=$(BUILD) tests/run $(filter-out $(E2E_READING),$(STRESS_E2E)) -- \
		$(filter $(E2E_READING),$(STRESS_E2E)) -- $(STRESS_UNIT) tests/fuzz/replay

# The agent's tests, with the capabilities of its systemd unit and no others, as a user that is not root.
check-least: memscope-bpf check-e2e-deps
	$(Q)RIGHTS=least BUILD=$(BUILD) tests/run $(wildcard tests/e2e/agent*.bats tests/e2e/top_agent.bats tests/e2e/history.bats)

# Those of the exhaustive loops that take a minute or two, for CI.
stress-unit: $(STRESS_UNIT) $(FUZZ_TARGETS)
	$(Q)STRESS=1 BUILD=$(BUILD) tests/run $(STRESS_UNIT) -- tests/fuzz/replay

# Other kernels than this machine's, emulated. Beginnings of versions, or "newest".
export KERNELS ?= 5.10 6.1 6.12 6.17 newest

check-kernels:
	$(Q)tools/install-deps kernels
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) check-e2e-deps
	$(Q)BUILD=$(BUILD) tests/run tests/kernels/run

# CUDA's own headers of several versions against the probe table; skipped if pip cannot install them.
check-headers:
	$(Q)BUILD=$(BUILD) tests/headers/run || [ $$? -eq 77 ]

# NVIDIA's libcupti of several versions, where there is no GPU; skipped if pip cannot install them.
check-cupti: check-e2e-deps
	$(Q)BUILD=$(BUILD) tests/run tests/cupti/real.bats

# Podman and SLURM, which are installed and run here.
check-engines: memscope-bpf simcuda $(WORKLOADS)/puppet
	$(Q)tools/install-deps engines
	$(Q)BUILD=$(BUILD) tests/run tests/engines/names.bats

# Real PyTorch, which is installed into the build directory, on the simulated GPU: tests/torch/README.md
check-torch: memscope-bpf simcuda
	$(Q)BUILD=$(BUILD) tests/run $(wildcard tests/torch/*.bats)

# JAX and TensorFlow, in the same way: tests/frameworks/README.md
check-frameworks: memscope-bpf simcuda
	$(Q)BUILD=$(BUILD) tests/run tests/frameworks/frameworks.bats

# Stacks against libdw's: 1,000 of each program, of Python with numba if pip can install it.
check-stacks: memscope-bpf $(BUILD)/stacks/libcuda.so.1 $(BUILD)/stacks/walk_copies
	$(Q)[ -e $(BUILD)/stacks/numba/bin/python ] || { python3 -m venv $(BUILD)/stacks/numba && \
		$(BUILD)/stacks/numba/bin/pip install -q numba; } || echo "no numba: Python alone"
	$(Q)STACKS=1000 BUILD=$(BUILD) STACKS_PYTHON=$$([ ! -e $(BUILD)/stacks/numba/bin/python ] || \
		realpath -s $(BUILD)/stacks/numba/bin/python) tests/run tests/e2e/stack_truth.bats

# ---- everything, on a fresh machine too

check check-fuzz: export BUILD := $(BUILD)

check:
	$(Q)tools/install-deps test
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) check-e2e-deps
	$(Q)tests/run $(E2E_TESTS) -- make:check-deps $(UNIT_TESTS) tests/bpf-stack tests/fuzz/replay -- make:lint

check-deps: check-e2e-deps $(UNIT_TESTS) $(FUZZ_TARGETS)

.PHONY: check check-deps check-engines check-frameworks check-least check-long check-outage check-unit check-headers check-cupti check-kernels check-pythons check-stacks check-torch check-fuzz check-e2e check-e2e-deps fuzz stress stress-unit
.SECONDARY: $(SAN_OBJECTS) $(FUZZ_OBJECTS) $(BUILD)/sanitized/layers.a $(BUILD)/fuzz/helpers.a

-include $(SAN_OBJECTS:.o=.d) $(UNIT_TESTS:=.d) $(FUZZ_OBJECTS:.o=.d) $(FUZZ_TARGETS:=.d)
