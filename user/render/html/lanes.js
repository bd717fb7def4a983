// SPDX-License-Identifier: BSD-2-Clause
//
// The lanes: drawing them, finding one's way in them. What would be narrower than a pixel is
// drawn as one with its neighbours, in the colour of what takes most of that time.

const ROW_HEIGHT = 15;
const LANE_GAP = 5;
const LANES_HEIGHT = 460;
const WAIT_HEIGHT = 3;
const LOOK_MOST = 2000; // spans that are counted for a tooltip

class LanesChart {
	constructor(recording, view) {
		this.recording = recording;
		this.view = view;
		this.mount = recording.mount('spans');
		this.spans = spansOf(recording);
		if (!this.spans) {
			this.mount.append(element('p', { text: 'No single call is known of this recording.' }));
			return;
		}
		this.kind = 'all';
		this.wanted = '';
		this.place = { lane: 0, span: -1 };
		this.build();
		this.choose();
		view.onChange(() => this.surface.request());
	}

	// ---- controls

	build() {
		const there = ([kind]) => this.spans.lanes.some((lane) => lane.kind === kind);
		const kinds = choice('Lanes', [['all', 'all'], ...KINDS.filter(there)],
			(value) => {
				this.kind = value;
				this.choose();
			});
		const filter = element('input', { type: 'search', placeholder: 'Highlight calls or lanes',
			'aria-label': 'Highlight calls or lanes', oninput: () => {
				this.wanted = filter.value.trim().toLowerCase();
				this.highlight();
				this.surface.request();
			} });

		this.mount.append(element('div', { class: 'controls' }, kinds.node, filter, viewTools(this.view)));
		this.scroller = element('div', { class: 'lanes', onscroll: () => this.surface.request() });
		this.spacer = element('div', { class: 'spacer' });
		this.scroller.append(this.spacer);
		this.mount.append(this.scroller);
		this.surface = new Surface(this.spacer, { tabindex: 0, role: 'application',
			'aria-roledescription': 'lanes of calls' }, 100,
		(context, width, height) => this.draw(context, width, height));
		this.told = element('p', { class: 'told readout', role: 'status' });
		this.mount.append(this.told, this.legend(),
		element('p', { class: 'hint', text: 'Drag to zoom in, Shift-drag to move; the wheel zooms with Ctrl or ' +
			'once you have clicked. Keys: up and down choose a lane, left and right a call, Enter zooms to it, ' +
			'+, - and 0 zoom.' }), this.table());
		this.highlight();
		this.listen();
	}

	legend() {
		const ops = new Set();
		const waits = this.spans.lanes.some((lane) => lane.waits.size);

		for (const lane of this.spans.lanes)
			lane.ops.forEach((op) => ops.add(op));
		const kernels = this.spans.lanes.some((lane) => lane.kind === 'gpu');

		return legend([...OPS.map((op, i) => [`c${i}`, kernels && op === 'launch' ? 'launch, kernel' : op])
			.filter((_, i) => ops.has(i)),
			...(waits ? [['blocked', 'blocked (strip below a call: its share)'],
				['starved', 'waiting for a CPU']] : [])]);
	}

	// The same in numbers.
	table() {
		const head = (text, number) => element('th', { scope: 'col', class: number && 'n', text });
		const cell = (value, text) => element('td', { class: 'n', 'data-v': value, text });
		const table = element('table', {}, element('caption', { text: 'Lanes: phases, calls, what ran' }),
			element('thead', {}, element('tr', {}, head('Lane'), head('Calls', true), head('Spans', true),
				head('Time in them', true), head('Resolution', true))),
			element('tbody', {}, ...this.spans.lanes.map((lane) => element('tr', {},
				element('td', { text: lane.name }), cell(lane.calls, count(lane.calls)),
				cell(lane.length, count(lane.length)), cell(lane.busy, duration(lane.busy)),
				cell(lane.resolution, lane.resolution ? duration(lane.resolution) : 'every call')))));
		const { dropped, droppedCalls } = this.spans;

		return element('details', { class: 'numbers' }, element('summary', { text: 'The lanes as a table' }),
			element('div', { class: 'table' }, table), dropped ? element('p', { class: 'note',
				text: `${plural(dropped, 'lane')} with less in them left out: ${plural(droppedCalls, 'call')}.` }) : '');
	}

