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
#define OOM_PAUSE_NS (2 * SECOND_NS) /* from one bundle to the next */
#define BUNDLES_MAX 5                /* of a kind: they are as large as the ring */
#define RETRY_DOUBLINGS 6            /* one that fails is tried again after 1, 2, ... 64 s */

static const char *const names[] = {
	[TRIGGER_OOM] = "oom",
	[TRIGGER_SIGNAL] = "signal",
	[TRIGGER_EXIT] = "exit",
};

void triggers_fini(struct triggers *triggers)
{
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
	if (at_once)
		triggers->kinds[which].not_before_ns = 0;
}

static bool is_too_many(struct triggers *triggers, enum trigger_kind which)
{
	struct trigger *trigger = &triggers->kinds[which];

	if (trigger->written < BUNDLES_MAX)
		return false;
	if (!trigger->told)
		log_warning("%u bundles because of %s: no more are written", trigger->written,
			    names[which]);
	trigger->told = true;
	triggers->left_out++;
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

/* ---- writing --------------------------------------------------------------------------------- */

const char *triggers_reason(enum trigger_kind which)
{
	static const char *const reasons[] = {
		[TRIGGER_OOM] = "oom",
		[TRIGGER_SIGNAL] = "asked-for",
		[TRIGGER_EXIT] = NULL,
	};

	return reasons[which];
}

static void note_written(struct triggers *triggers, enum trigger_kind which, struct string *name,
			 uint64_t bytes, uint64_t now_ns)
{
	struct trigger *trigger = &triggers->kinds[which];
	char size[STRING_NUMBER_BYTES];

	trigger->written++;
	trigger->failures = 0;
	/* A program that tries again and again says the same each time. */
	trigger->not_before_ns = which == TRIGGER_OOM ? now_ns + OOM_PAUSE_NS : 0;
	string_fini(&triggers->bundle);
	triggers->bundle = *name;
	*name = (struct string){ 0 };
	if (triggers->asked)
		log_info("%s: %s, written because of %s", triggers->bundle.bytes,
			 string_size(size, bytes), names[which]);
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
	err = bundle_write(bundle, &name, &bytes);
	if (err)
		note_unwritten(trigger, bundle->now_ns);
	else
		note_written(triggers, which, &name, bytes, bundle->now_ns);
	string_fini(&name);
	return err;
}
