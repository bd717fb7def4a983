// SPDX-License-Identifier: BSD-2-Clause
#include "render/field.h"

#include <string.h>

#define UNKNOWN ((struct field_value){ .known = false })

typedef const struct field_source source_t;

static struct field_value number(bool known, uint64_t value)
{
	return (struct field_value){ .known = known, .number = value };
}

static struct field_value signed_number(bool known, int64_t value)
{
	return (struct field_value){ .known = known, .signed_number = value };
}

static struct field_value text(const char *value)
{
	return (struct field_value){ .known = value,
				     .text = value,
				     .length = value ? strlen(value) : 0 };
}

static struct field_value scratch(source_t *source, size_t start)
{
	return (struct field_value){ .known = true,
				     .text = source->scratch->bytes + start,
				     .length = source->scratch->length - start };
}

static const struct ms_call *call_of(source_t *source)
{
	return source->event->call;
}

static bool knows(source_t *source, uint32_t what)
{
	return (call_of(source)->known & what) == what;
}

static enum ms_op op_of(source_t *source)
{
	return source->event->probe->spec.op;
}

static enum ms_action action_of(source_t *source)
{
	return source->event->probe->spec.action;
}

/* Then what are addresses elsewhere are a UUID or text. */
static bool says_identity(source_t *source)
{
	return device_is_identified_by(action_of(source));
}

/* ---- getters, in the order of fields.def ----------------------------------------------------- */

static struct field_value get_ts_ns(source_t *source)
{
	return number(true, source->event->header->ts_ns);
}

static struct field_value get_wall_ns(source_t *source)
{
	return number(source->wall_known, source->event->header->ts_ns + source->wall_offset_ns);
}

static struct field_value get_pid(source_t *source)
{
	return number(true, source->event->header->pid);
}

static struct field_value get_tid(source_t *source)
{
	/* Calls that were only counted are of any thread, and have no dimensions. */
	return number(source->event->header->type != MS_TYPE_CALLS, source->event->header->tid);
}

static struct field_value get_thread(source_t *source)
{
	size_t start = source->scratch->length;

	string_append_u64(source->scratch, source->event->header->pid);
	if (source->event->header->tid != source->event->header->pid) {
		string_append_char(source->scratch, '/');
		string_append_u64(source->scratch, source->event->header->tid);
	}
	return scratch(source, start);
}

static struct field_value get_comm(source_t *source)
{
	const char *comm = source->change->process->comm;

	return *comm ? text(comm) : UNKNOWN;
}

/* As much of it as a process's name has room for. */
static struct field_value get_name(source_t *source)
{
	const struct process *process = source->change->process;
	const char *script = process->identity.known.items[IDENTITY_SCRIPT];
	const char *slash = script ? strrchr(script, '/') : NULL;
	const char *name = slash && slash[1] ? slash + 1 : script ? script : process->comm;
	size_t start = source->scratch->length;

	/* "-c" alone says less than the interpreter's name. */
	if (name == script && (!strcmp(name, "-") || (name[0] == '-' && !strchr(name, ' '))))
		name = process->comm;
	if (!strncmp(name, "-m ", 3))
		name += 3;
	if (!*name)
		return UNKNOWN;
	field_append_safe(source->scratch, name, strnlen(name, MS_COMM_BYTES - 1));
	return scratch(source, start);
}

static struct field_value get_op(source_t *source)
{
	return text(probe_op_name(op_of(source)));
}

static struct field_value get_api(source_t *source)
{
	return text(source->event->probe->symbol);
}

static struct field_value get_driver_api(source_t *source)
{
	const struct probe *driver = source->event->driver_probe;

	return text(driver ? driver->symbol : NULL);
}

static struct field_value get_result(source_t *source)
{
	return signed_number(knows(source, MS_KNOWN_RESULT), call_of(source)->result);
}

static struct field_value get_result_name(source_t *source)
{
	if (!knows(source, MS_KNOWN_RESULT))
		return UNKNOWN;
	return text(probe_result_name(source->event->probe->layer, call_of(source)->result));
}

/* A free's size and space are those of the block that it ended. */
static struct field_value get_size_bytes(source_t *source)
{
	const struct allocation *allocation = &source->change->allocation;

