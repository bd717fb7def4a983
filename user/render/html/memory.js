// SPDX-License-Identifier: BSD-2-Clause
//
// Live bytes over time, by process and space: where they come from and how they are drawn.

const SERIES_MOST = 7; // the others are put together
const MEMORY_HEIGHT = 274;
const HINT = 'Drag to zoom in, double-click to show all; arrow keys move the cursor, + and - zoom.';

class MemoryChart {
	constructor(recording, view, place = 'timeline') {
		this.recording = recording;
		this.view = view;
		this.timeline = recording.report.timeline;
		this.process = 'all';
		this.space = 'device';
		this.stacked = true;
		this.cursor = null; // a bucket
		this.mount = recording.mount(place);
		this.lines = this.timeline.buckets ? this.allLines() : [];
		if (!this.lines.length) {
			this.mount.append(element('p', { text: this.words().nothing }));
			return;
		}
		this.offset = recording.relative(this.timeline.begin_ts_ns);
		this.build();
		this.choose();
		view.onChange(() => this.surface.request());
	}

	words() {
		return { nothing: 'No memory was held.', label: 'Live bytes', none: 'nothing live',
			stacked: 'what is live at the end of each' };
	}

	// ---- data

	// Each process's every space: its name and its levels by bucket.
	allLines() {
		const lines = [];

		this.timeline.processes.forEach((series) => {
			const process = series.pid === null ? null :
				this.recording.process(series.pid, series.start_ns);
			const name = process ? processName(process) : 'others';

			for (const live of series.live)
				lines.push({ key: `${series.pid}/${series.start_ns}`, name, process, space: live.space,
					most: live.max_bytes, end: live.end_bytes,
					peak: live.max_bytes.reduce((a, b) => Math.max(a, b), 0) });
		});
		return lines;
	}

	chosen() {
		return this.lines.filter((line) => (this.process === 'all' || line.key === this.process) &&
			(this.space === 'device' ? onDevice.has(line.space) : line.space === this.space.slice(1)));
	}

	// The lines that are drawn: the highest ones, and the sum of the rest.
	choose() {
		const lines = this.chosen().sort((a, b) => b.peak - a.peak);
		const rest = lines.splice(lines.length > SERIES_MOST + 1 ? SERIES_MOST : SERIES_MOST + 1);
		const add = (which) => rest[0][which].map((_, i) =>
			rest.reduce((sum, line) => sum + line[which][i], 0));

		this.drawn = lines;
		if (rest.length) {
			const most = add('most');

			this.drawn.push({ name: `${rest.length} others`, space: '', most, end: add('end'),
				peak: Math.max(...most) });
		}
		// What several hold at most, they do not hold at the same time: stacks show the end of each part.
		this.levels = this.drawn.map((line) => (this.stacked && this.drawn.length > 1 ? line.end : line.most));
		this.several = new Set(lines.map((line) => line.key)).size > 1;
		this.marks = this.findMarks();
		this.cursor = null;
		this.describe();
		this.surface.request();
	}

	// By process, as in the other charts; if there is one, by space.
	colourAt(place) {
		const { process } = this.drawn[place];

		if (!this.several)
			return place;
		return process ? this.recording.colourOf(process) : COLOUR_OF_OTHERS;
	}

	findMarks() {
		const marks = [];
		const { report: made } = this.recording;

		if (this.process === 'all' && this.space === 'device') {
			for (const device of made.devices)
				if (device.peak_bytes)
					marks.push({ at: this.recording.relative(device.peak_ts_ns), bytes: device.peak_bytes,
						text: `peak of device ${device.device === null ? '?' : device.device}: ` +
							size(device.peak_bytes) });
		} else {
			for (const line of this.drawn) {
				const total = line.process && line.process.spaces.find((space) => space.space === line.space);

				if (total && total.peak_bytes && total.peak_ts_ns !== null)
					marks.push({ at: this.recording.relative(total.peak_ts_ns), bytes: total.peak_bytes,
						text: `peak of ${line.name}, ${line.space}: ${size(total.peak_bytes)}` });
			}
		}
		for (const oom of made.out_of_memory)
			marks.push({ at: this.recording.relative(oom.ts_ns), oom: true,
				text: `out of memory: ${this.recording.nameOf(oom)} ` +
					`${oom.requested_bytes === null ? `called ${oom.api}` :
						`asked for ${size(oom.requested_bytes)}`}` +
					`${oom.failures > 1 ? `, ${count(oom.failures)} times` : ''} (${oom.outcome})` });
		return marks;
	}

	// ---- controls

