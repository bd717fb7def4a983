/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What outputs show of objects of NVIDIA's kernel driver, and of the addresses that they are at: a
 * part of record_field.c.
 */
#ifndef MEMSCOPE_RENDER_RECORD_FIELD_DRIVER_H
#define MEMSCOPE_RENDER_RECORD_FIELD_DRIVER_H

#include "render/record_field.h"

struct field_value record_field_driver_object_action(const struct event *event,
						     const struct change *change);
struct field_value record_field_driver_object_call(const struct event *event,
						   const struct change *change);
struct field_value record_field_driver_object_memory(const struct event *event,
						     const struct change *change);
struct field_value record_field_driver_object_size(const struct event *event,
						   const struct change *change);
struct field_value record_field_driver_range_action(const struct event *event,
						    const struct change *change);
struct field_value record_field_driver_range_call(const struct event *event,
						  const struct change *change);
struct field_value record_field_driver_range_bytes(const struct event *event,
						   const struct change *change);
struct field_value record_field_driver_range_uuid(const struct event *event,
						  const struct change *change);

#endif /* MEMSCOPE_RENDER_RECORD_FIELD_DRIVER_H */