	/* Opened by a handle, it is as large as what was exported. */
	if (op_of(source) == MS_OP_FREE ||
	    (source->change->has_allocation && allocation->space == MS_SPACE_IMPORTED))
		return number(source->change->has_allocation && allocation->size_known,
			      allocation->size_bytes);
	/* There these are flags. */
	if (action_of(source) == MS_ACTION_GRAPH_INSTANTIATE ||
	    action_of(source) == MS_ACTION_DEVICE_NAME)
		return UNKNOWN;
	return number(knows(source, MS_KNOWN_SIZE), call_of(source)->size);
}

static struct field_value get_addr(source_t *source)
{
	return number(knows(source, MS_KNOWN_ADDR) && !says_identity(source),
		      call_of(source)->addr);
}

static struct field_value get_space(source_t *source)
{
	if (source->change->has_allocation)
		return text(probe_space_name(source->change->allocation.space));
	if (op_of(source) == MS_OP_ALLOC)
		return text(probe_space_name(source->event->probe->spec.space));
	return UNKNOWN;
}

static struct field_value get_device(source_t *source)
{
	return signed_number(source->change->device >= 0, source->change->device);
}

static struct field_value get_context(source_t *source)
{
	return number(knows(source, MS_KNOWN_CONTEXT), call_of(source)->context);
}

static struct field_value get_stream(source_t *source)
{
	return number(knows(source, MS_KNOWN_STREAM) && !says_identity(source),
		      call_of(source)->stream);
}

static struct field_value get_duration_ns(source_t *source)
{
	return number(knows(source, MS_KNOWN_RESULT), call_of(source)->duration_ns);
}

static struct field_value get_running_ns(source_t *source)
{
	const struct ms_split_call *split = source->event->split;

	if (!split)
		return UNKNOWN;
	return number(true, split->call.duration_ns - split->runnable_ns - split->blocked_ns);
}

static struct field_value get_runnable_ns(source_t *source)
{
	const struct ms_split_call *split = source->event->split;

	return number(split, split ? split->runnable_ns : 0);
}

static struct field_value get_blocked_ns(source_t *source)
{
	const struct ms_split_call *split = source->event->split;

	return number(split, split ? split->blocked_ns : 0);
}

static struct field_value get_nested(source_t *source)
{
	return number(true, call_of(source)->flags & MS_CALL_NESTED);
}

static struct field_value get_part(source_t *source)
{
	return number(true, call_of(source)->flags & MS_CALL_PART);
}

static struct field_value get_alloc_id(source_t *source)
{
	return number(source->change->has_allocation, source->change->allocation.id);
}

static const struct stack *stack_of(source_t *source)
{
	return source->stacks ? stacks_find(source->stacks, event_stack_id(source->event->call)) :
				NULL;
}

static struct field_value get_stack_id(source_t *source)
{
	const struct stack *stack = stack_of(source);

	return number(stack, stack ? stack->id : 0);
}

static struct field_value get_owner(source_t *source)
{
	const struct stack *stack = stack_of(source);

	return text(stack ? stack->owner : NULL);
}

static struct field_value get_live_bytes(source_t *source)
{
	return number(source->change->has_live, source->change->live_bytes);
}

static struct field_value get_age_ns(source_t *source)
{
	return number(source->change->has_allocation,
		      source->event->header->ts_ns - source->change->allocation.ts_ns);
}

static struct field_value get_freed(source_t *source)
{
	static const char *const names[] = {
		[FREE_KNOWN] = "known",       [FREE_PRE_ATTACH] = "pre_attach",
		[FREE_UNKNOWN] = "unknown",   [FREE_UNWATCHED] = "unwatched",
		[FREE_NULL] = "null",         [FREE_KEPT] = "kept",
		[FREE_CAPTURED] = "captured",
	};

	return text(names[source->change->free]);
}

static struct field_value get_src(source_t *source)
{
	return number(knows(source, MS_KNOWN_SRC), call_of(source)->src);
}

static struct field_value get_dst(source_t *source)
{
	return get_addr(source);
}

static struct field_value get_direction(source_t *source)
{
	if (!knows(source, MS_KNOWN_DIRECTION))
		return UNKNOWN;
	return text(probe_direction_name(source->change->direction));
}

static struct field_value get_handle(source_t *source)
{
	return get_addr(source);
}

static struct field_value get_kernel(source_t *source)
{
	return text(source->change->kernel);
}

static struct field_value get_grid(source_t *source)
{
	if (!source->event->launch || !knows(source, MS_KNOWN_DIMS))
		return UNKNOWN;
	return (struct field_value){ .known = true, .dims = source->event->launch->grid };
}

