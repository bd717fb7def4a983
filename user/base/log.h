/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages for the person at the terminal, on standard error. Data never goes through here.
 */
#ifndef MEMSCOPE_BASE_LOG_H
#define MEMSCOPE_BASE_LOG_H

enum log_level {
	LOG_ERROR,   /* always shown */
	LOG_WARNING, /* always shown */
	LOG_INFO,    /* unless -q */
	LOG_DEBUG,   /* with -v */
};

void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/*
 * From now on `take` gets messages, line by line and without what ends one, instead of standard
 * error, and there is no progress; NULL: as before.
 */
void log_divert(void (*take)(void *context, const char *line), void *context);

/*
 * A line that the next one takes the place of, as does any message; NULL: no more. Only for a
 * terminal, and only if it shows what is LOG_INFO.
 */
void log_progress(const char *line);

void log_message(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...) log_message(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_DEBUG, __VA_ARGS__)

#endif /* MEMSCOPE_BASE_LOG_H */
