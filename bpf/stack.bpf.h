/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a call came from: walks the stack of the running thread by the tables that user space has
 * made of the unwind information of each file (symbols/unwind_table.h), and reports each stack
 * once. Uprobe programs can be preempted, so what a walk needs is kept per thread.
 */
#ifndef MS_STACK_BPF_H
#define MS_STACK_BPF_H

#define MS_RANGE_STEPS 13 /* of a search: 2^13 mappings */
#define MS_ROW_STEPS 24   /* 2^24 rows of a table */
#define MS_RETURNS 32 /* return addresses in the keeping of the kernel that are looked through */
#define MS_FRAME_BYTES_MOST (16u << 20) /* between two frame pointers */

/*
 * Where files' code is mapped in a process: pid -> struct ms_stack_range, see there. The maps in it
 * have sizes and no types: Linux 5.15 to 6.1 take none that user space has made without BTF for one
 * that has BTF (bpf_map_meta_equal() compares timer_off, which then differs).
 */
struct ms_ranges_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct ms_stack_range));
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__array(values, struct ms_ranges_inner);
} ms_stack_ranges SEC(".maps");

/* The table of each file, by its number: struct ms_unwind_row. */
struct ms_rows_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct ms_unwind_row));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MS_UNWIND_TABLES);
	__type(key, __u32);
	__array(values, struct ms_rows_inner);
} ms_unwind_tables SEC(".maps");

/* Hash of a stack that was reported -> its id. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
} ms_stack_ids SEC(".maps");

__u32 stack_ids = 0;        /* given so far */
__u32 stack_generation = 0; /* user space knows no id any more that an earlier one was given */

/* A walk, and the record that comes of it. */
struct ms_walk {
	__u64 ip, sp, bp;
	__u64 trampoline; /* the page that the kernel lets probed functions return to */
	__u64 hash;
	struct ms_stack_range range; /* that the last frame was in */
	struct ms_unwind_row row;    /* its rule */
	__u32 pid;
	__u32 count;
	__u32 pythons; /* the first of them are Python frames, so many */
	__u8 flags;    /* of the next frame */
	__u8 end;
	__u64 record[sizeof(struct ms_stack) / 8];   /* a struct ms_stack */
	struct ms_stack_frame frames[MS_STACK_MOST]; /* follow the record */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ms_walk);
} ms_walks SEC(".maps");

struct ms_walk_context {
	struct ms_walk *walk;
};

/* ---- what is where --------------------------------------------------------------------------- */

/* The first entry says how many follow, sorted. The one that begins last before `address`. */
static __always_inline bool range_find(struct ms_walk *walk, __u64 address)
{
	__u32 pid = walk->pid, low = 1, high, key = 0;
	struct ms_stack_range *range;
	void *ranges;

	if (address - walk->range.start < walk->range.end - walk->range.start)
		return true;
	ranges = bpf_map_lookup_elem(&ms_stack_ranges, &pid);
	range = ranges ? bpf_map_lookup_elem(ranges, &key) : NULL;
	if (!range)
		return false;
	high = range->start + 1;
	for (int i = 0; i < MS_RANGE_STEPS && low < high; i++) {
		key = low + (high - low) / 2;
		range = bpf_map_lookup_elem(ranges, &key);
		if (!range)
			return false;
		if (address < range->start) {
			high = key;
		} else if (address >= range->end) {
			low = key + 1;
		} else {
			walk->range = *range;
			return true;
		}
	}
	return false;
}

/* The row that begins last before `pc`; the first one says how many follow, sorted. */
static __always_inline bool row_find(struct ms_walk *walk, __u32 pc)
{
	__u32 table = walk->range.table, low = 1, high, key = 0, found = 0;
	struct ms_unwind_row *row;
	void *rows;

	if (!table)
		return false;
	rows = bpf_map_lookup_elem(&ms_unwind_tables, &table);
	row = rows ? bpf_map_lookup_elem(rows, &key) : NULL;
	if (!row)
		return false;
	high = row->pc + 1;
	for (int i = 0; i < MS_ROW_STEPS && low < high; i++) {
		key = low + (high - low) / 2;
		row = bpf_map_lookup_elem(rows, &key);
		if (!row)
			return false;
		if (row->pc <= pc) {
			walk->row = *row;
			found = 1;
			low = key + 1;
		} else {
			high = key;
		}
	}
	return found;
}

