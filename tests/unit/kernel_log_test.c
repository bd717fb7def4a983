// SPDX-License-Identifier: BSD-2-Clause
/*
 * Errors of devices in the kernel's log, in the forms in which drivers have written them.
 */
#include "unit.h"

#include <string.h>

#include "host/kernel_log.h"

static bool parse(const char *record, struct ms_xid *xid)
{
	memset(xid, 0xa5, sizeof(*xid));
	return kernel_log_parse(record, strlen(record), xid);
}

static void assert_xid(const char *record, uint32_t number, const char *bdf, uint32_t process,
		       const char *text)
{
	struct ms_xid xid;

	assert_true(parse(record, &xid));
	assert_int_equal(xid.xid, number);
	assert_string_equal(xid.bdf, bdf);
	assert_int_equal(xid.process, process);
	assert_string_equal(xid.text, text);
}

static void test_forms(void **unused)
{
	(void)unused;
	assert_xid(
		"3,1234,5678,-;NVRM: Xid (PCI:0000:65:00): 31, pid=4711, name=python3, Ch 00000008,"
		" intr 00000000. MMU Fault: ENGINE GRAPHICS\n SUBSYSTEM=pci\n",
		31, "0000:65:00.0", 4711, "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS");
	assert_xid(
		"3,1,2,-,caller=T12;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>,"
		" GPU has fallen off the bus.\n",
		79, "0000:3b:00.0", 0, "GPU has fallen off the bus.");
	assert_xid("3,1,2,-;NVRM: Xid (0000:65:00): 13, Graphics SM Warp Exception\n", 13,
		   "0000:65:00.0", 0, "Graphics SM Warp Exception");
	assert_xid("3,1,2,-;NVRM: Xid (PCI:0000:65:00.1): 62, 0cb5(2d50)", 62, "0000:65:00.1", 0,
		   "0cb5(2d50)");
	assert_xid("3,1,2,-;NVRM: Xid (PCI:0000:65:00): 45", 45, "0000:65:00.0", 0, "");
	/* A name with what ends names. */
	assert_xid("3,1,2,-;NVRM: Xid (PCI:0000:65:00): 43, pid=7, name=a, b, Ch 1", 43,
		   "0000:65:00.0", 7, "b, Ch 1");
}

static void test_what_is_none(void **unused)
{
	static const char *const records[] = {
		"",
		"3,1,2,-",
		"3,1,2,-;",
		"3,1,2,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.159.04",
		"3,1,2,-;x NVRM: Xid (PCI:0000:65:00): 31, pid=1, name=a, b",
		"3,1,2,-;NVRM: Xid (PCI:0000:65:00)",
		"3,1,2,-;NVRM: Xid (PCI:0000:65:00 31",
		"3,1,2,-;NVRM: Xid (): 31, b",
		"3,1,2,-;NVRM: Xid (PCI:0123456789abcdef): 31, b",
		"3,1,2,-;NVRM: Xid (PCI:0000:65:00): x, b",
		"3,1,2,-;a\nNVRM: Xid (PCI:0000:65:00): 31, b",
	};
	struct ms_xid xid;
	char longer[9000];
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(records) / sizeof(*records); i++)
		assert_false(parse(records[i], &xid));
	memset(longer, 'x', sizeof(longer));
	assert_false(kernel_log_parse(longer, sizeof(longer), &xid));
}

static void test_a_long_line_is_cut(void **unused)
{
	char record[400] = "3,1,2,-;NVRM: Xid (PCI:0000:65:00): 31, ";
	struct ms_xid xid;

	(void)unused;
	memset(record + strlen(record), 'y', 300);
	assert_true(parse(record, &xid));
	assert_int_equal(strlen(xid.text), MS_XID_TEXT_BYTES - 1);
	/* Of any length. */
	for (size_t length = 0; length < strlen(record); length++)
		kernel_log_parse(record, length, &xid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_a_long_line_is_cut),
	};

	return unit_run("kernel_log", tests);
}
