# SPDX-License-Identifier: BSD-2-Clause
#
# The Debian package that `make deb` makes.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || exit 1
	PACKAGE=$(find "$BUILT" -maxdepth 1 -name 'memscope-bpf_*.deb')
	[ -n "$PACKAGE" ] || skip "there is no dpkg-deb"
}

@test "the package has the tool, its service, configuration and pages, and they fit together" {
	local program page

	dpkg-deb -x "$PACKAGE" root
	dpkg-deb -e "$PACKAGE" control
	(cd root && md5sum --quiet -c ../control/md5sums)
	# It belongs to root, and no one else may write it.
	dpkg-deb -c "$PACKAGE" > list.txt
	[ "$(awk '$2 != "root/root" || substr($1, 6, 1) == "w" || substr($1, 9, 1) == "w"' list.txt)" = "" ]
	assert_equal "$(root/usr/bin/memscope-bpf --version)" "$("$MEMSCOPE" --version)"
	# The service starts what is in the package, and the configuration is one.
	program=$(sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' root/usr/lib/systemd/system/memscope-bpf.service)
	[ -x "root$program" ] || fail "$program is not in the package"
	grep -q "^User=$(awk '$1 == "u" { print $2 }' root/usr/lib/sysusers.d/memscope-bpf.conf)$" \
		root/usr/lib/systemd/system/memscope-bpf.service
	cp root/etc/memscope-bpf/agent.conf agent.conf
	chmod go-w agent.conf
	"$MEMSCOPE" agent --check-config --config "$PWD/agent.conf"
	assert_equal "$(cat control/conffiles)" /etc/memscope-bpf/agent.conf
	for page in root/usr/share/man/man1/memscope-bpf-{agent,record,history}.1.gz; do
		gzip -t "$page"
	done
	# The tool needs no newer libc than it says.
	libc=$(sed -n 's/^Depends: libc6 (>= \([0-9.]*\))$/\1/p' control/control)
	[ -n "$libc" ]
	assert_equal "$(readelf -VW root/usr/bin/memscope-bpf | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' |
		cat - <(echo "$libc") | sort -V | tail -n 1)" "$libc"
	for script in control/{postinst,prerm,postrm}; do
		sh -n "$script"
	done
}

@test "what the package's pages link to is in the package, but for what only the source has" {
	local page link

	dpkg-deb -x "$PACKAGE" root
	cd root/usr/share/doc/memscope-bpf
	for page in *.md; do
		for link in $(grep -oE '\]\([^)# ]+' "$page" | sed 's/](//' | grep -vE '^(https?:|mailto:|\.\./|tests/|LICENSE)'); do
			[ -e "$link" ] || echo "$page: $link"
		done
	done > missing
	assert_equal "$(cat missing)" ""
	[ "$(ls -- *.schema.json | wc -l)" -ge 8 ]
}

@test "an upgrade restarts the agent if it runs, and a first installation starts nothing" {
	local command

	dpkg-deb -e "$PACKAGE" control
	mkdir stubs
	for command in systemd-sysusers systemctl deb-systemd-invoke; do
		printf '#!/bin/sh\necho %s "$@" >> %s/called\n' "$command" "$PWD" > "stubs/$command"
		chmod 755 "stubs/$command"
	done
	unshare -m sh -ec 'mount -t tmpfs none /run && mkdir -p /run/systemd/system
		PATH=$1/stubs:$PATH && control/postinst configure "" && echo installed >> called && control/postinst configure 0.0.1' sh "$PWD"
	assert_equal "$(sed -n '/^installed$/=' called)" 3
	assert_equal "$(grep -c deb-systemd-invoke called)" 1
	assert_equal "$(tail -n 1 called)" "deb-systemd-invoke try-restart memscope-bpf.service"
}

@test "lintian has nothing to say about the package" {
	command -v lintian > /dev/null || skip "lintian is not installed"
	run lintian --allow-root --fail-on error,warning "$PACKAGE"
	assert_equal "$output" ""
	assert_equal "$status" 0
}
