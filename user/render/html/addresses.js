// SPDX-License-Identifier: BSD-2-Clause
//
// Where blocks lie, for each device and process: addresses from left to right in lines, like text.
// Long stretches with nothing in them are cut out.

const LINE_HEIGHT = 18;
const LINES_MOST = 24;
const BLOCKS_PER_LINE = 48;
const CUT_FROM = 0.05; // of what is in use: longer holes are cut out
const CUT_SHOWN = 0.015;

class AddressMap {
	constructor(chart, made, mount) {
		this.chart = chart;
		this.title = `${made.device === null ? 'Device ?' : `Device ${made.device}`}, ${chart.recording.nameOf(made)}`;
		this.at = made.at + chart.offset;
		this.blocks = this.read(made.blocks);
		this.layOut();
		this.cursor = -1;
		mount.append(element('h4', { text: `${this.title}: ${plural(this.blocks.length, 'block')}, ` +
			`${size(this.blocks.reduce((sum, block) => sum + block.size, 0))}; ` +
			`${made.more_blocks ? `${plural(made.more_blocks, 'smaller one')} with ` +
				`${size(made.more_bytes)} not listed, so holes may be full` : this.holes}` +
			`${made.exited ? `; as it exited at ${chart.recording.both(this.at)}` : ''}` }));
		this.surface = new Surface(mount, { tabindex: 0, role: 'slider', 'aria-valuemin': 0,
			'aria-valuemax': this.blocks.length - 1, 'aria-valuenow': 0,
			'aria-valuetext': 'no block chosen',
			'aria-label': `Address space of ${this.title}; arrow keys go from block to block` },
		this.lines * LINE_HEIGHT, (context, width) => this.draw(context, width));
		this.told = element('p', { class: 'told readout', role: 'status' });
		mount.append(this.told);
		this.listen();
	}

	read(flat) {
		const blocks = [];

		for (let i = 0; i + 4 < flat.length; i += 5)
			if (flat[i + 1] > 0)
				blocks.push({ text: safe(String(flat[i])), address: BigInt(flat[i]), size: flat[i + 1],
					name: flat[i + 2], space: flat[i + 3],
					at: flat[i + 4] + this.chart.offset });
		return blocks.sort((a, b) => (a.address < b.address ? -1 : a.address > b.address ? 1 : 0));
	}

	// Gives each block its place on one long line, on which holes that are too long are short.
	layOut() {
		const used = this.blocks.reduce((sum, block) => sum + block.size, 0);
		let [place, end, holes, largest] = [0, null, 0, 0];

		this.cuts = [];
		for (const block of this.blocks) {
			const hole = end === null ? 0 : Math.max(0, Number(block.address - end));

			if (hole > used * CUT_FROM) {
				this.cuts.push({ place, length: used * CUT_SHOWN });
				place += used * CUT_SHOWN;
			} else if (hole) {
				holes++;
				largest = Math.max(largest, hole);
				place += hole;
			}
			block.place = place;
			block.hole = hole;
			place += block.size;
			const after = block.address + BigInt(Math.round(block.size));

			end = end === null || after > end ? after : end;
		}
		this.length = Math.max(1, place);
		this.holes = holes ? `${plural(holes, 'hole')} between them, the largest ${size(largest)}` :
			'no holes between neighbours';
		this.lines = Math.min(LINES_MOST, Math.max(2, Math.ceil(this.blocks.length / BLOCKS_PER_LINE)));
	}

	// ---- drawing

	// `take(x, y, width)` for each line that a stretch lies on.
	stretch(place, length, width, take) {
		const line = this.length / this.lines;
		let [from, left] = [place, length];

		while (left > 0) {
			const number = Math.min(this.lines - 1, Math.floor(from / line + 1e-9));
			const part = Math.min(left, Math.max((number + 1) * line - from, line * 1e-6));

			take((from - number * line) / line * width, number * LINE_HEIGHT, part / line * width);
			from += part;
			left -= part;
			if (from >= this.length)
				break;
		}
	}

	draw(context, width) {
		context.fillStyle = palette.line;
		context.globalAlpha = 0.5;
		for (let line = 0; line < this.lines; line++)
			context.fillRect(0, line * LINE_HEIGHT, width, LINE_HEIGHT - 3);
		context.globalAlpha = 1;
		this.blocks.forEach((block) => {
			context.fillStyle = this.chart.colour(block, this.at);
			this.stretch(block.place, block.size, width, (x, y, length) =>
				context.fillRect(x, y, Math.max(0.7, length - (length > 3 ? 0.7 : 0)), LINE_HEIGHT - 3));
		});
		context.fillStyle = palette.surface;
		context.strokeStyle = palette.dim;
		for (const cut of this.cuts)
			this.stretch(cut.place, cut.length, width, (x, y, length) => {
				context.fillRect(x, y, length, LINE_HEIGHT - 3);
				context.beginPath();
				context.moveTo(x, y + LINE_HEIGHT - 3);
				context.lineTo(x + length, y);
				context.stroke();
			});
		if (this.cursor < 0)
			return;
		context.strokeStyle = palette.focus;
		context.lineWidth = 2;
		const block = this.blocks[this.cursor];

		this.stretch(block.place, block.size, width, (x, y, length) =>
			context.strokeRect(x - 1, y - 1, Math.max(2, length) + 2, LINE_HEIGHT - 1));
		context.lineWidth = 1;
	}