	choose() {
		let y = 0;

		this.shown = this.spans.lanes.filter((lane) => this.kind === 'all' || lane.kind === this.kind);
		this.shown.forEach((lane, place) => {
			// Above its first lane, a process has a line for its name.
			lane.heads = !place || this.shown[place - 1].process !== lane.process;
			y += lane.heads ? ROW_HEIGHT + LANE_GAP : 0;
			lane.y = y;
			lane.height = lane.rows * ROW_HEIGHT;
			y += lane.height + LANE_GAP;
		});
		this.total = y;
		this.place = { lane: 0, span: -1 };
		this.surface.resize(Math.min(this.total, LANES_HEIGHT) + AXIS_HEIGHT);
		this.spacer.style.height = `${this.total + AXIS_HEIGHT}px`;
		this.scroller.style.maxHeight = `${this.surface.height}px`;
		this.surface.canvas.setAttribute('aria-label', `${plural(this.shown.length, 'lane')} of calls, ` +
			`${plural(this.shown.reduce((sum, lane) => sum + lane.calls, 0), 'call')}; the table below has them, too`);
	}

	highlight() {
		this.matching = this.spans.names.map((name) => !this.wanted || name.text.toLowerCase().includes(this.wanted));
	}

	// ---- drawing

	draw(context, width, height) {
		const { left, right } = this.view.frame(width);
		const bottom = height - AXIS_HEIGHT;
		const top = this.scroller.scrollTop;

		drawTimeAxis(context, this.view, left, right, bottom, bottom);
		context.save();
		context.beginPath();
		context.rect(0, 0, width, bottom);
		context.clip();
		this.shown.forEach((lane, place) => {
			const y = lane.y - top;

			if (y + lane.height < 0 || y - 2 * ROW_HEIGHT > bottom)
				return;
			this.drawName(context, lane, place, y, left, width);
			for (let row = 0; row < lane.rows; row++)
				this.drawRow(context, lane, row, y + row * ROW_HEIGHT, left, right);
		});
		context.beginPath();
		context.rect(left, 0, right - left, bottom);
		context.clip();
		this.drawFocus(context, left, right, top);
		this.dragging.draw(context, 0, bottom);
		context.restore();
	}

	drawName(context, lane, place, y, left, width) {
		const focused = place === this.place.lane && document.activeElement === this.surface.canvas;

		context.textAlign = 'left';
		context.fillStyle = palette.ink;
		if (lane.heads) {
			context.font = 'bold 12px system-ui, sans-serif';
			context.fillText(fitText(context, lane.process, width), 6, y - ROW_HEIGHT / 2 - 2);
			context.font = '12px system-ui, sans-serif';
		}
		context.fillStyle = focused ? palette.focus : palette.ink;
		context.fillText(fitText(context, lane.brief, left - 14), 10, y + ROW_HEIGHT / 2);
		context.strokeStyle = palette.line;
		context.beginPath();
		context.moveTo(0, Math.round(y + lane.height + LANE_GAP / 2) + 0.5);
		context.lineTo(width, Math.round(y + lane.height + LANE_GAP / 2) + 0.5);
		context.stroke();
	}

