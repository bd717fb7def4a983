// SPDX-License-Identifier: BSD-2-Clause
//
// The part of the time that is shown. All charts of a recording have the same one.

const SHORTEST = 1000; // ns, if numbers can tell so much apart
const CLOSEST = 1e-9;  // of the whole

class View {
	// `wall`: the time of day of a moment; '' if it is not known.
	constructor(length, wall) {
		this.length = length;
		this.wall = wall;
		this.from = 0;
		this.to = length;
		this.pointed = null; // the moment under the mouse, in whichever chart
		this.listeners = [];
	}

	// Charts that are one below the other have the same time at the same place.
	frame(width) {
		return { left: width < 700 ? 100 : 190, right: width - 12 };
	}

	get span() {
		return this.to - this.from;
	}

	get whole() {
		return this.from === 0 && this.to === this.length;
	}

	onChange(listener) {
		this.listeners.push(listener);
	}

	point(ns) {
		if (this.pointed === ns)
			return;
		this.pointed = ns;
		this.tell();
	}

	tell() {
		for (const listener of this.listeners)
			listener();
	}

	set(from, to) {
		let span = Math.min(Math.max(to - from, Math.min(Math.max(SHORTEST, this.length * CLOSEST), this.length)),
			this.length);

		if (span > this.length * 0.999)
			span = this.length;
		this.from = Math.min(Math.max((from + to - span) / 2, 0), this.length - span);
		this.to = this.from + span;
		this.tell();
	}

	reset() {
		this.set(0, this.length);
	}

	// `factor` below 1: closer. The moment `around` stays where it is.
	zoom(factor, around) {
		const middle = around === undefined ? (this.from + this.to) / 2 : around;

		this.set(middle - (middle - this.from) * factor, middle + (this.to - middle) * factor);
	}

	pan(ns) {
		const from = Math.min(Math.max(this.from + ns, 0), this.length - this.span);

		this.set(from, from + this.span);
	}

	// So that it can be seen, with some room around it.
	show(from, to) {
		const room = Math.max((to - from) * 0.5, this.length / 200);

		this.set(from - room, to + room);
	}
}

// ---- how it is changed

// Buttons for who has neither wheel nor patience, and what is shown in words.
function viewTools(view) {
	const told = element('span', { class: 'told' });
	const tools = element('div', { class: 'zoom', role: 'group', 'aria-label': 'Time that is shown' },
		button('+', 'Zoom in', () => view.zoom(0.5)),
		button('−', 'Zoom out', () => view.zoom(2)),
		button('◂', 'Earlier', () => view.pan(-view.span / 4)),
		button('▸', 'Later', () => view.pan(view.span / 4)),
		button('All', 'All of the time', () => view.reset()), told);
	const tell = () => {
		const clocks = [view.from, view.to].map((ns) => view.wall(ns).slice(11, 23));

		told.textContent = view.whole ? `all of ${duration(view.length)}` :
			`${moment(view.from, view.span / 100)} to ${moment(view.to, view.span / 100)}` +
			`${clocks[0] ? ` (${clocks.join(' to ')})` : ''}`;
	};

	view.onChange(tell);
	tell();
	return tools;
}

// Zoom and pan keys that all time charts have. Returns whether the key was one.
function viewKey(view, event) {
	const keys = {
		'+': () => view.zoom(0.5),
		'=': () => view.zoom(0.5),
		'-': () => view.zoom(2),
		'0': () => view.reset(),
		Escape: () => view.reset(),
		PageUp: () => view.pan(-view.span * 0.8),
		PageDown: () => view.pan(view.span * 0.8),
	};

	if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key])
		return false;
	keys[event.key]();
	event.preventDefault();
	return true;
}

// Wheel and mouse on a canvas. Plain dragging chooses a part, with Shift it moves; the wheel zooms where
// the canvas has the focus, else with Ctrl, so that the page can be scrolled past it.
class Dragging {
	constructor(surface, view) {
		this.canvas = surface.canvas;
		this.view = view;
		this.frame = () => view.frame(surface.width || 600);
		this.changed = () => surface.request();
		this.begin = null;
		this.end = null;
		this.listen(this.canvas);
	}

	listen(canvas) {
		canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
		canvas.addEventListener('pointerdown', (event) => this.down(event));
		canvas.addEventListener('pointermove', (event) => this.move(event));
		canvas.addEventListener('pointerup', (event) => this.up(event));
		canvas.addEventListener('pointercancel', () => this.drop());
		canvas.addEventListener('dblclick', () => this.view.reset());
		canvas.addEventListener('pointerleave', () => this.view.point(null));
	}

	time(event) {
		const { left, right } = this.frame();
		const x = event.clientX - this.canvas.getBoundingClientRect().left;

		return this.view.from + (Math.min(Math.max(x, left), right) - left) / (right - left) * this.view.span;
	}

	wheel(event) {
		if (!event.ctrlKey && document.activeElement !== this.canvas)
			return;
		event.preventDefault();
		if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey)
			this.view.pan((event.deltaX || event.deltaY) / 1000 * this.view.span);
		else
			this.view.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), this.time(event));
	}

	down(event) {
		if (event.button !== 0 || event.pointerType === 'touch')
			return;
		this.canvas.setPointerCapture(event.pointerId);
		this.moving = event.shiftKey;
		this.begin = this.end = this.time(event);
		this.startX = event.clientX;
	}

	move(event) {
		this.view.point(this.time(event));
		if (this.begin === null)
			return;
		if (this.moving) {
			this.view.pan(this.begin - this.time(event));
			return;
		}
		this.end = this.time(event);
		this.changed();
	}

	up(event) {
		const [from, to] = [Math.min(this.begin, this.end), Math.max(this.begin, this.end)];
		const meant = this.begin !== null && !this.moving && Math.abs(event.clientX - this.startX) > 4;

		this.drop();
		if (meant)
			this.view.set(from, to);
	}

	drop() {
		this.begin = this.end = null;
		this.moving = false;
		this.changed();
	}

	// What is being chosen, and what is pointed at.
	draw(context, top, bottom) {
		const { left, right } = this.frame();
		const x = (ns) => left + (ns - this.view.from) / this.view.span * (right - left);

		if (this.view.pointed !== null) {
			context.fillStyle = palette.dim;
			context.fillRect(Math.round(x(this.view.pointed)), top, 1, bottom - top);
		}
		if (this.begin === null || this.begin === this.end)
			return;
		context.globalAlpha = 0.15;
		context.fillStyle = palette.focus;
		context.fillRect(x(Math.min(this.begin, this.end)), top,
			Math.abs(x(this.end) - x(this.begin)), bottom - top);
		context.globalAlpha = 1;
	}
}