	// ---- looking

	listen() {
		const { canvas } = this.surface;

		canvas.addEventListener('pointermove', (event) => {
			const box = canvas.getBoundingClientRect();
			const line = this.length / this.lines;
			const place = (Math.floor((event.clientY - box.top) / LINE_HEIGHT) +
				(event.clientX - box.left) / box.width) * line;
			const i = this.blocks.findIndex((block) => place < block.place + block.size);

			if (i < 0)
				tooltip.hide();
			else
				tooltip.show(place >= this.blocks[i].place ? this.lookAt(i) :
					[`hole of ${size(this.blocks[i].hole)}`], event.clientX, event.clientY);
		});
		canvas.addEventListener('pointerleave', () => tooltip.hide());
		canvas.addEventListener('keydown', (event) => this.press(event));
	}

	lookAt(i) {
		const block = this.blocks[i];
		const age = this.at - block.at;

		return [`${block.text}, ${size(block.size)}`, `${this.chart.nameOf(block)}, ${this.chart.spaceOf(block)}`,
			this.chart.recording.both(block.at), `age ${duration(Math.max(0, age))}`,
			block.hole ? `after a hole of ${size(block.hole)}` : ''].filter((line) => line);
	}

	press(event) {
		const keys = { ArrowRight: this.cursor + 1, ArrowLeft: this.cursor - 1, Home: 0,
			End: this.blocks.length - 1 };

		if (keys[event.key] === undefined || event.ctrlKey || event.altKey)
			return;
		event.preventDefault();
		this.cursor = Math.min(Math.max(keys[event.key], 0), this.blocks.length - 1);
		this.told.textContent = this.lookAt(this.cursor).join('; ');
		this.surface.canvas.setAttribute('aria-valuenow', this.cursor);
		this.surface.canvas.setAttribute('aria-valuetext', this.told.textContent);
		this.surface.request();
	}
}

class AddressesChart {
	constructor(recording) {
		const made = recording.lanes;
		// Blocks of unknown size are nowhere.
		const filled = (maps) => (maps || []).filter((map) => map.blocks.some((value, i) => i % 5 === 1 && value > 0));

		this.recording = recording;
		this.mount = recording.mount('addresses');
		this.by = 'owner';
		this.maps = [];
		this.made = made ? { end: filled(made.maps), oom: filled(made.oom_maps) } : { end: [], oom: [] };
		if (!this.made.end.length && !this.made.oom.length) {
			this.mount.append(element('p', { text: 'No live block is known.' }));
			return;
		}
		this.offset = made.begin_ns - recording.begin;
		this.names = made.names.map(safe);
		this.spaces = (made.spaces || []).map(safe);
		this.when = this.made.oom.length ? 'oom' : 'end';
		this.build(made.oom_at);
		this.fill();
	}

	build(oomAt) {
		const by = choice('Colour', [['owner', 'by function'], ['space', 'by kind of memory'], ['age', 'by age']],
			(value) => {
				this.by = value;
				this.describe();
			});
		const whens = [['oom', `when memory ran out, ${this.recording.both((oomAt || 0) + this.offset)}`],
			['end', 'at the end']].filter(([key]) => this.made[key].length);
		const when = choice('When', whens, (value) => {
			this.when = value;
			this.fill();
		});

		this.key = element('div');
		this.box = element('div');
		this.mount.append(element('div', { class: 'controls' }, by.node, when.node), this.key, this.box);
	}

	fill() {
		for (const map of this.maps)
			surfaces.splice(surfaces.indexOf(map.surface), 1);
		this.box.replaceChildren();
		this.maps = this.made[this.when].map((map) => new AddressMap(this, map, this.box));
		this.describe();
	}

	nameOf(block) {
		return this.names[block.name] || '?';
	}

	spaceOf(block) {
		return this.spaces[block.space] || '?';
	}

	// What has a colour of its own: by how many bytes it has.
	describe() {
		const sums = new Map();
		const of = this.by === 'space' ? (block) => this.spaceOf(block) : (block) => this.nameOf(block);

		for (const map of this.maps)
			for (const block of map.blocks)
				sums.set(of(block), (sums.get(of(block)) || 0) + block.size);
		this.order = Array.from(sums).sort((a, b) => b[1] - a[1]).map(([name]) => name);
		this.of = of;
		this.key.replaceChildren(this.by === 'age' ?
			legend([['young', 'new'], ['old', 'as old as the recording']]) :
			legend(this.order.slice(0, 8).map((name, i) =>
				[`c${i}`, i === 7 && this.order.length > 8 ? 'others' : `${name}, ${size(sums.get(name))}`])));
		for (const map of this.maps)
			map.surface.request();
	}

	colour(block, now) {
		if (this.by === 'age')
			return `color-mix(in oklab, ${palette.old} ${this.share(block, now)}%, ${palette.young})`;
		return palette.series[Math.min(7, this.order.indexOf(this.of(block)))];
	}

	share(block, now) {
		const age = (now - block.at) / this.recording.length;

		return Math.round(Math.min(1, Math.max(0, age)) * 100);
	}
}