static struct field_value get_block(source_t *source)
{
	if (!source->event->launch || !knows(source, MS_KNOWN_DIMS))
		return UNKNOWN;
	return (struct field_value){ .known = true, .dims = source->event->launch->block };
}

static struct field_value get_shared_bytes(source_t *source)
{
	if (!source->event->launch)
		return UNKNOWN;
	return number(knows(source, MS_KNOWN_SHARED), source->event->launch->shared_bytes);
}

/* Pool or mapped handle. */
static struct field_value get_backing(source_t *source)
{
	const uint64_t src = call_of(source)->src;

	/* A hash is never 0. */
	return number(knows(source, MS_KNOWN_SRC) &&
			      (src || source->event->probe->spec.space != MS_SPACE_IMPORTED),
		      src);
}

static struct field_value get_captured(source_t *source)
{
	return number(true, source->change->captured || source->change->free == FREE_CAPTURED);
}

static struct field_value get_graph(source_t *source)
{
	return number(knows(source, MS_KNOWN_SRC) && action_of(source) >= MS_ACTION_GRAPH_NODE,
		      call_of(source)->src);
}

static struct field_value get_free_bytes(source_t *source)
{
	return number(knows(source, MS_KNOWN_SRC) && action_of(source) == MS_ACTION_DEVICE_INFO,
		      call_of(source)->src);
}

static struct field_value get_identity(source_t *source)
{
	const size_t start = source->scratch->length;
	struct device_identity identity;

	if (!says_identity(source) || !event_succeeded(call_of(source)))
		return UNKNOWN;
	device_identity_of_call(source->event, &identity);
	if (identity.has_uuid)
		device_append_uuid(source->scratch, &identity);
	else if (identity.pci.known)
		device_append_pci(source->scratch, &identity);
	else if (*identity.name)
		string_append_text(source->scratch, identity.name);
	else
		return UNKNOWN;
	return scratch(source, start);
}

static struct field_value get_attribute(source_t *source)
{
	const enum ms_action action = action_of(source);

	return number(knows(source, MS_KNOWN_SRC) &&
			      (action == MS_ACTION_POOL_INFO || action == MS_ACTION_POOL_SETTING),
		      call_of(source)->src);
}

static struct field_value get_made(source_t *source)
{
	return (struct field_value){ .known = true, .amounts = source->change->made };
}

static struct field_value get_ended(source_t *source)
{
	return (struct field_value){ .known = true, .amounts = source->change->implicit };
}

/* ---- the detail column ----------------------------------------------------------------------- */

static void detail_free(source_t *source, struct string *out)
{
	char age[STRING_NUMBER_BYTES];

	switch (source->change->free) {
	case FREE_KNOWN:
		if (source->change->allocation.space != MS_SPACE_DEVICE)
			string_append_format(out, "%s, ",
					     probe_space_name(source->change->allocation.space));
		string_append_format(out, "%s old",
				     string_duration(age, get_age_ns(source).number));
		break;
	case FREE_PRE_ATTACH:
		string_append_text(out, "allocated before attaching");
		break;
	case FREE_UNKNOWN:
		string_append_text(out, "its allocation was not seen");
		break;
	case FREE_UNWATCHED:
		string_append_text(out, "block unknown");
		break;
	case FREE_KEPT:
		string_append_format(out, "%s, still referred to",
				     probe_space_name(source->change->allocation.space));
		break;
	case FREE_CAPTURED:
		string_append_text(out, "captured: the graph will do it");
		break;
	case FREE_NULL:
		string_append_text(out, "no address: nothing freed");
		break;
	case FREE_NONE:
		break;
	}
}

static void detail_copy(source_t *source, struct string *out)
{
	const char *before = "from ";

	if (knows(source, MS_KNOWN_DIRECTION)) {
		string_append_text(out, probe_direction_name(source->change->direction));
		before = " from ";
	}
	if (knows(source, MS_KNOWN_SRC)) {
		string_append_text(out, before);
		string_append_hex(out, call_of(source)->src);
	}
}

