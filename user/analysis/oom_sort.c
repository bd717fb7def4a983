// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom_sort.h"

enum oom_sort oom_sort_of_space(uint8_t space)
{
	switch (space) {
	case MS_SPACE_PINNED:
	case MS_SPACE_REGISTERED:
		return OOM_SORT_HOST;
	case MS_SPACE_RESERVED:
	case MS_SPACE_MAPPED:
		return OOM_SORT_ADDRESSES;
	case MS_SPACE_IMPORTED:
		return OOM_SORT_ROW;
	}
	return OOM_SORT_DEVICE;
}

enum oom_sort oom_sort_of(const struct ms_spec *spec)
{
	switch (spec->op) {
	case MS_OP_ALLOC:
		return oom_sort_of_space(spec->space);
	case MS_OP_LAUNCH:
		return OOM_SORT_LAUNCH;
	case MS_OP_CONTEXT:
		return spec->action == MS_ACTION_CREATE || spec->action == MS_ACTION_RETAIN ?
			       OOM_SORT_CONTEXT :
			       OOM_SORT_ROW;
	}
	return OOM_SORT_ROW;
}
