# SPDX-License-Identifier: BSD-2-Clause
#
# The simulated CUDA: libcuda.so.1, libcudart.so.13, libcudart_static.a and their selftest, into
# $(BUILD)/simcuda. Included by the top-level Makefile; `make -f tests/simcuda/simcuda.mk` works
# from the root of the repository, too.

BUILD ?= build

# Short messages, or the commands with V=1.
SIMCUDA_SAY = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$@';)

SIMCUDA := tests/simcuda
SIMCUDA_OUT := $(BUILD)/simcuda

.PHONY: simcuda simcuda-check-exports simcuda-selftest
simcuda: $(addprefix $(SIMCUDA_OUT)/,libcuda.so.1 libcuda.so libcudart.so.13 libcudart.so \
	libcudart_static.a)

# How exported functions begin. The tool under test places its probes according to the first
# instruction, so this one is part of the interface: a push, which the kernel emulates cheaply.
SIMCUDA_PROLOGUE ?= $(SIMCUDA_PROLOGUE_ARCH) $(SIMCUDA_PROLOGUE_CC) -fno-omit-frame-pointer
ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine)),)
SIMCUDA_PROLOGUE_ARCH := -fcf-protection=none
endif

# One function per exported name: neither folded with another that looks the same nor left by a
# jump into one.
SIMCUDA_DISTINCT := -fno-optimize-sibling-calls
ifneq ($(findstring clang,$(shell $(CC) --version)),)
SIMCUDA_PROLOGUE_CC := -mno-omit-leaf-frame-pointer
else
SIMCUDA_PROLOGUE_CC := -fno-shrink-wrap
SIMCUDA_DISTINCT += -fno-ipa-icf
endif

SIMCUDA_CFLAGS = -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -pthread -Wall -Wextra -Wshadow \
	-Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror -MMD -MP -I$(SIMCUDA)/include \
	-I$(SIMCUDA)/driver -I$(SIMCUDA)/runtime $(SIMCUDA_PROLOGUE) $(SIMCUDA_DISTINCT) \
	$(SIMCUDA_SANITIZE)
# Never unloaded: threads have state in them that is given back when they end.
SIMCUDA_SHARED = $(CC) -shared -pthread -Wl,-Bsymbolic -Wl,-z,nodelete $(SIMCUDA_SANITIZE) \
	$(LDFLAGS)