	build() {
		const processes = [['all', 'all']];
		const spaces = [['device', 'on devices']];

		for (const line of this.lines) {
			if (!processes.some(([key]) => key === line.key))
				processes.push([line.key, line.name]);
			if (!spaces.some(([key]) => key === `=${line.space}`))
				spaces.push([`=${line.space}`, line.space]);
		}
		if (!this.lines.some((line) => onDevice.has(line.space)) && spaces.length > 1)
			this.space = spaces[1][0];
		const process = choice('Process', processes, (value) => {
			this.process = value;
			this.choose();
		});
		const space = choice('Memory', spaces, (value) => {
			this.space = value;
			this.choose();
		});
		const stack = element('input', { type: 'checkbox', checked: true, onchange: () => {
			this.stacked = stack.checked;
			this.choose();
		} });

		space.select.value = this.space;
		this.mount.append(element('div', { class: 'controls' }, process.node, space.node,
			element('label', { class: 'choice' }, stack, ' stacked'), viewTools(this.view)));
		this.buildSurface();
	}

	buildSurface() {
		this.key = element('div');
		this.told = element('p', { class: 'told readout', role: 'status' });
		this.surface = new Surface(this.mount, { tabindex: 0, role: 'slider', 'aria-valuemin': 0,
			'aria-valuemax': this.timeline.buckets - 1, 'aria-valuenow': 0 }, MEMORY_HEIGHT,
		(context, width, height) => this.draw(context, width, height));
		this.mount.append(this.told, this.key);
		this.listen();
	}

	listen() {
		const { canvas } = this.surface;

		this.dragging = new Dragging(this.surface, this.view);
		canvas.addEventListener('pointermove', (event) => {
			this.moveTo(Math.floor((this.dragging.time(event) - this.offset) / this.timeline.bucket_ns));
			tooltip.show(this.lookAt(this.cursor, 12), event.clientX, event.clientY);
		});
		canvas.addEventListener('pointerleave', () => {
			tooltip.hide();
			this.moveTo(null);
		});
		canvas.addEventListener('keydown', (event) => this.press(event));
		canvas.addEventListener('blur', () => this.moveTo(null));
	}

	press(event) {
		const last = this.timeline.buckets - 1;
		const visible = Math.floor((this.view.from - this.offset) / this.timeline.bucket_ns);
		const now = this.cursor === null ? visible - 1 : this.cursor;
		const keys = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last };

		if (viewKey(this.view, event) || keys[event.key] === undefined)
			return;
		event.preventDefault();
		this.moveTo(keys[event.key]);
		this.told.textContent = this.lookAt(this.cursor, 4).join('; ');
		const at = this.offset + this.cursor * this.timeline.bucket_ns;

