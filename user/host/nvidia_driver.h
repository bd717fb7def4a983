/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NVIDIA's kernel driver on this machine.
 */
#ifndef MEMSCOPE_HOST_NVIDIA_DRIVER_H
#define MEMSCOPE_HOST_NVIDIA_DRIVER_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Its version as MS_DRIVER(major, minor, patch), of the "580.159.04" that
 * /sys/module/nvidia/version or /proc/driver/nvidia/version has; 0: it is not loaded, or its
 * version cannot be read.
 */
uint32_t nvidia_driver_version(void);

/* The version in a text that has one, as above: "... Kernel Module  580.159.04  ..."; 0: none. */
uint32_t nvidia_driver_parse(const char *text);

/*
 * What tests have in place of NVIDIA's devices: the file system of the directory in
 * MEMSCOPE_TEST_DEVICES, by its device number; 0: none.
 */
dev_t nvidia_test_device(void);

#endif /* MEMSCOPE_HOST_NVIDIA_DRIVER_H */