/* ---- one frame to the next ------------------------------------------------------------------- */

#define MS_WALK_GOES_ON -1 /* else: enum ms_stack_end */

/*
 * A function whose return is probed returns to the kernel's trampoline; the address that was at
 * `slot` before is in the kernel's keeping (kernel/events/uprobes.c).
 */
static __always_inline __u64 original_return(struct ms_walk *walk, __u64 address, __u64 slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct return_instance *instance;

	if (!walk->trampoline || address - walk->trampoline >= MS_TRAMPOLINE_BYTES)
		return address;
	instance = BPF_CORE_READ(task, utask, return_instances);
	for (int i = 0; i < MS_RETURNS && instance; i++) {
		if (BPF_CORE_READ(instance, stack) == slot)
			return BPF_CORE_READ(instance, orig_ret_vaddr);
		instance = BPF_CORE_READ(instance, next);
	}
	return address;
}

/* On to the frame that `slot` has the return address into. */
static __always_inline int frame_enter(struct ms_walk *walk, __u64 slot, __u64 bp)
{
	__u64 address;

	if (read_u64(&address, slot))
		return MS_STACK_END_UNREADABLE;
	walk->ip = original_return(walk, address, slot);
	walk->sp = slot + 8;
	walk->bp = bp;
	return MS_WALK_GOES_ON;
}

#define MS_SIGNAL_BP 120 /* in a ucontext_t, which a signal's handler returns to: RBP, RSP, RIP */
#define MS_SIGNAL_SP 160
#define MS_SIGNAL_IP 168

static __always_inline int frame_interrupted(struct ms_walk *walk)
{
	__u64 ip, sp, bp;

	if (read_u64(&ip, walk->sp + MS_SIGNAL_IP) || read_u64(&sp, walk->sp + MS_SIGNAL_SP) ||
	    read_u64(&bp, walk->sp + MS_SIGNAL_BP))
		return MS_STACK_END_UNREADABLE;
	walk->ip = ip;
	walk->sp = sp;
	walk->bp = bp;
	walk->flags = MS_FRAME_EXACT;
	return MS_WALK_GOES_ON;
}

/* By the frame pointer, if there can be one; else the end is for the reason `why`. */
static __always_inline int frame_by_pointer(struct ms_walk *walk, int why)
{
	__u64 bp;

	if (walk->bp < walk->sp || walk->bp - walk->sp > MS_FRAME_BYTES_MOST || walk->bp & 7 ||
	    read_u64(&bp, walk->bp) || frame_enter(walk, walk->bp + 8, bp) != MS_WALK_GOES_ON)
		return why;
	walk->flags = MS_FRAME_BY_POINTER;
	walk->end = why;
	return MS_WALK_GOES_ON;
}

static __always_inline int frame_by_row(struct ms_walk *walk)
{
	const struct ms_unwind_row row = walk->row;
	__u64 cfa, bp = walk->bp;

	switch (row.rule) {
	case MS_UNWIND_SP:
		cfa = walk->sp + 8 * (__s64)row.offset;
		break;
	case MS_UNWIND_BP:
		cfa = walk->bp + 8 * (__s64)row.offset;
		break;
	case MS_UNWIND_AT_BP:
		if (read_u64(&cfa, walk->bp + 8 * (__s64)row.offset))
			return MS_STACK_END_UNREADABLE;
		break;
	case MS_UNWIND_PLT:
		cfa = walk->sp + 8 + ((walk->ip & 15) >= (__u64)row.offset ? 8 : 0);
		break;
	case MS_UNWIND_SIGNAL:
		return frame_interrupted(walk);
	case MS_UNWIND_END:
		return MS_STACK_END_COMPLETE;
	case MS_UNWIND_NONE:
		return frame_by_pointer(walk, MS_STACK_END_NO_RULE);
	default:
		return MS_STACK_END_UNSUPPORTED;
	}
	if (cfa <= walk->sp)
		return MS_STACK_END_LOOP;
	if (row.bp == MS_UNWIND_BP_AT_BP) {
		if (read_u64(&bp, walk->bp))
			return MS_STACK_END_UNREADABLE;
	} else if (row.bp && read_u64(&bp, cfa - 8 * (__u64)row.bp)) {
		return MS_STACK_END_UNREADABLE;
	}
	return frame_enter(walk, cfa - 8, bp);
}

