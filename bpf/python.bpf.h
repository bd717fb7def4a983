/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Python frames of a thread: finds its PyThreadState in the interpreters' lists, follows the
 * chain of its frames, and makes a record of each code object that it sees for the first time, so
 * that names are known when the process is gone. Where the fields are, user space says
 * (python_abi.h). All of it is memory of the traced program: reads are bounded, and what does not
 * fit together is at worst a wrong name.
 *
 * The lists are searched, whatever CPython says is the current thread: that is none while the
 * global lock is released, as it is in most calls of CUDA.
 */
#ifndef MS_PYTHON_BPF_H
#define MS_PYTHON_BPF_H

#define MS_PYTHON_DEPTH 64     /* frames of a stack */
#define MS_PYTHON_SHIMS 64     /* between them */
#define MS_PYTHON_THREADS 1024 /* that are searched for one */

/* These two have no room unless stacks have Python frames. */

/* Python processes: pid -> where its runtime is. The kernel side copies it to forked children. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct ms_python);
} ms_pythons SEC(".maps");

struct ms_python_seen {
	__u64 program; /* start of the process and its program */
	__u64 code;
	__u32 pid;
	__u32 check;
};

/* Code objects whose record has been made. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct ms_python_seen);
	__type(value, __u64);
} ms_python_codes SEC(".maps");

#define MS_PYTHON_WORDS (MS_PYTHON_IMAGE / 8 + 1) /* a field may begin in the last but one */

/* What the walk of a thread needs memory for: old kernels have little on the stack. */
struct ms_python_thread {
	__u64 state; /* its PyThreadState, or one that was */
	/* The search for it: */
	__u64 self;        /* what it is known by */
	__u64 interpreter; /* the next one */
	__u64 looked_at;   /* a PyThreadState: in the end what was found, or the last of all */
	__u64 next_state;  /* 0: to be looked for in the next interpreter */
	__u32 found;
	/* The walk: */
	__u32 count, most; /* frames that there are, and may be */
	__u32 flags;       /* of all of them */
	__u64 next_frame;
	__u64 hash;                   /* of all frames */
	__u64 lost;                   /* records of code objects that found no room */
	__u64 frame[MS_PYTHON_WORDS]; /* images of what is looked at */
	__u64 code[MS_PYTHON_WORDS];
	__u64 record[(sizeof(struct ms_python_code) + MS_PYTHON_LINES_BYTES) / 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ms_python_thread);
} ms_python_threads SEC(".maps");