	drawRow(context, lane, row, y, left, right) {
		const { from, to, span } = this.view;
		const scale = (right - left) / span;
		const laneMatches = this.wanted && lane.name.toLowerCase().includes(this.wanted);
		const pixel = { x: -1, matches: false, busy: new Float64Array(OPS.length) };
		const flush = () => {
			if (pixel.x < 0)
				return;
			let [most, sum] = [0, 0];

			for (let op = 0; op < OPS.length; op++) {
				sum += pixel.busy[op];
				if (pixel.busy[op] > pixel.busy[most])
					most = op;
			}
			context.globalAlpha = (pixel.matches ? 1 : 0.15) * (0.6 + 0.4 * Math.min(1, sum * scale));
			context.fillStyle = palette.series[most];
			context.fillRect(pixel.x, y, 1, ROW_HEIGHT - 2);
			pixel.busy.fill(0);
			pixel.matches = false;
		};

		for (let i = lane.first(from); i < lane.length && lane.begins[i] <= to; i++) {
			if (lane.depths[i] !== row || lane.ends[i] < from)
				continue;
			const begin = left + (Math.max(lane.begins[i], from) - from) * scale;
			const width = (Math.min(lane.ends[i], to) - Math.max(lane.begins[i], from)) * scale;
			const matches = laneMatches || this.matching[lane.names[i]];

			if (width >= 2) {
				flush();
				pixel.x = -1;
				this.drawSpan(context, lane, i, begin, width, y, matches);
				continue;
			}
			const x = Math.floor(begin);

			if (x !== pixel.x)
				flush();
			pixel.x = x;
			pixel.matches = pixel.matches || matches;
			// A moment has no length, but it can be seen.
			pixel.busy[lane.ops[i]] += Math.max(lane.ends[i] - lane.begins[i], span / 1e9);
		}
		flush();
		context.globalAlpha = 1;
	}

	drawSpan(context, lane, i, x, width, y, matches) {
		const name = this.spans.names[lane.names[i]];

		context.globalAlpha = matches ? 1 : 0.15;
		context.fillStyle = palette.series[lane.ops[i]];
		context.fillRect(x, y, width - (width > 4 ? 1 : 0), ROW_HEIGHT - 2);
		this.drawWait(context, lane, i, x, width, y);
		if (width < 34 || !name)
			return;
		context.textAlign = 'left';
		context.fillStyle = '#000';
		context.font = '11px system-ui, sans-serif';
		context.fillText(fitText(context, lane.counts[i] > 1 ? `${count(lane.counts[i])} × ${name.text}` : name.text,
			width - 6), x + 3, y + (ROW_HEIGHT - 2) / 2 + 0.5);
		context.font = '12px system-ui, sans-serif';
	}

	// What part of the call its thread was blocked, and waited for a CPU: not when.
	drawWait(context, lane, i, x, width, y) {
		const wait = lane.waits.get(i);
		const length = lane.ends[i] - lane.begins[i];

		if (!wait || !length)
			return;
		const blocked = Math.min(1, wait.blocked / length) * width;
		const starved = Math.min(width - blocked, wait.starved / length * width);

		context.fillStyle = palette.blocked;
		context.fillRect(x, y + ROW_HEIGHT - 2 - WAIT_HEIGHT, blocked, WAIT_HEIGHT);
		context.fillStyle = palette.starved;
		context.fillRect(x + blocked, y + ROW_HEIGHT - 2 - WAIT_HEIGHT, starved, WAIT_HEIGHT);
	}

	drawFocus(context, left, right, top) {
		const lane = this.shown[this.place.lane];
		const i = this.place.span;

		if (!lane || i < 0)
			return;
		const scale = (right - left) / this.view.span;

		context.strokeStyle = palette.focus;
		context.lineWidth = 2;
		context.strokeRect(left + (lane.begins[i] - this.view.from) * scale - 1.5,
			lane.y - top + lane.depths[i] * ROW_HEIGHT - 1.5,
			Math.max(1, (lane.ends[i] - lane.begins[i]) * scale) + 3, ROW_HEIGHT + 1);
		context.lineWidth = 1;
	}

	// ---- looking

	listen() {
		const { canvas } = this.surface;

		this.dragging = new Dragging(this.surface, this.view);
		canvas.addEventListener('pointermove', (event) => this.look(event));
		canvas.addEventListener('pointerleave', () => tooltip.hide());
		canvas.addEventListener('click', (event) => this.pick(event));
		canvas.addEventListener('keydown', (event) => this.press(event));
		for (const type of ['focus', 'blur'])
			canvas.addEventListener(type, () => this.surface.request());
	}