static __always_inline int walk_on(struct ms_walk *walk)
{
	struct ms_stack_frame *frame;
	__u32 count = walk->count;
	__u64 address;
	bool found;

	if (!walk->ip)
		return MS_STACK_END_COMPLETE; /* a thread that a library has begun by hand */
	/* Behind a call there may be another function already: one that does not return ends. */
	address = walk->flags & MS_FRAME_EXACT ? walk->ip : walk->ip - 1;
	found = range_find(walk, address);
	if (!found && walk->flags & MS_FRAME_BY_POINTER)
		return walk->end; /* it was no frame pointer */
	if (count >= MS_STACK_MOST || count >= settings.stack_depth)
		return MS_STACK_END_DEPTH;
	barrier_var(count);
	frame = &walk->frames[count & (MS_STACK_MOST - 1)];
	frame->address = walk->ip;
	frame->detail = 0;
	frame->check = 0;
	frame->kind = MS_FRAME_NATIVE;
	frame->flags = walk->flags;
	walk->count = count + 1;
	walk->hash = (walk->hash ^ walk->ip) * 0x9e3779b97f4a7c15ull;
	walk->hash ^= walk->hash >> 29;
	walk->flags = 0;
	if (!found)
		return frame_by_pointer(walk, MS_STACK_END_NO_MODULE);
	if (!row_find(walk, address - walk->range.bias))
		return frame_by_pointer(walk, MS_STACK_END_NO_TABLE);
	return frame_by_row(walk);
}

static long walk_step(__u32 index, void *context)
{
	struct ms_walk *walk = ((struct ms_walk_context *)context)->walk;
	int end = walk_on(walk);

	if (end == MS_WALK_GOES_ON)
		return 0;
	walk->end = end;
	return 1;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* The function has yet to change the stack and the frame pointer. */
static __always_inline int caller_enter(struct ms_walk *walk, __u64 sp, __u64 bp, __u64 link)
{
	walk->ip = link;
	walk->sp = sp;
	walk->bp = bp;
	return MS_RETURN_IN_REGISTER ? MS_WALK_GOES_ON : frame_enter(walk, sp, bp);
}

static __always_inline struct ms_walk *walk_get(__u64 flags)
{
	return bpf_task_storage_get(&ms_walks, bpf_get_current_task_btf(), NULL, flags);
}

/*
 * The steps are functions of their own: the verifier looks at each once, and the stack that
 * one needs, the next has again.
 *
 * `sp`: the stack pointer where the function begins, `bp`: the frame pointer, `link`: the return
 * address where that is in a register. Returns whether there is something to walk.
 */
__noinline int ms_stack_begin(__u64 sp, __u64 bp, __u64 link)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct xol_area *area;
	struct ms_walk *walk;

	if (!settings.stack_ops)
		return 0;
	walk = walk_get(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!walk)
		return 0;
	area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
	walk->trampoline = area ? BPF_CORE_READ(area, vaddr) : 0;
	walk->hash = 0;
	walk->count = walk->pythons = 0;
	walk->flags = 0;
	walk->end = 0;
	walk->pid = task->tgid;
	/* Mappings may have changed. */
	walk->range.start = walk->range.end = 0;
	return caller_enter(walk, sp, bp, link) == MS_WALK_GOES_ON;
}

/*
 * They come first, wherever they belong: user space knows which functions they stand for. Returns
 * whether there are any.
 */
__noinline int ms_stack_python(void)
{
	struct ms_walk *walk;
	__u32 most = settings.stack_depth;

	if (!settings.stack_ops)
		return 0;
	walk = walk_get(0);
	if (!walk)
		return 0;
	if (settings.stack_kinds & 1u << MS_FRAME_NATIVE)
		most = (most + 1) / 2;
	walk->count = walk->pythons = python_walk(walk->frames, most, &walk->hash);
	return walk->count != 0;
}

