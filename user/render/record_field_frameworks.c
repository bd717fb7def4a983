// SPDX-License-Identifier: BSD-2-Clause
#include "render/record_field_frameworks.h"

#include "event/framework.h"
#include "event/nccl.h"

/* ---- tensors --------------------------------------------------------------------------------- */

static const struct ms_tensor *tensor_of(const struct event *event)
{
	return (const struct ms_tensor *)event->sample;
}

struct field_value get_tensor_framework(const struct event *event, const struct change *change)
{
	(void)change;
	return record_field_text(framework_name(tensor_of(event)->framework));
}

struct field_value get_tensor_action(const struct event *event, const struct change *change)
{
	const struct ms_tensor *tensor = tensor_of(event);

	(void)change;
	if (tensor->action == MS_TENSOR_OUT_OF_MEMORY)
		return record_field_text("out_of_memory");
	return record_field_text(tensor->size < 0 || tensor->action == MS_TENSOR_BACK ? "free" :
											"alloc");
}

/* As told or, of an allocator that does not tell, as known: of blocks of the host, it is not. */
static struct field_value tensor_total(const struct event *event, const struct change *change,
				       uint64_t told, uint64_t known)
{
	const bool is_told = !(tensor_of(event)->flags & MS_TENSOR_UNTOLD);

	return (struct field_value){ .known = is_told || change->tensor.is_told,
				     .number = is_told ? told : known };
}

struct field_value get_tensor_allocated(const struct event *event, const struct change *change)
{
	return tensor_total(event, change, tensor_of(event)->allocated, change->tensor.allocated);
}

struct field_value get_tensor_reserved(const struct event *event, const struct change *change)
{
	return tensor_total(event, change, tensor_of(event)->reserved, change->tensor.reserved);
}

struct field_value get_tensor_size(const struct event *event, const struct change *change)
{
	const struct ms_tensor *tensor = tensor_of(event);
	const uint64_t size = tensor->size;

	/* What came back says its address alone. */
	if (tensor->action == MS_TENSOR_BACK)
		return (struct field_value){ .known = change->tensor.ended.bytes,
					     .number = change->tensor.ended.bytes };
	return (struct field_value){ .known = true, .number = tensor->size < 0 ? -size : size };
}

struct field_value get_tensor_stack(const struct event *event, const struct change *change)
{
	(void)event;
	return (struct field_value){ .known = change->tensor.given.stack,
				     .number = change->tensor.given.stack };
}

struct field_value get_tensor_device(const struct event *event, const struct change *change)
{
	const int32_t device = tensor_of(event)->flags & MS_TENSOR_UNTOLD ?
				       (change->tensor.is_told ? change->tensor.device : -1) :
				       tensor_of(event)->device;

	return (struct field_value){ .known = device >= 0, .number = device };
}

/* ---- NCCL ------------------------------------------------------------------------------------ */

static const struct ms_nccl *nccl_of(const struct event *event)
{
	return (const struct ms_nccl *)event->sample;
}

struct field_value get_nccl_function(const struct event *event, const struct change *change)
{
	(void)change;
	return record_field_text(nccl_function_name(nccl_of(event)->function));
}

struct field_value get_nccl_communicator(const struct event *event, const struct change *change)
{
	(void)change;
	return (struct field_value){ .known = nccl_of(event)->comm,
				     .number = nccl_of(event)->comm };
}

struct field_value get_nccl_elements(const struct event *event, const struct change *change)
{
	(void)change;
	return (struct field_value){ .known = nccl_function_about(nccl_of(event)->function) ==
					      NCCL_MOVES,
				     .number = nccl_of(event)->count };
}

struct field_value get_nccl_datatype(const struct event *event, const struct change *change)
{
	(void)change;
	return record_field_text(nccl_record_type(nccl_of(event)));
}

struct field_value get_nccl_bytes(const struct event *event, const struct change *change)
{
	struct field_value value = { 0 };

	(void)change;
	value.known = nccl_record_bytes(nccl_of(event), &value.number);
	return value;
}

struct field_value get_nccl_ranks(const struct event *event, const struct change *change)
{
	(void)change;
	return (struct field_value){ .known = nccl_record_has_ranks(nccl_of(event)),
				     .number = nccl_of(event)->count };
}

struct field_value get_nccl_rank(const struct event *event, const struct change *change)
{
	(void)change;
	return (struct field_value){ .known = nccl_record_has_rank(nccl_of(event)),
				     .number = nccl_of(event)->detail };
}

struct field_value get_nccl_result(const struct event *event, const struct change *change)
{
	(void)change;
	return record_field_text(nccl_result_name(nccl_of(event)->result));
}
