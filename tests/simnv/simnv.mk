# SPDX-License-Identifier: BSD-2-Clause
#
# The simulated NVML: a libnvidia-ml.so.1 for each age of the interface, in $(BUILD)/simnv/AGE.
# Included by the top-level Makefile. tests/simnv/README.md says how it is used.

SIMNV := tests/simnv
SIMNV_OUT := $(BUILD)/simnv
SIMNV_AGES := 1 2 3 535

SIMNV_LIBRARIES := $(SIMNV_AGES:%=$(SIMNV_OUT)/%/libnvidia-ml.so.1)

.PHONY: simnv
simnv: $(SIMNV_LIBRARIES)

$(SIMNV_LIBRARIES): $(SIMNV_OUT)/%/libnvidia-ml.so.1: $(filter-out %/devices.c,$(wildcard $(SIMNV)/*.c $(SIMNV)/*.h))
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g $(WARNINGS) -fPIC -fvisibility=hidden -shared \
		-DSIMNV_AGE=$* -Wl,-soname,$(@F) -o $@ $(filter %.c,$^)
