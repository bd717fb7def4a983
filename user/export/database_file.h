/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How SQLite writes to a file that has no name, or must not be looked for by its name: it is given
 * a descriptor. No other program has the file, and a database that is not whole is thrown away, so
 * that there are no locks and no journals.
 */
#ifndef MEMSCOPE_EXPORT_DATABASE_FILE_H
#define MEMSCOPE_EXPORT_DATABASE_FILE_H

#define DATABASE_FILE_NAME_BYTES 16

/*
 * What to open instead of a name: puts the text for the descriptor into `name`. Returns the name of
 * the sqlite3_vfs, or NULL without memory.
 */
const char *database_file_name(char name[DATABASE_FILE_NAME_BYTES], int fd);

#endif /* MEMSCOPE_EXPORT_DATABASE_FILE_H */
