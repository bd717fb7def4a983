// SPDX-License-Identifier: BSD-2-Clause
#include "store/triggers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "store/dump_name.h"

#define SECOND_NS 1000000000ull
#define HOUR_NS (3600 * SECOND_NS)
#define OOM_PAUSE_NS (2 * SECOND_NS) /* from one bundle to the next */
#define BUNDLES_MAX 5                /* that are asked for: they are as large as the ring */
#define RETRY_DOUBLINGS 6            /* one that fails is tried again after 1, 2, ... 64 s */

static const char *const names[] = {
	[TRIGGER_OOM] = "oom",
	[TRIGGER_SIGNAL] = "signal",
	[TRIGGER_LIMIT] = "limit",
	[TRIGGER_EXIT] = "exit",
};

void triggers_fini(struct triggers *triggers)
{
	size_t i;

	for (i = 0; i < OOM_BUNDLES_KEPT; i++)
		string_fini(&triggers->kept[i].name);
	string_fini(&triggers->bundle);
}

bool triggers_asked(const struct triggers *triggers, enum trigger_kind which)
{
	return triggers->asked >> which & 1;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int refuse_directory(const char *path)
{
	log_error("%s: is a directory; name a file in it with -o", path);
	return -EISDIR;
}

/* A dangling link is in the way, too. */
static int check_free(const char *path)
{
	struct stat status;

	if (fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (S_ISDIR(status.st_mode))
		return refuse_directory(path);
	if (dump_file_is_irregular(path))
		log_error("%s: a recording needs a regular file; choose another name with -o",
			  path);
	else
		log_error("%s: exists; remove it, or choose another name with -o", path);
	return -EEXIST;
}

/* The other bundles take the next number. */
int triggers_check_names(const struct triggers *triggers, const char *path)
{
	struct string name = { 0 };
	int err;

	if (*path && path[strlen(path) - 1] == '/')
		return refuse_directory(path);
	if (!triggers->asked)
		return check_free(path);
	if (!triggers_asked(triggers, TRIGGER_EXIT))
		return 0;
	dump_name_with(&name, path, names[TRIGGER_EXIT]);
	err = name.failed ? -ENOMEM : check_free(name.bytes);
	string_fini(&name);
	return err;
}

/* ---- when ------------------------------------------------------------------------------------ */

void triggers_pull(struct triggers *triggers, enum trigger_kind which, bool at_once)
{
	triggers->kinds[which].pulled = true;
	if (!at_once)
		return;
	triggers->kinds[which].not_before_ns = 0;
	triggers->said = 0; /* who asks for one is told if there is still no room */
}

/* How many bundles were written in the last hour: of one process, or (0) of all. */
static uint32_t count_lately(const struct triggers *triggers, uint32_t pid, uint64_t now_ns)
{
	uint32_t count = 0, i;

	for (i = 0; i < OOM_BUNDLES_AN_HOUR; i++)
		count += triggers->lately[i].ts_ns &&
			 now_ns - triggers->lately[i].ts_ns < HOUR_NS &&
			 (!pid || triggers->lately[i].pid == pid);
	return count;
}

static int gravity(enum oom_outcome outcome)
{
	static const int order[OOM_OUTCOMES_COUNT] = {
		[OOM_RECOVERED] = 0, [OOM_BACKED_OFF] = 1, [OOM_HANDLED] = 2,
		[OOM_OPEN] = 3,      [OOM_GAVE_UP] = 4,    [OOM_FATAL] = 5,
	};

	return order[outcome];
}

void triggers_pull_oom(struct triggers *triggers, uint32_t pid, uint64_t failed_ns,
		       enum oom_outcome outcome, uint64_t now_ns)
{
	struct trigger *trigger = &triggers->kinds[TRIGGER_OOM];

	if (!triggers_asked(triggers, TRIGGER_OOM))
		return;
	/* A program that recovers again and again leaves places for others, and for its end. */
	if (triggers->an_hour && gravity(outcome) < gravity(OOM_OPEN) &&
	    count_lately(triggers, pid, now_ns) >= (triggers->an_hour + 1) / 2) {
		if (!triggers->left_out++)
			log_warning("process %u has had %u bundle%s within an hour: its further"
				    " failures that end well have none; the ring has them",
				    pid, (triggers->an_hour + 1) / 2,
				    triggers->an_hour > 2 ? "s" : "");
		return;
	}
	if (!trigger->pulled || gravity(outcome) >= gravity(triggers->outcome)) {
		triggers->outcome = outcome;
		triggers->pid = pid;
		triggers->failed_ns = failed_ns;
	}
	trigger->pulled = true;
}

static bool is_too_many(struct triggers *triggers, enum trigger_kind which)
{
	struct trigger *trigger = &triggers->kinds[which];

	if (which != TRIGGER_SIGNAL || trigger->written < (triggers->most_asked ?: BUNDLES_MAX))
		return false;
	if (!trigger->told)
		log_warning("%u bundles because of %s: no more are written", trigger->written,
			    names[which]);
	trigger->told = true;
	triggers->left_out++;
	return true;
}

/* There have been enough in this hour: the next waits. */
static bool must_wait(struct triggers *triggers, enum trigger_kind which, uint64_t now_ns)
{
	struct trigger *trigger = &triggers->kinds[which];

	if (which != TRIGGER_OOM || !triggers->an_hour ||
	    count_lately(triggers, 0, now_ns) < triggers->an_hour)
		return false;
	if (!trigger->told)
		log_warning("%u bundles because of %s within an hour: the next waits",
			    triggers->an_hour, names[which]);
	trigger->told = true;
	return true;
}

/* One that is too soon waits, so that the last one is that of the fatal failure. */
bool triggers_take(struct triggers *triggers, enum trigger_kind which, uint64_t now_ns,
		   bool now_or_never)
{
	struct trigger *trigger = &triggers->kinds[which];

	if (!trigger->pulled || !triggers_asked(triggers, which) ||
	    (now_ns < trigger->not_before_ns && !now_or_never))
		return false;
	if (must_wait(triggers, which, now_ns)) {
		/* In the end there is no later hour. */
		triggers->left_out += now_or_never;
		trigger->pulled = !now_or_never;
		return false;
	}
	trigger->pulled = false;
	return !is_too_many(triggers, which);
}

bool triggers_missing(const struct triggers *triggers)
{
	int which;

	for (which = 0; which < TRIGGERS_COUNT; which++)
		if (triggers->kinds[which].pulled && triggers_asked(triggers, which))
			return true;
	return false;
}

struct bundle_counts triggers_counts(const struct triggers *triggers)
{
	struct bundle_counts counts = { .failed = triggers->failed,
					.withheld = triggers->left_out,
					.waits = triggers_missing(triggers) };
	int which;

	for (which = 0; which < TRIGGERS_COUNT; which++)
		counts.written += triggers->kinds[which].written;
	return counts;
}

/* ---- writing --------------------------------------------------------------------------------- */

const char *triggers_reason(enum trigger_kind which)
{
	static const char *const reasons[] = {
		[TRIGGER_OOM] = "oom",
		[TRIGGER_SIGNAL] = "asked-for",
		[TRIGGER_LIMIT] = "limit",
		[TRIGGER_EXIT] = NULL,
	};

	return reasons[which];
}

/* Others may have failed since. */
void triggers_describe_end(const struct triggers *triggers, enum trigger_kind which,
			   struct properties *end)
{
	if (which != TRIGGER_OOM)
		return;
	properties_put(end, "outcome", oom_outcome_name(triggers->outcome));
	properties_put_u64(end, "failed_pid", triggers->pid);
	properties_put_u64(end, "failed_ns", triggers->failed_ns);
}

/* Unless something else has been put in its place. */
static void remove_bundle(const struct oom_bundle *bundle)
{
	struct stat status;

	if (!bundle->name.length || lstat(bundle->name.bytes, &status) ||
	    status.st_dev != bundle->device || status.st_ino != bundle->inode)
		return;
	if (!unlink(bundle->name.bytes))
		log_info("%s: removed (%s), as there are newer ones", bundle->name.bytes,
			 oom_outcome_name(bundle->outcome));
}

/* The oldest of those that matter least. */
static void make_room(struct triggers *triggers)
{
	uint32_t least = 0, i;

	if (triggers->kept_count < OOM_BUNDLES_KEPT)
		return;
	for (i = 1; i < triggers->kept_count; i++)
		if (gravity(triggers->kept[i].outcome) < gravity(triggers->kept[least].outcome))
			least = i;
	remove_bundle(&triggers->kept[least]);
	string_fini(&triggers->kept[least].name);
	triggers->kept_count--;
	memmove(&triggers->kept[least], &triggers->kept[least + 1],
		(triggers->kept_count - least) * sizeof(*triggers->kept));
	triggers->kept[triggers->kept_count].name = (struct string){ 0 };
}

static void note_oom(struct triggers *triggers, uint64_t now_ns)
{
	struct trigger *trigger = &triggers->kinds[TRIGGER_OOM];
	struct oom_bundle *kept;
	struct stat status;

	/* A program that tries again and again says the same each time. */
	trigger->not_before_ns = now_ns + OOM_PAUSE_NS;
	trigger->told = false;
	triggers->lately[triggers->lately_next].ts_ns = now_ns;
	triggers->lately[triggers->lately_next].pid = triggers->pid;
	triggers->lately_next = (triggers->lately_next + 1) % OOM_BUNDLES_AN_HOUR;
	make_room(triggers);
	kept = &triggers->kept[triggers->kept_count];
	*kept = (struct oom_bundle){ .outcome = triggers->outcome,
				     .pid = triggers->pid,
				     .written_ns = now_ns };
	if (lstat(triggers->bundle.bytes, &status))
		return;
	string_append(&kept->name, triggers->bundle.bytes, triggers->bundle.length);
	if (kept->name.failed) {
		string_fini(&kept->name);
		return;
	}
	kept->device = status.st_dev;
	kept->inode = status.st_ino;
	triggers->kept_count++;
}

static void note_written(struct triggers *triggers, enum trigger_kind which, struct string *name,
			 uint64_t bytes, uint64_t now_ns)
{
	struct trigger *trigger = &triggers->kinds[which];
	char size[STRING_NUMBER_BYTES];

	trigger->written++;
	trigger->failures = 0;
	trigger->not_before_ns = 0;
	string_fini(&triggers->bundle);
	triggers->bundle = *name;
	*name = (struct string){ 0 };
	if (which == TRIGGER_OOM)
		log_info("%s: %s, written because of %s (%s)", triggers->bundle.bytes,
			 string_size(size, bytes), names[which],
			 oom_outcome_name(triggers->outcome));
	else if (triggers->asked)
		log_info("%s: %s, written because of %s", triggers->bundle.bytes,
			 string_size(size, bytes), names[which]);
	if (which == TRIGGER_OOM)
		note_oom(triggers, now_ns);
}

/* A large ring takes long to copy, to a full disk too. */
static void note_unwritten(struct trigger *trigger, uint64_t now_ns)
{
	trigger->pulled = true;
	trigger->not_before_ns = now_ns + (SECOND_NS << trigger->failures);
	if (trigger->failures < RETRY_DOUBLINGS)
		trigger->failures++;
}

int triggers_write(struct triggers *triggers, enum trigger_kind which, struct bundle *bundle)
{
	struct trigger *trigger = &triggers->kinds[which];
	struct string name = { 0 };
	uint64_t bytes = 0;
	int err;

	bundle->suffix = triggers->asked ? names[which] : NULL;
	bundle->number = which == TRIGGER_EXIT ? 0 : trigger->written + 1;
	bundle->said = triggers->said;
	err = bundle_write(bundle, &name, &bytes);
	triggers->failed += err != 0;
	triggers->said = err;
	if (err)
		note_unwritten(trigger, bundle->now_ns);
	else
		note_written(triggers, which, &name, bytes, bundle->now_ns);
	string_fini(&name);
	return err;
}