	// The lane at a place of the window, and the spans within a pixel of it.
	at(event) {
		const box = this.surface.canvas.getBoundingClientRect();
		const y = event.clientY - box.top + this.scroller.scrollTop;
		const place = this.shown.findIndex((lane) => y >= lane.y && y < lane.y + lane.height + LANE_GAP);
		const { left, right } = this.view.frame(box.width);

		if (place < 0 || event.clientX - box.left < left)
			return { place, found: [] };
		const pixel = this.view.span / (right - left);
		const time = this.dragging.time(event);
		const lane = this.shown[place];
		const row = Math.min(lane.rows - 1, Math.floor((y - lane.y) / ROW_HEIGHT));

		return { place, found: lane.between(time - pixel, time + pixel, row, LOOK_MOST) };
	}

	look(event) {
		const { place, found } = this.at(event);

		if (place < 0)
			tooltip.hide();
		else if (!found.length)
			tooltip.show([this.shown[place].name], event.clientX, event.clientY);
		else if (found.length === 1)
			tooltip.show(describeSpan(this.recording, this.spans, this.shown[place], found[0]),
				event.clientX, event.clientY);
		else
			tooltip.show(describeMany(this.spans, this.shown[place], found, found.length === LOOK_MOST),
				event.clientX, event.clientY);
	}

	pick(event) {
		const { place, found } = this.at(event);

		if (place >= 0 && found.length)
			this.go(place, found[Math.floor(found.length / 2)]);
	}

	// ---- keys

	press(event) {
		const lane = this.shown[this.place.lane];
		const { span } = this.place;
		const visible = lane ? Math.min(lane.first(this.view.from), lane.length - 1) : 0;
		const keys = {
			ArrowRight: () => this.go(this.place.lane, span < 0 ? visible : span + 1),
			ArrowLeft: () => this.go(this.place.lane, span < 0 ? visible : span - 1),
			ArrowDown: () => this.change(1),
			ArrowUp: () => this.change(-1),
			Home: () => this.go(this.place.lane, 0),
			End: () => this.go(this.place.lane, lane.length - 1),
			Enter: () => span >= 0 && this.view.show(lane.begins[span], lane.ends[span]),
		};

		if (event.key === '+' || event.key === '=' || event.key === '-') {
			this.view.zoom(event.key === '-' ? 2 : 0.5, span >= 0 ? lane.begins[span] : undefined);
			event.preventDefault();
			return;
		}
		if (viewKey(this.view, event) || !keys[event.key] || !lane || event.ctrlKey || event.altKey)
			return;
		event.preventDefault();
		keys[event.key]();
	}

	// To the lane above or below, and there to what is nearest in time.
	change(by) {
		const place = Math.min(Math.max(this.place.lane + by, 0), this.shown.length - 1);
		const old = this.shown[this.place.lane];
		const time = this.place.span >= 0 ? old.begins[this.place.span] : this.view.from;

		this.go(place, Math.min(this.shown[place].first(time), this.shown[place].length - 1));
	}

	go(place, span) {
		const lane = this.shown[place];

		if (!lane.length)
			return;
		this.place = { lane: place, span: Math.min(Math.max(span, 0), lane.length - 1) };
		const [begin, end] = [lane.begins[this.place.span], lane.ends[this.place.span]];

		if (end < this.view.from || begin > this.view.to)
			this.view.pan((begin + end) / 2 - (this.view.from + this.view.to) / 2);
		if (lane.y < this.scroller.scrollTop ||
		    lane.y + lane.height > this.scroller.scrollTop + this.surface.height - AXIS_HEIGHT)
			this.scroller.scrollTop = lane.y - LANES_HEIGHT / 2;
		this.told.textContent = describeSpan(this.recording, this.spans, lane, this.place.span)
			.filter((line) => line).join('; ');
		this.surface.request();
	}
}
