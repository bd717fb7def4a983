# SPDX-License-Identifier: BSD-2-Clause
#
# A simulated CUPTI, for programs on the simulated driver: $(BUILD)/simcupti/libcupti.so.13.

SIMCUPTI := tests/simcupti
SIMCUPTI_OUT := $(BUILD)/simcupti

.PHONY: simcupti
simcupti: $(SIMCUPTI_OUT)/libcupti.so.13

$(SIMCUPTI_OUT)/libcupti.so.13: $(wildcard $(SIMCUPTI)/*.c $(SIMCUPTI)/*.h) \
		$(SIMCUDA)/driver/observer.h
	$(call SIMCUDA_SAY,LD)mkdir -p $(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC \
		-fvisibility=hidden -pthread -Wall -Wextra -Wshadow -Wstrict-prototypes \
		-Wmissing-prototypes -Wvla -Werror -I$(SIMCUPTI) -I$(SIMCUDA)/driver -shared \
		-Wl,-z,nodelete -Wl,-soname,$(@F) -o $@ $(filter %.c,$^) -ldl
