/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and descriptions of result codes. NULL for a code that the API in question does not have.
 */
#ifndef SIMCUDA_ERRORS_H
#define SIMCUDA_ERRORS_H

const char *errors_driver_name(int code);
const char *errors_driver_text(int code);
const char *errors_runtime_name(int code);
const char *errors_runtime_text(int code);

#endif