/* The part of the kernel's that vmlinux.h lacks. */
struct thread_struct___python {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

struct task_struct___python {
	struct thread_struct___python thread;
} __attribute__((preserve_access_index));

/* pthread_self(), as PyThreadState.thread_id has it; 0: not known on this architecture. */
static __always_inline __u64 python_self(void)
{
#ifdef __TARGET_ARCH_x86
	struct task_struct___python *task = (void *)bpf_get_current_task_btf();

	return BPF_CORE_READ(task, thread.fsbase);
#else
	return 0;
#endif
}

static __always_inline __u64 python_word(const __u64 *image, __u32 offset)
{
	__u64 value;

	barrier_var(offset);
	offset &= MS_PYTHON_IMAGE - 1;
	__builtin_memcpy(&value, (const char *)image + offset, sizeof(value));
	return value;
}

static __always_inline int python_image(__u64 *image, __u32 bytes, __u64 addr)
{
	barrier_var(bytes);
	bytes &= MS_PYTHON_IMAGE - 1;
	return bpf_probe_read_user(image, bytes, (const void *)addr);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* What the steps of a loop share; pointers cannot be kept in maps. */
struct ms_python_walk {
	const struct ms_python *python;
	struct ms_python_thread *thread;
	struct ms_stack_frame *frames;
};

static long python_search_step(__u32 index, struct ms_python_walk *walk)
{
	const struct ms_python *python = walk->python;
	struct ms_python_thread *thread = walk->thread;
	__u64 interpreter = thread->interpreter, id;

	if (!thread->next_state)
		return !interpreter ||
		       read_u64(&thread->next_state, interpreter + python->interpreter_threads) ||
		       read_u64(&thread->interpreter, interpreter + python->interpreter_next);
	thread->looked_at = thread->next_state;
	if (read_u64(&id, thread->looked_at + python->thread_id))
		return 1;
	if (id == thread->self) {
		thread->found = 1;
		return 1;
	}
	return read_u64(&thread->next_state, thread->looked_at + python->thread_next) != 0;
}

static __always_inline __u64 python_first_frame(const struct ms_python *python, __u64 state)
{
	__u64 frame;

	if (!state || read_u64(&frame, state + python->thread_frame) || !frame)
		return 0;
	if (python->cframe_frame != MS_PYTHON_NONE &&
	    read_u64(&frame, frame + python->cframe_frame))
		return 0;
	return frame;
}

/*
 * The innermost frame of the running thread, 0: it has none. If it has no PyThreadState, or runs
 * no Python code (PyTorch's autograd threads), the frame is of the oldest one in the first
 * interpreter: of the thread that has most likely started what this one does.
 */
static __always_inline __u64 python_begin(struct ms_python_walk *walk)
{
	const struct ms_python *python = walk->python;
	struct ms_python_thread *thread = walk->thread;
	__u64 id, frame;

	thread->self = python_self();
	thread->flags = 0;
	/* What was its state may be that of nothing any more: then it has no frames. */
	if (thread->state && !read_u64(&id, thread->state + python->thread_id) &&
	    id == thread->self) {
		frame = python_first_frame(python, thread->state);
		if (frame)
			return frame;
	}
	thread->state = thread->looked_at = thread->next_state = 0;
	thread->found = 0;
	if (!thread->self ||
	    read_u64(&thread->interpreter, python->runtime + python->interpreters_head))
		return 0;
	bpf_loop(MS_PYTHON_THREADS, python_search_step, walk, 0);
	if (thread->found) {
		thread->state = thread->looked_at;
		frame = python_first_frame(python, thread->state);
		if (frame || read_u64(&thread->next_state, thread->state + python->thread_next))
			return frame;
		/* To the oldest one. */
		thread->self = 0;
		bpf_loop(MS_PYTHON_THREADS, python_search_step, walk, 0);
	}
	thread->flags = MS_FRAME_INFERRED;
	return python_first_frame(python, thread->looked_at);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static __always_inline __u32 python_check(const struct ms_python *python, const __u64 *image)
{
	const __u32 begin = python->code_begin;

	return ms_python_check(python_word(image, python->code_first_line - begin),
			       python_word(image, python->code_filename - begin),
			       python_word(image, python->code_name - begin),
			       python_word(image, python->code_lines - begin));
}

static __always_inline __s32 python_offset(const struct ms_python *python, __u64 instr, __u64 code)
{
	if (python->flags & MS_PYTHON_INSTR_ADDRESS)
		return (__s32)(instr - code - python->code_instructions);
	return python->flags & MS_PYTHON_INSTR_UNITS ? (__s32)instr * 2 : (__s32)instr;
}

/* The place of the frame with that number, or NULL: there is no room for it. */
static __always_inline struct ms_stack_frame *python_place(const struct ms_python_walk *walk,
							   __u32 number)
{
	barrier_var(number);
	return number < MS_PYTHON_DEPTH && number < walk->thread->most ? &walk->frames[number] :
									 NULL;
}

static __always_inline void python_mark(const struct ms_python_walk *walk, __u8 flag)
{
	struct ms_stack_frame *last = python_place(walk, walk->thread->count - 1);

	if (last)
		last->flags |= flag;
}

/* Whether a call of the evaluating function ends with this frame. */
static __always_inline bool python_is_entry(const struct ms_python *python, const __u64 *image)
{
	if (python->flags & MS_PYTHON_FRAME_PER_EVAL)
		return true;
	return python->flags & MS_PYTHON_ENTRY_FLAG &&
	       (python_word(image, python->frame_owner) & 0xff);
}

static __always_inline void python_note(struct ms_python_thread *thread,
					const struct ms_stack_frame *frame)
{
	__u64 hash = thread->hash;

	hash = (hash ^ frame->address ^ (__u64)frame->check << 16) * 0xbf58476d1ce4e5b9ull;
	hash = (hash ^ hash >> 29 ^ (__u32)frame->detail) * 0x94d049bb133111ebull;
	thread->hash = hash;
	thread->count++;
}

static long python_walk_step(__u32 index, struct ms_python_walk *walk)
{
	const struct ms_python *python = walk->python;
	struct ms_python_thread *thread = walk->thread;
	struct ms_stack_frame *frame;
	__u64 code;

	if (!thread->next_frame)
		return 1;
	frame = python_place(walk, thread->count);
	if (!frame || python_image(thread->frame, python->frame_bytes, thread->next_frame)) {
		python_mark(walk, MS_FRAME_MORE);
		return 1;
	}
	thread->next_frame = python_word(thread->frame, python->frame_previous);
	if (python->shim_owner &&
	    (python_word(thread->frame, python->frame_owner) & 0xff) >= python->shim_owner) {
		python_mark(walk, MS_FRAME_ENTRY);
		return 0;
	}
	/* 3.14 keeps flags in the lowest bits of a reference. */
	code = python_word(thread->frame, python->frame_code) & ~7ull;
	frame->address = code;
	frame->detail =
		python_offset(python, python_word(thread->frame, python->frame_instr), code);
	frame->check = 0;
	if (!python_image(thread->code, python->code_bytes, code + python->code_begin))
		frame->check = python_check(python, thread->code);
	frame->kind = MS_FRAME_PYTHON;
	frame->flags = thread->flags;
	__builtin_memset(frame->reserved, 0, sizeof(frame->reserved));
	python_note(thread, frame);
	if (python_is_entry(python, thread->frame))
		python_mark(walk, MS_FRAME_ENTRY);
	return 0;
}

static __always_inline const struct ms_python *python_of(__u32 pid)
{
	return bpf_map_lookup_elem(&ms_pythons, &pid);
}

/*
 * Writes the Python frames of the running thread, the innermost first, at most MS_PYTHON_DEPTH, and
 * a hash of them. Returns how many there are.
 */
static __always_inline __u32 python_walk(struct ms_stack_frame *frames, __u32 most, __u64 *hash)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ms_python_walk walk = { .frames = frames };
	struct ms_python_thread *thread;

	walk.python = python_of(task->tgid);
	if (!walk.python)
		return 0;
	thread = bpf_task_storage_get(&ms_python_threads, task, NULL,
				      BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return 0;
	walk.thread = thread;
	thread->count = 0;
	thread->most = most;
	thread->hash = 0;
	thread->next_frame = python_begin(&walk);
	bpf_loop(MS_PYTHON_DEPTH + MS_PYTHON_SHIMS, python_walk_step, &walk, 0);
	*hash = thread->hash;
	return thread->count < MS_PYTHON_DEPTH ? thread->count : MS_PYTHON_DEPTH;
}

/* ---- code objects ---------------------------------------------------------------------------- */

/* How a str's characters lie: PyASCIIObject.state of 3.8 to 3.13, else of later ones. */
static __always_inline __u32 python_width(__u64 state, bool *is_ascii)
{
	__u32 width;

	if (!(state >> 5 & 1) || !(state >> 2 & 7))
		state >>= 14;
	width = state >> 2 & 7;
	*is_ascii = state >> 6 & 1;
	return state >> 5 & 1 && (width == 1 || width == 2 || width == 4) ? width : 0;
}

static __always_inline void python_text(const struct ms_python *python, __u64 addr,
					struct ms_python_text *text, __u8 *bytes)
{
	__u64 length, state, total;
	bool is_ascii;
	__u32 width;

	__builtin_memset(text, 0, sizeof(*text));
	text->addr = addr;
	if (read_u64(&length, addr + python->text_length) ||
	    read_u32(&state, addr + python->text_state))
		return;
	width = python_width(state, &is_ascii);
	if (!width || length >> 32)
		return;
	total = length * width;
	if (total > MS_PYTHON_TEXT_BYTES)
		total = MS_PYTHON_TEXT_BYTES;
	barrier_var(total);
	if (total > MS_PYTHON_TEXT_BYTES)
		return;
	addr += is_ascii ? python->text_ascii : python->text_compact;
	if (bpf_probe_read_user(bytes, total, (const void *)addr))
		return;
	text->length = length;
	text->bytes = total;
	text->width = width;
	text->is_ascii = is_ascii;
}

static __always_inline void python_lines(const struct ms_python *python,
					 struct ms_python_code *record)
{
	__u64 size;

	record->lines_size = record->lines_bytes = 0;
	if (read_u64(&size, record->lines_addr + python->bytes_size) || size >> 32)
		return;
	record->lines_size = size;
	if (size > MS_PYTHON_LINES_BYTES)
		size = MS_PYTHON_LINES_BYTES;
	barrier_var(size);
	if (size <= MS_PYTHON_LINES_BYTES &&
	    !bpf_probe_read_user(record->lines, size,
				 (const void *)(record->lines_addr + python->bytes_data)))
		record->lines_bytes = size;
}

/* Returns 0 if user space will have it. */
static __always_inline int python_record(const struct ms_python *python,
					 struct ms_python_thread *thread,
					 const struct ms_stack_frame *frame)
{
	struct ms_python_code *record = (struct ms_python_code *)thread->record;
	const __u32 begin = python->code_begin;
	__u64 size;

	if (python_image(thread->code, python->code_bytes, frame->address + begin) ||
	    python_check(python, thread->code) != frame->check)
		return -1;
	event_init(&record->event, MS_TYPE_PYTHON_CODE, 0, start_of(bpf_get_current_task_btf()),
		   bpf_ktime_get_ns());
	record->code = frame->address;
	record->check = frame->check;
	record->version = python->version;
	record->first_line = python_word(thread->code, python->code_first_line - begin);
	record->lines_addr = python_word(thread->code, python->code_lines - begin);
	record->reserved = 0;
	python_text(python, python_word(thread->code, python->code_filename - begin),
		    &record->filename, record->filename_bytes);
	python_text(python, python_word(thread->code, python->code_name - begin), &record->name,
		    record->name_bytes);
	python_lines(python, record);
	size = (record->lines_bytes + 7) & ~7u;
	barrier_var(size);
	if (size > MS_PYTHON_LINES_BYTES)
		return -1;
	size += sizeof(*record);
	record->event.size = size;
	count_seen(MS_KIND_STACK);
	if (!ring_output(false, record, size, BPF_RB_NO_WAKEUP))
		return 0;
	thread->lost++;
	return -1;
}

static long python_report_step(__u32 index, struct ms_python_walk *walk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct ms_stack_frame *frame = python_place(walk, index);
	struct ms_python_seen key = {};
	__u64 once = 1;

	if (!frame || index >= walk->thread->count)
		return 1;
	key.program = start_of(bpf_get_current_task_btf()) + task->self_exec_id;
	key.code = frame->address;
	key.pid = task->tgid;
	key.check = frame->check;
	if (!bpf_map_lookup_elem(&ms_python_codes, &key) &&
	    !python_record(walk->python, walk->thread, frame))
		bpf_map_update_elem(&ms_python_codes, &key, &once, BPF_ANY);
	return 0;
}

/*
 * Makes records of those code objects that are new, of the frames that python_walk() wrote. A
 * caller that reports a stack calls it before: what the frames are is known when the stack comes.
 */
static __always_inline int python_report(struct ms_stack_frame *frames)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ms_python_walk walk = { .frames = frames };

	walk.python = python_of(task->tgid);
	if (!walk.python)
		return 0;
	walk.thread = bpf_task_storage_get(&ms_python_threads, task, NULL, 0);
	if (!walk.thread)
		return 0;
	walk.thread->lost = 0;
	bpf_loop(MS_PYTHON_DEPTH, python_report_step, &walk, 0);
	for (__u32 i = 0; i < MS_PYTHON_DEPTH && i < walk.thread->lost; i++)
		count_lost(MS_KIND_STACK);
	return 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* A forked child has its parent's memory, where its parent has it. */
static __always_inline void python_fork(__u32 parent, __u32 child)
{
	const struct ms_python *python = python_of(parent);

	if (python)
		bpf_map_update_elem(&ms_pythons, &child, python, BPF_ANY);
}

static __always_inline void python_gone(__u32 pid)
{
	bpf_map_delete_elem(&ms_pythons, &pid);
}

#endif /* MS_PYTHON_BPF_H */
