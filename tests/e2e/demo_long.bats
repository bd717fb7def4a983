# SPDX-License-Identifier: BSD-2-Clause
#
# `make demo`, once it is built: what a newcomer sees is there, and its numbers agree with each other.

load helpers

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	cd "$BATS_TEST_TMPDIR" || exit 1
	ldconfig -p | grep -q libmicrohttpd.so.12 || skip "libmicrohttpd is not installed"
	command -v ffmpeg > /dev/null || skip "ffmpeg is not installed"
	mkdir tmp
	export TMPDIR=$PWD/tmp
	DEMO_PID=
}

teardown() {
	[ -z "$DEMO_PID" ] || kill "$DEMO_PID" 2> /dev/null || true
}

# The lines of the demo's part that begins with this.
part() {
	sed -n "/^== [0-9]*\. $1/,/^== /p" out.txt | sed '1d; /^== /d'
}

# What was shown of the command that begins with this.
after() {
	part "$1" | sed -n "\\%^\\$ $2%,/^\\$ /p" | sed '1d; /^\$ /d'
}

# Of what the demo has started nothing goes on, and its files are gone.
nothing_is_left() {
	local process left=

	[ -z "$(ls tmp)" ] || fail "$(ls tmp)"
	for process in $(grep -lsaF "TMPDIR=$TMPDIR" /proc/[0-9]*/environ); do
		case $(cat "${process%/environ}/comm" 2> /dev/null) in
		memscope* | tmux* | chrom* | prometheus | ffmpeg | python3) left+=" $process" ;;
		esac
	done
	assert_equal "$left" ""
}

@test "the demo: a leak has the same size and line in top, the page, metrics, Prometheus and a report" {
	local bytes mib line

	for program in tmux chromium chromedriver promtool prometheus; do
		command -v "$program" > /dev/null || skip "$program is not installed"
	done
	"$ROOT/tools/demo" > out.txt 2>&1 3>&- || fail "$(cat out.txt)"
	[ "$(grep -c '^(left out' out.txt)" = 0 ] || fail "$(cat out.txt)"
	assert_equal "$(sed -n 's/^== \([0-9]\)\. .*/\1/p' out.txt | xargs)" "1 2 3 4 5 6"
	# Traced and recorded, it is the same run.
	assert_equal "$(part trace: | sed -n 's/^\([0-9]*\) events seen .* 0 lost.*/\1/p')" \
		"$(part record | sed -n 's/.*run.mscope: \([0-9]*\) events .* 0 lost$/\1/p')"
	part trace: | grep -qE '^ +device +0 B +0 +1\.08 MiB +3 '
	part record | grep -qE '^ +device +0 B +0 +1\.08 MiB .* 3 '
	part "report: why" | grep -q '^Out of memory: cuMemAlloc_v2(720 KiB) in ffmpeg'
	line="Cache.remember (demo-server:$(grep -n 'self.results.append' "$ROOT/tools/demo-server" | cut -d : -f 1))"
	part "trace -p" | grep -qF " > $line"
	# The screen of a terminal, with the device's bar and both programs.
	part agent > agent.txt
	[ -z "$(sed -n '/^---/,$p' agent.txt | grep -E '^.{81}')" ] || fail "$(cat agent.txt)"
	grep -q '^0 Simulated .*\[█.*·\] .* MiB live' agent.txt
	grep -q ' MiB .* +[0-9.]* MiB .* python3 demo-server$' agent.txt
	grep -q ' 1.08 MiB .* ffmpeg$' agent.txt
	# One moment.
	bytes=$(after One 'curl' | sed -n 's/.*script="demo-server".*} //p')
	mib=$((bytes / 1048576))
	[ "$mib" -ge 60 ]
	assert_equal "$bytes" "$((mib * 1048576))"
	after One / > top.txt
	grep -q "^Live $mib MiB, peak " top.txt || fail "$mib" "$(cat top.txt)"
	grep -qF "$line" top.txt
	after One chromium > page.txt
	grep -qE "^ +[0-9]+ +python3 demo-server .* $mib MiB .*exact$" page.txt || fail "$mib" "$(cat page.txt)"
	grep -qE "^ +[0-9]+ +ffmpeg .* 1\.08 MiB .*exact$" page.txt
	grep -q '^  Device 0, Simulated GPU 0: .* it has 1 GiB$' page.txt
	after One promtool > prometheus.txt
	grep -qF "{comm=\"python3\", script=\"demo-server\"} => $mib @" prometheus.txt || fail "$mib" "$(cat prometheus.txt)"
	grep -qF '{comm="ffmpeg"} => 1.078125 @' prometheus.txt
	after One memscope-bpf | tr '\n' ' ' > report.txt
	grep -qE "python3 demo-server \([0-9]+\) leaves $mib MiB behind: $mib allocations" report.txt || fail "$mib" "$(cat report.txt)"
	grep -qF "$line" report.txt
	head -c 4 "$BUILT/demo-agent.png" | grep -q PNG
	grep -q '<title>' "$BUILT/demo.html"
	nothing_is_left
}

@test "the demo without tmux, Chromium and Prometheus says so and goes on; SIGTERM leaves nothing behind" {
	mkdir bin
	ln -s /usr/local/bin/* /usr/bin/* /usr/sbin/* bin/ 2> /dev/null || true
	rm -f bin/tmux bin/chromium bin/prometheus
	PATH=$PWD/bin "$ROOT/tools/demo" > out.txt 2>&1 3>&- &
	DEMO_PID=$!
	wait_for "grep -q '^memscope_process_gpu_memory_live_bytes.*demo-server' out.txt" 1200 || fail "$(cat out.txt)"
	kill "$DEMO_PID"
	wait "$DEMO_PID" || [ $? -eq 143 ] || fail "$(cat out.txt)"
	grep '^(left out' out.txt > left_out.txt
	diff left_out.txt - <<-'END'
		(left out: Prometheus, which needs prometheus)
		(left out: the screen of top, which needs tmux)
		(left out: the agent's page in a browser, which needs chromium)
	END
	nothing_is_left
}

# On a machine that has all packages but $1, and whose registry lacks $2.
install_deps() {
	mkdir -p fake
	cat > fake/dpkg-query <<-END
		#!/bin/sh
		case " $1 " in
		*" \$4 "*) exit 1 ;;
		esac
		echo "install ok installed"
	END
	cat > fake/apt-get <<-END
		#!/bin/sh
		echo "\$*" >> apt-get.txt
		case "\$* " in
		*" $2 "*) echo "Unable to locate package $2" >&2; exit 100 ;;
		esac
	END
	chmod 755 fake/*
	rm -f apt-get.txt
	run env PATH="$PWD/fake:$PATH" "$ROOT/tools/install-deps" "$3"
}

@test "what the demo can go without is no error where it cannot be installed, what it needs is one" {
	install_deps "tmux chromium" chromium demo
	assert_equal "$status" 0
	[[ $output == *"chromium cannot be installed; the demo goes without it"* ]]
	[[ $output != *"tmux cannot"* ]]
	assert_equal "$(tail -n 2 apt-get.txt | awk '{ print $NF }' | xargs)" "tmux chromium"
	install_deps "ffmpeg chromium" ffmpeg demo
	[ "$status" != 0 ]
	install_deps "tmux chromium" chromium test
	[ "$status" != 0 ]
	install_deps "" none demo
	assert_equal "$status" 0
	[ ! -e apt-get.txt ]
}
