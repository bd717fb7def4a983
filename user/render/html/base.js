// SPDX-License-Identifier: BSD-2-Clause
//
// What all parts of the page's script use: the data, elements, numbers as people read them.
// The files are put one behind the other (see the Makefile) and share one scope.
'use strict';

const parse = (id) => JSON.parse(document.getElementById(id).textContent);

const report = parse('report');
const words = parse('words');
const onDevice = new Set(words.on_device);

// By recording, as user/render/lanes_json.h has it; null: nothing is known of single calls.
const lanesOf = (() => {
	const all = parse('lanes');

	return (place) => all[place] || null;
})();

// ---- elements

// Text is set as text, never as markup: what it says may come from a traced program.
function element(tag, properties, ...children) {
	const made = document.createElement(tag);

	for (const [name, value] of Object.entries(properties || {})) {
		if (value === null || value === undefined || value === false)
			continue;
		if (name === 'text')
			made.textContent = value;
		else if (name.startsWith('on'))
			made.addEventListener(name.slice(2), value);
		else
			made.setAttribute(name, value === true ? '' : value);
	}
	made.append(...children);
	return made;
}

function button(text, label, act) {
	return element('button', { type: 'button', text, 'aria-label': label, title: label, onclick: act });
}

function choice(label, options, act) {
	const select = element('select', { onchange: () => act(select.value) });

	for (const [value, text] of options)
		select.append(element('option', { value, text }));
	return { node: element('label', { class: 'choice' }, `${label} `, select), select };
}

// ---- numbers

function scaled(value, unit) {
	const whole = value === Math.floor(value) && value < 1024;

	return `${value.toFixed(whole || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)} ${unit}`;
}

function size(bytes) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
	let unit = 0;

	while (bytes >= 1023.5 && unit + 1 < units.length) {
		bytes /= 1024;
		unit++;
	}
	return scaled(bytes, units[unit]);
}

function duration(ns) {
	const seconds = Math.floor(ns / 1e9);
	const two = (number) => String(number).padStart(2, '0');

	if (ns < 1000)
		return `${Math.round(ns)} ns`;
	if (ns < 999500)
		return scaled(ns / 1e3, 'us');
	if (ns < 999500000)
		return scaled(ns / 1e6, 'ms');
	if (ns < 59950000000)
		return scaled(ns / 1e9, 's');
	if (seconds < 3600)
		return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
	return `${Math.floor(seconds / 3600)}h${two(Math.floor(seconds / 60) % 60)}m`;
}

const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ',');
const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many || `${one}s`}`;
const percent = (part, whole) => (whole ? `${(part / whole * 100).toFixed(part * 10 < whole ? 1 : 0)} %` : '-');

// A moment, `ns` after the recording's beginning. `step` is what has to be told apart.
function moment(ns, step) {
	const digits = !step || step >= 1e6 ? 3 : step >= 1e3 ? 6 : 9;

	return `${ns < 0 ? '-' : '+'}${Math.abs(ns / 1e9).toFixed(digits)} s`;
}

// ---- what comes from traced programs

// As the text outputs show it: whatever is not printable ASCII as the bytes that it is.
function safe(text) {
	if (/^[ -[\]-~]*$/.test(text))
		return text;
	return Array.from(new TextEncoder().encode(text), (byte) =>
		byte >= 0x20 && byte < 0x7f && byte !== 0x5c ?
			String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}

const shortened = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

function processName(process) {
	const name = process.name || process.comm;

	return `${name ? shortened(safe(name), 64) : 'process'} (${process.pid})`;
}

// ---- a recording

const COLOUR_OF_OTHERS = 7;

// Times in the report are CLOCK_MONOTONIC; in the charts, they begin with what is reported.
class Recording {
	constructor(place) {
		this.report = report.recordings[place];
		this.number = place + 1;
		this.begin = this.report.begin_ts_ns;
		this.length = Math.max(1, this.report.end_ts_ns - this.begin);
		this.lanes = lanesOf(place);
		this.section = document.getElementById(`r${this.number}`);
	}

	// Each process has its colour, in all charts: those that held most have one of their own.
	colourOf(process) {
		if (!this.colours) {
			const peak = (one) => one.spaces.reduce((sum, space) => sum + space.peak_bytes, 0);
			const sorted = [...this.report.processes].sort((a, b) => peak(b) - peak(a));

			this.colours = new Map(sorted.map((one, rank) => [one, Math.min(rank, COLOUR_OF_OTHERS)]));
		}
		return this.colours.get(process);
	}

	mount(chart) {
		return this.section.querySelector(`[data-chart="${chart}"]`);
	}

	relative(ts) {
		return ts - this.begin;
	}

	// The time of day, or nothing if that is not known.
	wall(ns) {
		if (this.report.wall_offset_ns === null)
			return '';
		const date = new Date((this.begin + this.report.wall_offset_ns + ns) / 1e6);

		return Number.isNaN(date.getTime()) ? '' : date.toISOString();
	}

	// By both clocks.
	both(ns, step) {
		const wall = this.wall(ns);

		return `${moment(ns, step)}${wall ? ` (${wall})` : ''}`;
	}

	process(pid, start) {
		return this.report.processes.find((process) =>
			process.pid === pid && (start === undefined || process.start_ns === start));
	}

	// What a process that something is of is called everywhere.
	nameOf(made) {
		const process = this.process(made.pid, made.start_ns);

		return processName(process && process.comm === made.comm ? process : made);
	}
}
