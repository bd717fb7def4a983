# shellcheck shell=bash
# shellcheck disable=SC2154 # the tables come before
# SPDX-License-Identifier: BSD-2-Clause
#
# What bash completes for memscope-bpf; what there is to complete comes from its tables (tools/mkdocs completion).
# Where nothing is said, readline completes file names.

# The option whose value the next word is, if it has one: of -cp that is -p, of -oFILE none.
_memscope_bpf_option()
{
	local command=$1 word=$2 i

	if [[ $word != -[!-]?* ]]; then
		printf '%s\n' "$word" # echo has an -e of its own
		return
	fi
	for ((i = 1; i < ${#word}; i++)); do
		[ -z "${_memscope_bpf_values[$command -${word:i:1}]+set}" ] && continue
		[ $((i + 1)) -eq ${#word} ] && printf '%s\n' "-${word:i:1}"
		return
	done
}

# Which word the operands begin with; nothing if none has been written yet.
_memscope_bpf_first_operand()
{
	local i option

	for ((i = 2; i < COMP_CWORD; i++)); do
		option=${COMP_WORDS[i]}
		case $option in
		--) echo $((i + 1)) && return ;;
		-*)
			option=$(_memscope_bpf_option "${COMP_WORDS[1]}" "$option")
			[ -z "${_memscope_bpf_values[${COMP_WORDS[1]} $option]+set}" ] && continue
			[ "${COMP_WORDS[i + 1]}" = = ] && i=$((i + 1))
			i=$((i + 1))
			# To bash, 15:04 and growth=64M are three words each.
			while [[ ${COMP_WORDS[i + 1]} == [=:] ]]; do i=$((i + 2)); done
			;;
		*) [ -z "$takes_command" ] || { echo "$i" && return; } ;;
		esac
	done
}

# Those of some words that continue what has been written, the last of a list with commas.
_memscope_bpf_offer()
{
	local begun=$1 before=

	[[ $begun == *,* ]] && before=${begun%,*},
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$2" -- "${begun##*,}")
	# A value is still to follow.
	if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
		compopt -o nospace 2> /dev/null || true
	fi
}

# One that is written with its path is a file.
_memscope_bpf_offer_commands()
{
	[[ $1 == */* || $1 == "~"* ]] || mapfile -t COMPREPLY < <(compgen -c -- "$1")
}

_memscope_bpf()
{
	local command=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local operand takes_command=

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		_memscope_bpf_offer "$word" "help ${!_memscope_bpf_options[*]}"
		return
	fi
	if [ "$command" = help ]; then
		[ "$COMP_CWORD" -gt 2 ] || _memscope_bpf_offer "$word" "${!_memscope_bpf_options[*]}"
		return
	fi
	[[ " $_memscope_bpf_commands " == *" $command "* ]] && takes_command=1
	operand=$(_memscope_bpf_first_operand)
	# --option=value is three words.
	[ "$before" = = ] && before=${COMP_WORDS[COMP_CWORD - 2]}
	before=$(_memscope_bpf_option "$command" "$before")
	[ "$word" = = ] && word=
	if [ -n "$operand" ]; then
		[ -n "$takes_command" ] && [ "$COMP_CWORD" -eq "$operand" ] &&
			_memscope_bpf_offer_commands "$word"
	elif [ -n "${_memscope_bpf_values[$command $before]+set}" ]; then
		case ${_memscope_bpf_values[$command $before]} in
		PID) _memscope_bpf_offer "$word" "$(ps -eo pid=)" ;;
		*[![:space:]]*) _memscope_bpf_offer "$word" "${_memscope_bpf_values[$command $before]}" ;;
		esac
	elif [[ $word == -* || (-z $word && -n $takes_command) ]]; then
		_memscope_bpf_offer "$word" "${_memscope_bpf_options[$command]}"
	elif [ -n "$takes_command" ]; then
		_memscope_bpf_offer_commands "$word"
	fi
	return 0
}

complete -o default -F _memscope_bpf memscope-bpf
