# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What tests of single uprobes load besides. These take a tenth of a second each to go, all of it waiting, so
# these tests run beside the others, and beside each other (tests/tests.mk). The driver is a copy: no probe of
# another test is in the same file.

WITHOUT_LINKS=--without=uprobe_session,uprobe_multi

eval "with_common_driver_$(declare -f setup)"
setup() {
	with_common_driver_setup
	mkdir driver
	cp "$BUILT/simcuda/libcuda.so.1" driver
	LD_LIBRARY_PATH=$PWD/driver
}
