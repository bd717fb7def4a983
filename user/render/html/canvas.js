// SPDX-License-Identifier: BSD-2-Clause
//
// Drawing: colours, a canvas that is as sharp as the screen, axes, the tooltip.

// ---- colours

const palette = {};

// Colours are the style sheet's, so that they follow the scheme.
function readPalette() {
	const style = getComputedStyle(document.documentElement);

	for (const name of ['ink', 'dim', 'line', 'surface', 'bad', 'warn', 'focus', 'old', 'young', 'blocked',
		'starved'])
		palette[name] = style.getPropertyValue(`--${name}`).trim();
	palette.series = Array.from({ length: 9 }, (_, i) => style.getPropertyValue(`--c${i}`).trim());
}

// ---- canvases

const surfaces = [];

// `draw(context, width, height)` in CSS pixels; again whenever the size, the scheme or the data changes.
class Surface {
	constructor(parent, properties, height, draw) {
		this.canvas = element('canvas', properties);
		this.draw = draw;
		this.height = height;
		this.due = false;
		this.canvas.style.height = `${height}px`;
		parent.append(this.canvas);
		new ResizeObserver(() => this.request()).observe(this.canvas);
		surfaces.push(this);
	}

	request() {
		if (this.due)
			return;
		this.due = true;
		requestAnimationFrame(() => this.paint());
	}

	resize(height) {
		this.height = height;
		this.canvas.style.height = `${height}px`;
		this.request();
	}

	paint(least) {
		const ratio = Math.max(window.devicePixelRatio || 1, least || 1);
		const width = this.canvas.clientWidth;
		const context = this.canvas.getContext('2d');

		this.due = false;
		if (!width)
			return;
		this.width = width;
		if (this.canvas.width !== Math.round(width * ratio) ||
		    this.canvas.height !== Math.round(this.height * ratio)) {
			this.canvas.width = Math.round(width * ratio);
			this.canvas.height = Math.round(this.height * ratio);
		}
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, width, this.height);
		context.font = '12px system-ui, sans-serif';
		context.textBaseline = 'middle';
		this.draw(context, width, this.height);
	}
}

function repaint(least) {
	readPalette();
	for (const surface of surfaces)
		surface.paint(least);
}

// ---- axes

// Steps that people count in: 1, 2 and 5 times a power of ten, for bytes powers of two.
function niceStep(rough, bytes) {
	if (bytes)
		return Math.max(1, 2 ** Math.ceil(Math.log2(rough)));
	const power = 10 ** Math.floor(Math.log10(rough));

	return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough * 0.999);
}

// However large the numbers are, there is an end to them.
function ticks(from, to, step) {
	const found = [];

	for (let i = Math.ceil(from / step); i * step <= to && found.length < 100; i++)
		found.push(i * step);
	return found;
}

// Below it: since the beginning, and the time of day.
const AXIS_HEIGHT = 38;

function drawTimeAxis(context, view, left, right, y, height) {
	const step = niceStep(view.span / Math.max(2, (right - left) / 110));
	const scale = (right - left) / view.span;

	context.textAlign = 'center';
	for (const tick of ticks(view.from, view.to, step)) {
		const x = Math.round(left + (tick - view.from) * scale) + 0.5;

		context.strokeStyle = palette.line;
		context.lineWidth = 1;
		context.beginPath();
		context.moveTo(x, y - height);
		context.lineTo(x, y + 4);
		context.stroke();
		context.fillStyle = palette.dim;
		context.fillText(tickText(tick, step), Math.min(Math.max(x, left + 14), right - 24), y + 13);
		context.fillText(clockText(view, tick, step), Math.min(Math.max(x, left + 36), right - 36), y + 27);
	}
}

// Nothing if it is not known, or there is no one clock.
function clockText(view, tick, step) {
	const wall = view.wall ? view.wall(tick) : '';

	if (step >= 3600e9)
		return wall.slice(5, 16).replace('T', ' ');
	return wall.slice(11, step < 1e9 ? 23 : 19);
}

function tickText(tick, step) {
	const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / 1e9) + 1e-9)));

	return `+${(tick / 1e9).toFixed(digits)} s`;
}

function drawByteAxis(context, most, left, right, top, bottom) {
	const step = niceStep(most / Math.max(1, (bottom - top) / 40), true);

	context.textAlign = 'right';
	for (const tick of ticks(0, most * 1.001, step)) {
		const y = Math.round(bottom - tick / most * (bottom - top)) + 0.5;

		context.strokeStyle = palette.line;
		context.beginPath();
		context.moveTo(left, y);
		context.lineTo(right, y);
		context.stroke();
		context.fillStyle = palette.dim;
		context.fillText(size(tick), left - 6, y);
	}
}

// As much of the text as there is room for.
function fitText(context, text, width) {
	let fits = text.length;

	if (context.measureText(text).width <= width)
		return text;
	while (fits > 1 && context.measureText(`${text.slice(0, fits)}…`).width > width)
		fits = Math.min(fits - 1, Math.ceil(fits * 0.9));
	return fits > 1 ? `${text.slice(0, fits)}…` : '';
}

// ---- the tooltip

const tooltip = {
	node: element('div', { class: 'tooltip', 'aria-hidden': 'true', hidden: true }),

	// At a place of the window.
	show(lines, x, y) {
		this.node.replaceChildren(...lines.filter((line) => line).map((line) =>
			element('div', { text: line })));
		this.node.hidden = false;
		const box = this.node.getBoundingClientRect();
		const left = x + 14 + box.width > window.innerWidth ? x - 14 - box.width : x + 14;

		this.node.style.left = `${Math.max(4, left)}px`;
		this.node.style.top = `${Math.max(4, Math.min(y + 14, window.innerHeight - box.height - 4))}px`;
	},

	hide() {
		this.node.hidden = true;
	},
};

function legend(entries) {
	return element('ul', { class: 'legend' }, ...entries.map(([colour, text]) =>
		element('li', {}, element('span', { class: `swatch ${colour}` }), text)));
}