SIMCUDA_SOURCES := $(wildcard $(addprefix $(SIMCUDA)/,common/*.c driver/*.c runtime/*.c))
SIMCUDA_OBJECTS := $(SIMCUDA_SOURCES:$(SIMCUDA)/%.c=$(SIMCUDA_OUT)/%.o)
SIMCUDA_COMMON := $(filter $(SIMCUDA_OUT)/common/%,$(SIMCUDA_OBJECTS))
SIMCUDA_DRIVER := $(filter $(SIMCUDA_OUT)/driver/%,$(SIMCUDA_OBJECTS))
SIMCUDA_RUNTIME := $(filter $(SIMCUDA_OUT)/runtime/%,$(SIMCUDA_OBJECTS)) $(SIMCUDA_COMMON)

$(SIMCUDA_OBJECTS): $(SIMCUDA_OUT)/%.o: $(SIMCUDA)/%.c
	@mkdir -p $(@D)
	$(call SIMCUDA_SAY,CC)$(CC) $(SIMCUDA_CFLAGS) -c -o $@ $<

# What the driver does not implement, and the table of all names.
$(SIMCUDA_OUT)/exports.c: $(SIMCUDA)/gen-exports $(SIMCUDA)/proc_versions.txt $(SIMCUDA_DRIVER)
	$(call SIMCUDA_SAY,GEN)$(SIMCUDA)/gen-exports $(SIMCUDA)/proc_versions.txt \
		$(SIMCUDA_DRIVER) > $@.tmp
	@mv $@.tmp $@

$(SIMCUDA_OUT)/exports.o: $(SIMCUDA_OUT)/exports.c
	$(call SIMCUDA_SAY,CC)$(CC) $(SIMCUDA_CFLAGS) -c -o $@ $<

$(SIMCUDA_OUT)/libcuda.so.1: $(SIMCUDA_DRIVER) $(SIMCUDA_COMMON) $(SIMCUDA_OUT)/exports.o
	$(call SIMCUDA_SAY,LD)$(SIMCUDA_SHARED) -Wl,-soname,$(@F) -o $@ $^ -ldl

$(SIMCUDA_OUT)/libcudart.so.13: $(SIMCUDA_RUNTIME) $(SIMCUDA)/runtime/libcudart.map
	$(call SIMCUDA_SAY,LD)$(SIMCUDA_SHARED) -Wl,-soname,$(@F) \
		-Wl,--version-script=$(SIMCUDA)/runtime/libcudart.map -o $@ $(SIMCUDA_RUNTIME) -ldl

# One object, in which everything that is not API is local.
$(SIMCUDA_OUT)/libcudart_static.a: $(SIMCUDA_RUNTIME)
	$(call SIMCUDA_SAY,AR)$(LD) -r -o $(SIMCUDA_OUT)/libcudart_static.o $^
	@objcopy --localize-hidden $(SIMCUDA_OUT)/libcudart_static.o
	@rm -f $@
	@$(AR) rcs $@ $(SIMCUDA_OUT)/libcudart_static.o

$(SIMCUDA_OUT)/libcuda.so: $(SIMCUDA_OUT)/libcuda.so.1
	@ln -sf $(<F) $@

$(SIMCUDA_OUT)/libcudart.so: $(SIMCUDA_OUT)/libcudart.so.13
	@ln -sf $(<F) $@

# The second flavour, in which functions begin in other ways than with a push: x86-64 only.
SIMCUDA_VARIED := $(BUILD)/simcuda-varied
SIMCUDA_VARIED_DRIVER := $(patsubst $(SIMCUDA_OUT)/%,$(SIMCUDA_VARIED)/%,$(SIMCUDA_DRIVER) \
	$(SIMCUDA_OUT)/exports.o)
SIMCUDA_VARIED_RUNTIME := $(patsubst $(SIMCUDA_OUT)/%,$(SIMCUDA_VARIED)/%, \
	$(filter $(SIMCUDA_OUT)/runtime/%,$(SIMCUDA_OBJECTS)))
SIMCUDA_VARY := $(SIMCUDA)/vary-prologues

.PHONY: simcuda-varied
ifneq ($(SIMCUDA_PROLOGUE_ARCH),)
simcuda-varied: $(SIMCUDA_VARIED)/libcuda.so.1 $(SIMCUDA_VARIED)/libcudart.so.13
endif

$(SIMCUDA_VARIED)/%.s: $(SIMCUDA)/%.c
	@mkdir -p $(@D)
	$(call SIMCUDA_SAY,CC)$(CC) $(SIMCUDA_CFLAGS) -S -o $@ $<

$(SIMCUDA_VARIED)/exports.s: $(SIMCUDA_OUT)/exports.c
	@mkdir -p $(@D)
	$(call SIMCUDA_SAY,CC)$(CC) $(SIMCUDA_CFLAGS) -S -o $@ $<

$(SIMCUDA_VARIED)/%.o: $(SIMCUDA_VARIED)/%.s $(SIMCUDA_VARY)
	@$(SIMCUDA_VARY) $< > $@.s
	@$(CC) -c -o $@ $@.s

.SECONDARY: $(SIMCUDA_VARIED_DRIVER:.o=.s) $(SIMCUDA_VARIED_RUNTIME:.o=.s)

$(SIMCUDA_VARIED)/libcuda.so.1: $(SIMCUDA_VARIED_DRIVER) $(SIMCUDA_COMMON)
	$(call SIMCUDA_SAY,LD)$(SIMCUDA_SHARED) -Wl,-soname,$(@F) -o $@ $^ -ldl

$(SIMCUDA_VARIED)/libcudart.so.13: $(SIMCUDA_VARIED_RUNTIME) $(SIMCUDA_COMMON) \
		$(SIMCUDA)/runtime/libcudart.map
	$(call SIMCUDA_SAY,LD)$(SIMCUDA_SHARED) -Wl,-soname,$(@F) \
		-Wl,--version-script=$(SIMCUDA)/runtime/libcudart.map -o $@ $(filter %.o,$^) -ldl

simcuda-check-exports: $(SIMCUDA_OUT)/libcuda.so.1 $(SIMCUDA_OUT)/libcudart.so.13
	@sed -n 's/^\(DRIVER\|INTEROP\)(\(.*\))$$/\2/p' user/event/cuda_names.def > $(SIMCUDA_OUT)/driver_names
	@$(SIMCUDA)/check-exports $(SIMCUDA_OUT)/libcuda.so.1 $(SIMCUDA_OUT)/driver_names
	@$(SIMCUDA)/check-exports $(SIMCUDA_OUT)/libcudart.so.13

# The selftest: of the driver, one program per subject, and the runtime: shared, static, per-thread
# streams.
SIMCUDA_DRIVER_SELFTESTS := driver code memory batch vmm import graph capture
SIMCUDA_SELFTESTS := $(addprefix $(SIMCUDA_OUT)/selftest-,$(SIMCUDA_DRIVER_SELFTESTS) shared \
	static ptds)

$(addprefix $(SIMCUDA_OUT)/selftest-,$(SIMCUDA_DRIVER_SELFTESTS)): $(SIMCUDA_OUT)/selftest-%: \
	$(SIMCUDA)/selftest-%.c $(SIMCUDA)/selftest-driver.h
$(addprefix $(SIMCUDA_OUT)/selftest-,graph capture): $(SIMCUDA)/selftest-graph.h
$(addprefix $(SIMCUDA_OUT)/selftest-,vmm import): $(SIMCUDA)/selftest-vmm.h
$(addprefix $(SIMCUDA_OUT)/selftest-,$(SIMCUDA_DRIVER_SELFTESTS)): SIMCUDA_SELFTEST_LIBS = -lcuda
$(addprefix $(SIMCUDA_OUT)/selftest-,shared static ptds): $(SIMCUDA)/selftest-runtime.c \
	$(SIMCUDA)/selftest-runtime-memory.c $(SIMCUDA)/selftest-runtime.h
$(SIMCUDA_OUT)/selftest-static: $(SIMCUDA_OUT)/libcudart_static.a
$(SIMCUDA_OUT)/selftest-shared: SIMCUDA_SELFTEST_LIBS = -lcudart
$(SIMCUDA_OUT)/selftest-ptds: SIMCUDA_SELFTEST_LIBS = -DCUDA_API_PER_THREAD_DEFAULT_STREAM -lcudart
$(SIMCUDA_OUT)/selftest-static: SIMCUDA_SELFTEST_LIBS = -DSELFTEST_STATIC -lcudart_static
$(SIMCUDA_SELFTESTS): $(SIMCUDA)/selftest.c $(SIMCUDA)/selftest.h \
	$(wildcard $(SIMCUDA)/include/*.h) | simcuda
	$(call SIMCUDA_SAY,LD)$(CC) $(filter-out -MMD -MP,$(SIMCUDA_CFLAGS)) -o $@ $(filter %.c,$^) \
		-L$(SIMCUDA_OUT) $(SIMCUDA_SELFTEST_LIBS) -ldl

$(SIMCUDA_OUT)/libselftest-injection.so: $(SIMCUDA)/selftest-injection.c
	$(call SIMCUDA_SAY,LD)$(SIMCUDA_SHARED) $(filter-out -MMD -MP,$(SIMCUDA_CFLAGS)) -o $@ $<

simcuda-selftest: simcuda-check-exports $(SIMCUDA_SELFTESTS) \
	$(SIMCUDA_OUT)/libselftest-injection.so
	@for test in $(SIMCUDA_SELFTESTS); do \
		LD_LIBRARY_PATH=$(SIMCUDA_OUT) $$test || exit 1; \
	done

-include $(SIMCUDA_OBJECTS:.o=.d) $(SIMCUDA_OUT)/exports.d
-include $(SIMCUDA_VARIED_DRIVER:.o=.d) $(SIMCUDA_VARIED_RUNTIME:.o=.d)