		if (at < this.view.from || at > this.view.to)
			this.view.pan(at - (this.view.from + this.view.to) / 2);
	}

	moveTo(bucket) {
		this.cursor = bucket === null ? null :
			Math.min(Math.max(bucket, 0), this.timeline.buckets - 1);
		if (this.cursor !== null) {
			this.surface.canvas.setAttribute('aria-valuenow', this.cursor);
			this.surface.canvas.setAttribute('aria-valuetext', this.lookAt(this.cursor, 4).join('; '));
		}
		this.surface.request();
	}

	// What there was then, in words.
	lookAt(bucket, most) {
		const from = this.offset + bucket * this.timeline.bucket_ns;
		const sum = this.levels.reduce((total, level) => total + level[bucket], 0);
		const near = this.marks.filter((mark) => mark.at >= from - this.view.span / 300 &&
			mark.at < from + this.timeline.bucket_ns + this.view.span / 300);
		const lines = this.drawn.map((line, i) => [line, this.levels[i][bucket]])
			.filter(([, bytes]) => bytes).slice(0, most)
			.map(([line, bytes]) => `${line.name} ${line.space}: ${size(bytes)}`);

		return [this.recording.both(from), ...near.map((mark) => mark.text),
			this.drawn.length > 1 && this.stacked ? `together: ${size(sum)}` : '',
			...(lines.length ? lines : [this.words().none]),
			this.timeline.lost[bucket] ? `${plural(this.timeline.lost[bucket], 'event')} lost` : '']
			.filter((line) => line);
	}

	describe() {
		const names = this.drawn.map((line) => `${line.name} ${line.space} up to ${size(line.peak)}`);

		this.surface.canvas.setAttribute('aria-label', `${this.words().label} over ${duration(this.view.length)}: ` +
			`${names.slice(0, 5).join(', ') || 'none'}. ${this.marks.map((mark) =>
				`${mark.text} at ${this.recording.both(mark.at)}`).slice(0, 5).join('. ')}`);
		this.surface.canvas.setAttribute('aria-valuetext', 'no moment chosen');
		this.key.replaceChildren(legend(this.drawn.map((line, i) =>
			[`c${this.colourAt(i)}`, `${line.name}${line.space ? `, ${line.space}` : ''}, up to ${size(line.peak)}`])),
		element('p', { class: 'hint', text: this.stacked && this.drawn.length > 1 ?
			`Stacked: ${this.words().stacked} ${duration(this.timeline.bucket_ns)}. ${HINT}` :
			`The most in each ${duration(this.timeline.bucket_ns)}. ${HINT}` }));
	}

	// ---- drawing

	highest() {
		const heights = this.levels[0] ? this.levels[0].map((_, i) => (this.stacked ?
			this.levels.reduce((sum, level) => sum + level[i], 0) :
			Math.max(...this.levels.map((level) => level[i])))) : [0];

		return Math.max(1, ...heights, ...this.marks.map((mark) => mark.bytes || 0)) * 1.08;
	}

	draw(context, width, height) {
		const { left, right } = this.view.frame(width);
		const [top, bottom] = [18, height - AXIS_HEIGHT];
		const most = this.highest();
		const x = (ns) => left + (ns - this.view.from) / this.view.span * (right - left);
		const y = (bytes) => bottom - bytes / most * (bottom - top);

		drawByteAxis(context, most, left, right, top, bottom);
		drawTimeAxis(context, this.view, left, right, bottom, bottom - top);
		context.save();
		context.beginPath();
		context.rect(left, 0, right - left, height);
		context.clip();
		this.drawLost(context, x, top, bottom);
		this.drawLevels(context, x, y);
		this.drawCursor(context, x, top, bottom);
		this.dragging.draw(context, top, bottom);
		this.drawMarks(context, x, y, top, bottom, right);
		context.restore();
	}

	edges(i) {
		return [this.offset + i * this.timeline.bucket_ns,
			Math.min(this.offset + (i + 1) * this.timeline.bucket_ns, this.view.length)];
	}

	drawLevels(context, x, y) {
		const below = new Array(this.timeline.buckets).fill(0);

		this.levels.forEach((level, place) => {
			const colour = palette.series[this.colourAt(place)];
			const [path, area] = [new Path2D(), new Path2D()];
			const base = this.stacked ? below.slice() : below;

			for (let i = 0; i < level.length; i++) {
				const [from, to] = this.edges(i);

				if (!level[i])
					continue;
				if (!i || !level[i - 1])
					path.moveTo(x(from), y(base[i]));
				path.lineTo(x(from), y(base[i] + level[i]));
				path.lineTo(x(to), y(base[i] + level[i]));
				if (!level[i + 1])
					path.lineTo(x(to), y(base[i]));
				area.rect(x(from), y(base[i] + level[i]), x(to) - x(from), y(base[i]) - y(base[i] + level[i]));
			}
			context.fillStyle = context.strokeStyle = colour;
			context.globalAlpha = this.stacked ? 0.55 : 0.12;
			context.fill(area);
			context.globalAlpha = 1;
			context.lineWidth = 1.5;
			context.stroke(path);
			if (this.stacked)
				level.forEach((bytes, i) => { below[i] += bytes; });
		});
	}

	// Where events were lost, levels may be wrong.
	drawLost(context, x, top, bottom) {
		context.fillStyle = palette.warn;
		this.timeline.lost.forEach((lost, i) => {
			const [from, to] = this.edges(i);

			if (!lost)
				return;
			context.globalAlpha = 0.12;
			context.fillRect(x(from), top, Math.max(1, x(to) - x(from)), bottom - top);
			context.globalAlpha = 1;
			context.fillRect(x(from), bottom - 3, Math.max(1, x(to) - x(from)), 3);
		});
	}

	drawCursor(context, x, top, bottom) {
		if (this.cursor === null)
			return;
		const [from, to] = this.edges(this.cursor);

		context.fillStyle = palette.ink;
		context.globalAlpha = 0.12;
		context.fillRect(x(from), top, Math.max(1, x(to) - x(from)), bottom - top);
		context.globalAlpha = 1;
	}

	drawMarks(context, x, y, top, bottom, right) {
		this.marks.forEach((mark, i) => {
			const place = Math.round(x(mark.at)) + 0.5;
			const colour = mark.oom ? palette.bad : palette.ink;

			context.strokeStyle = context.fillStyle = colour;
			context.lineWidth = mark.oom ? 1.5 : 1;
			context.setLineDash(mark.oom ? [] : [3, 3]);
			context.beginPath();
			context.moveTo(place, mark.oom ? top : y(mark.bytes));
			context.lineTo(place, bottom);
			context.stroke();
			context.setLineDash([]);
			context.beginPath();
			if (mark.oom) {
				context.moveTo(place - 6, top - 12);
				context.lineTo(place + 6, top - 12);
				context.lineTo(place, top);
			} else {
				context.arc(place, y(mark.bytes), 3.5, 0, 7);
			}
			context.fill();
			const text = mark.oom ? 'OOM' : size(mark.bytes);
			const leftwards = place + 80 > right;
			const near = (other) => Math.abs(x(other.at) - place) < 60 && !other.oom === !mark.oom;

			// One of many at one place is told of in words alone.
			if (this.marks.slice(0, i).some(near))
				return;
			context.textAlign = leftwards ? 'right' : 'left';
			context.fillText(text, place + (leftwards ? -9 : 9), mark.oom ? top - 7 : y(mark.bytes) - 7);
		});
	}
}
