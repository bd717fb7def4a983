/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fields of records about the libraries of frameworks: their allocators, and NCCL. As
 * render/record_fields.def has them.
 */
#ifndef MEMSCOPE_RENDER_RECORD_FIELD_FRAMEWORKS_H
#define MEMSCOPE_RENDER_RECORD_FIELD_FRAMEWORKS_H

#include "render/record_field.h"

struct field_value get_tensor_framework(const struct event *event, const struct change *change);
struct field_value get_tensor_action(const struct event *event, const struct change *change);
struct field_value get_tensor_allocated(const struct event *event, const struct change *change);
struct field_value get_tensor_reserved(const struct event *event, const struct change *change);
struct field_value get_tensor_size(const struct event *event, const struct change *change);
struct field_value get_tensor_stack(const struct event *event, const struct change *change);
struct field_value get_tensor_device(const struct event *event, const struct change *change);
struct field_value get_nccl_function(const struct event *event, const struct change *change);
struct field_value get_nccl_communicator(const struct event *event, const struct change *change);
struct field_value get_nccl_elements(const struct event *event, const struct change *change);
struct field_value get_nccl_datatype(const struct event *event, const struct change *change);
struct field_value get_nccl_bytes(const struct event *event, const struct change *change);
struct field_value get_nccl_ranks(const struct event *event, const struct change *change);
struct field_value get_nccl_rank(const struct event *event, const struct change *change);
struct field_value get_nccl_result(const struct event *event, const struct change *change);

#endif /* MEMSCOPE_RENDER_RECORD_FIELD_FRAMEWORKS_H */
