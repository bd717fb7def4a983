/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where launches come from that are counted, and not recorded: the stacks of some, which chance
 * chooses. (Each Nth one would be wrong: programs launch in loops, and of a loop of N launches that
 * would always be the same one.)
 */
#ifndef MS_SAMPLE_BPF_H
#define MS_SAMPLE_BPF_H

/* Whether the call's stack is left to chance, and chance is against it. */
static __always_inline bool launch_is_passed(const struct ms_spec *spec)
{
	return is_counted(spec) &&
	       (!settings.launch_one_in || bpf_get_prandom_u32() % settings.launch_one_in != 0);
}

/* Not inline, so that its stack is given back: see ms_launch_count(). */
__noinline int ms_launch_sampled(__u32 row, __u32 stack)
{
	struct ms_launch_sample record = {};

	if (!settings.launch_one_in)
		return 0;
	event_init(&record.event, MS_TYPE_LAUNCH_SAMPLE, sizeof(record), start_of_current(),
		   bpf_ktime_get_ns());
	record.event.stack = stack;
	record.one_in = settings.launch_one_in;
	record.row = row;
	emit(MS_KIND_LAUNCH_SAMPLE, &record, sizeof(record));
	return 0;
}

/* What is left for the call's own record of its stack. The stack's record comes first. */
static __always_inline __u32 launch_sample(const struct ms_spec *spec, __u32 row, __u32 stack)
{
	return is_counted(spec) ? ms_launch_sampled(row, stack) : stack;
}

#endif /* MS_SAMPLE_BPF_H */
