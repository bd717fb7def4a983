/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of YAML that configurations of a few names and values need: mappings of scalars, each on
 * a line of its own, inside of mappings. Pure.
 */
#ifndef MEMSCOPE_AGENT_WEB_YAML_H
#define MEMSCOPE_AGENT_WEB_YAML_H

#define WEB_YAML_DEPTH 3

struct web_yaml_value {
	const char *names[WEB_YAML_DEPTH]; /* from the outermost on; "" behind the last one */
	const char *text;                  /* NULL: a mapping, or nothing */
	unsigned int line;
};

/*
 * Calls `take` for each name, in order; it returns NULL, or what is wrong, for people. `text` is
 * changed meanwhile. Returns NULL, or what is wrong, and in which line.
 */
const char *web_yaml_read(char *text, const char *(*take)(void *, const struct web_yaml_value *),
			  void *context, unsigned int *line);

#endif /* MEMSCOPE_AGENT_WEB_YAML_H */