__noinline int ms_stack_walk(__u32 most)
{
	struct ms_walk_context context = {};

	if (!settings.stack_ops)
		return 0;
	context.walk = walk_get(0);
	if (context.walk)
		bpf_loop(most, walk_step, &context, 0);
	return 0;
}

/* Returns the stack's id; 0: it has not been reported. */
__noinline int ms_stack_end(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ms_walk *walk;
	__u32 *known;

	if (!settings.stack_ops)
		return 0;
	walk = walk_get(0);
	if (!walk)
		return 0;
	/* A stack that ends early is another one than its beginning; so is another program's. */
	walk->hash = (walk->hash ^ (__u64)task->tgid << 32 ^ task->self_exec_id << 8 ^ walk->end) *
		     0x9e3779b97f4a7c15ull;
	walk->hash += (__u64)stack_generation * 0x9e3779b97f4a7c15ull;
	known = bpf_map_lookup_elem(&ms_stack_ids, &walk->hash);
	return known ? *known : 0;
}

/* What its Python frames are is known when the stack comes. */
__noinline int ms_stack_name_python(void)
{
	struct ms_walk *walk;

	if (!settings.stack_ops)
		return 0;
	walk = walk_get(0);
	if (walk && walk->pythons)
		python_report(walk->frames);
	return 0;
}

/* Returns the stack's id; 0: its record was lost. */
__noinline int ms_stack_report(void)
{
	struct ms_stack *record;
	struct ms_walk *walk;
	__u64 size;
	__u32 id;

	if (!settings.stack_ops)
		return 0;
	walk = walk_get(0);
	if (!walk)
		return 0;
	record = (struct ms_stack *)walk->record;
	id = __sync_fetch_and_add(&stack_ids, 1) + 1;
	record->hash = walk->hash;
	record->id = id;
	record->count = walk->count;
	record->end = walk->end;
	record->form = MS_STACK_ADDRESSES;
	size = sizeof(*record) + (__u64)record->count * sizeof(walk->frames[0]);
	event_init(&record->event, MS_TYPE_STACK, size, start_of(bpf_get_current_task_btf()),
		   bpf_ktime_get_ns());
	count_seen(MS_KIND_STACK);
	barrier_var(size);
	if (size > sizeof(*record) + sizeof(walk->frames) ||
	    ring_output(false, record, size, BPF_RB_NO_WAKEUP)) {
		count_lost(MS_KIND_STACK);
		return 0;
	}
	/* If another thread was faster, its id is as good. */
	bpf_map_update_elem(&ms_stack_ids, &walk->hash, &id, BPF_ANY);
	return id;
}

/* Whether the calling process is to cost less than its stacks do. */
static __always_inline bool is_stackless(void)
{
	return stackless_targets &&
	       target_flags(bpf_get_current_pid_tgid() >> 32) & MS_TARGET_STACKLESS;
}

/*
 * The stack, by its id, of a function of that op that begins with the stack pointer `sp`; 0: none
 * is wanted, or there is no memory.
 */
static __always_inline __u32 stack_take(struct pt_regs *ctx, __u32 op, __u64 sp)
{
	bool has_python;
	__u32 id;

	if (!(settings.stack_ops >> (op & 31) & 1) || is_stackless() ||
	    !ms_stack_begin(sp, regs_frame_pointer(ctx), regs_link(ctx)))
		return 0;
	has_python = settings.stack_kinds & 1u << MS_FRAME_PYTHON && ms_stack_python();
	if (settings.stack_kinds & 1u << MS_FRAME_NATIVE)
		ms_stack_walk(MS_STACK_MOST + 1);
	else if (!has_python)
		return 0;
	id = ms_stack_end();
	if (id)
		return id;
	if (has_python)
		ms_stack_name_python();
	return ms_stack_report();
}

static __always_inline __u32 stack_of_call(struct pt_regs *ctx, const struct ms_spec *spec,
					   __u64 sp)
{
	return stack_take(ctx, spec->op, sp);
}

#endif /* MS_STACK_BPF_H */
