// SPDX-License-Identifier: BSD-2-Clause
//
// Of two recordings that are compared, what was live on devices over time: A over B, each from its own
// beginning.

const SIDES_HEIGHT = 220;
const SIDES_KEYS = { ArrowLeft: -1, ArrowRight: 1 };
const SIDES_STEPS = 200; // of the cursor

class SidesChart {
	constructor(mount, sides) {
		this.mount = mount;
		this.sides = sides;
		this.length = Math.max(1, ...sides.map((side) => side.bucket_ns * side.live_bytes.length));
		this.most = Math.max(1, ...sides.flatMap((side) => side.live_bytes)) * 1.08;
		this.step = null; // where the cursor is
		this.build();
	}

	build() {
		this.surface = new Surface(this.mount, { tabindex: 0, role: 'slider', 'aria-label': this.label(),
			'aria-valuemin': 0, 'aria-valuemax': SIDES_STEPS, 'aria-valuenow': 0,
			'aria-valuetext': 'no moment chosen' }, SIDES_HEIGHT, (...drawing) => this.draw(...drawing));
		this.told = element('p', { class: 'readout hint', role: 'status' });
		this.mount.append(legend(this.sides.map((side, i) =>
			[`c${i}`, `${side.name}, up to ${size(Math.max(...side.live_bytes))}`])), this.told,
		element('p', { class: 'hint', text: 'Memory that was live on devices, each recording from its own beginning. ' +
			'Point at it, or use the arrow keys.' }));
		this.surface.canvas.addEventListener('pointermove', (event) => {
			const { left, width } = this.surface.canvas.getBoundingClientRect();
			const [from, to] = this.edges(width);

			this.moveTo(Math.round((event.clientX - left - from) / (to - from) * SIDES_STEPS));
		});
		this.surface.canvas.addEventListener('keydown', (event) => {
			if (!SIDES_KEYS[event.key])
				return;
			event.preventDefault();
			this.moveTo(this.step === null ? 0 : this.step + SIDES_KEYS[event.key]);
		});
		this.surface.request();
	}

	label() {
		return `Live bytes on devices over ${duration(this.length)}: ${this.sides.map((side) =>
			`${side.name} up to ${size(Math.max(...side.live_bytes))}`).join(', ')}`;
	}

	edges(width) {
		return [64, width - 12];
	}

	// What a side has there; nothing behind its end.
	at(side, ns) {
		return side.live_bytes[Math.floor(ns / side.bucket_ns)];
	}

	moveTo(step) {
		this.step = Math.min(SIDES_STEPS, Math.max(0, step));
		const ns = this.step / SIDES_STEPS * this.length;
		const text = `${moment(ns)}: ${this.sides.map((side) => {
			const bytes = this.at(side, ns);

			return `${side.name} ${bytes === undefined ? 'has ended' : size(bytes)}`;
		}).join(', ')}`;

		this.told.textContent = text;
		this.surface.canvas.setAttribute('aria-valuenow', this.step);
		this.surface.canvas.setAttribute('aria-valuetext', text);
		this.surface.request();
	}

	draw(context, width, height) {
		const [left, right] = this.edges(width);
		const [top, bottom] = [10, height - 24];
		const x = (ns) => left + ns / this.length * (right - left);
		const y = (bytes) => bottom - bytes / this.most * (bottom - top);

		drawByteAxis(context, this.most, left, right, top, bottom);
		drawTimeAxis(context, { from: 0, to: this.length, span: this.length }, left, right, bottom, bottom - top);
		this.sides.forEach((side, place) => {
			const path = new Path2D();

			side.live_bytes.forEach((bytes, i) => {
				path[i ? 'lineTo' : 'moveTo'](x(i * side.bucket_ns), y(bytes));
				path.lineTo(x((i + 1) * side.bucket_ns), y(bytes));
			});
			context.strokeStyle = palette.series[place];
			context.lineWidth = 2;
			context.setLineDash(place ? [] : [6, 3]);
			context.stroke(path);
			context.setLineDash([]);
		});
		if (this.step === null)
			return;
		context.strokeStyle = palette.ink;
		context.lineWidth = 1;
		context.beginPath();
		context.moveTo(x(this.step / SIDES_STEPS * this.length), top);
		context.lineTo(x(this.step / SIDES_STEPS * this.length), bottom);
		context.stroke();
	}
}