static void detail_launch(source_t *source, struct string *out)
{
	const struct ms_launch *launch = source->event->launch;
	const char *kernel = source->change->kernel;

	if (action_of(source) == MS_ACTION_GRAPH_LAUNCH) {
		string_append_text(out, "graph ");
		string_append_hex(out, launch->call.addr);
		field_append_amounts(out, source->change->made, " allocates ", source->exact);
		field_append_amounts(out, source->change->implicit, "; frees ", source->exact);
		return;
	}
	if (kernel) {
		field_append_safe(out, kernel, strlen(kernel));
	} else {
		string_append_text(out, "function ");
		string_append_hex(out, launch->call.addr);
	}
	if (knows(source, MS_KNOWN_DIMS))
		string_append_format(out, "<<<(%u,%u,%u),(%u,%u,%u),%u>>>", launch->grid[0],
				     launch->grid[1], launch->grid[2], launch->block[0],
				     launch->block[1], launch->block[2], launch->shared_bytes);
}

static void detail_memory(source_t *source, struct string *out)
{
	char size[STRING_NUMBER_BYTES];
	struct field_value graph = get_graph(source), free_bytes = get_free_bytes(source);
	struct device_identity identity;

	if (graph.known) {
		string_append_text(out, "graph ");
		string_append_hex(out, graph.number);
	}
	if (free_bytes.known)
		string_append_format(out, "of which %s are free",
				     source->exact ? string_count(size, free_bytes.number) :
						     string_size(size, free_bytes.number));
	if (!says_identity(source) || !event_succeeded(call_of(source)))
		return;
	device_identity_of_call(source->event, &identity);
	if (identity.has_uuid)
		device_append_uuid(out, &identity);
	if (identity.pci.known)
		device_append_pci(out, &identity);
	field_append_safe(out, identity.name, strlen(identity.name));
}

static void detail_other(source_t *source, struct string *out)
{
	const char *before = "its end frees ";

	if (op_of(source) == MS_OP_CONTEXT && knows(source, MS_KNOWN_ADDR)) {
		string_append_text(out, "context ");
		string_append_hex(out, call_of(source)->addr);
		before = "; its end frees ";
	}
	field_append_amounts(out, source->change->implicit, before, source->exact);
}

static void detail_result(source_t *source, struct string *out)
{
	struct field_value name = get_result_name(source);

	if (!knows(source, MS_KNOWN_RESULT) || call_of(source)->result == MS_CUDA_SUCCESS)
		return;
	if (name.known)
		string_append(out, name.text, name.length);
	else
		string_append_format(out, "error %d", call_of(source)->result);
	string_append_char(out, ' ');
}

static struct field_value get_detail(source_t *source)
{
	struct string *out = source->scratch;
	size_t start = out->length;

	detail_result(source, out);
	switch (op_of(source)) {
	case MS_OP_ALLOC:
		if (source->event->probe->spec.space != MS_SPACE_DEVICE)
			string_append_text(out, probe_space_name(source->event->probe->spec.space));
		if (source->change->captured)
			string_append_text(out, ", captured: the graph will do it");
		break;
	case MS_OP_MEMORY:
		detail_memory(source, out);
		break;
	case MS_OP_FREE:
		detail_free(source, out);
		break;
	case MS_OP_COPY:
		detail_copy(source, out);
		break;
	case MS_OP_LAUNCH:
		detail_launch(source, out);
		break;
	default:
		detail_other(source, out);
	}
	if (source->split && source->event->split) {
		string_append_text(out, out->length > start ? "; " : "");
		field_append_split(out, source->event->split);
	}
	return scratch(source, start);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define OP(name) (1u << MS_OP_##name)
#define OPS_NONE 0
#define OPS_BLOCK (OP(ALLOC) | OP(FREE))
#define OPS_FREE OP(FREE)
#define OPS_COPY OP(COPY)
#define OPS_LAUNCH OP(LAUNCH)
#define OPS_ALLOC OP(ALLOC)
#define OPS_MEMORY OP(MEMORY)
#define OPS_SIZED (OPS_BLOCK | OP(COPY) | OP(MEMSET) | OP(MEMORY))
#define OPS_ENDING (OP(CONTEXT) | OP(LAUNCH) | OP(FREE))
#define OPS_OTHER (OP(LAUNCH) | OP(SYNC) | OP(CONTEXT))
#define OPS_ANY (OPS_SIZED | OPS_OTHER)
#define OPS_SPLIT (OPS_ANY & ~OP(LAUNCH))

const struct field fields[] = {
#define FIELD(name, kind, ops, heading, width, description) \
	{ #name, FIELD_##kind, OPS_##ops, heading, width, description, get_##name },
#include "render/fields.def"
#undef FIELD
};

const size_t fields_count = sizeof(fields) / sizeof(*fields);
