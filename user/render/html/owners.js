// SPDX-License-Identifier: BSD-2-Clause
//
// Who holds memory: all of it above, below it what it is made of: process, device, space, function. A
// bar is as wide as its share. Bars are buttons, so that keyboards and readers find them.

const LEVEL_HEIGHT = 26;
const BAR_LEAST = 2; // px: narrower ones are left out

class Owner {
	constructor(name, path) {
		this.name = name;
		this.path = path;
		this.bytes = 0;
		this.parts = new Map();
	}

	add(names, bytes) {
		this.bytes += bytes;
		if (!names.length)
			return;
		const [name, ...rest] = names;

		if (!this.parts.has(name))
			this.parts.set(name, new Owner(name, [...this.path, name]));
		this.parts.get(name).add(rest, bytes);
	}

	get sorted() {
		return Array.from(this.parts.values()).filter((part) => part.bytes)
			.sort((a, b) => b.bytes - a.bytes);
	}
}

class OwnersChart {
	constructor(recording) {
		this.recording = recording;
		this.mount = recording.mount('owners');
		this.space = 'device';
		this.trees = [];
		// A process's colour goes down to all that it holds.
		this.colours = new Map(recording.report.processes.map((process) =>
			[processName(process), recording.colourOf(process)]));
		this.build();
	}

	spaces() {
		const found = new Set();

		for (const process of this.recording.report.processes)
			for (const cell of process.by_api || [])
				found.add(cell.space);
		return Array.from(found);
	}

	build() {
		const found = this.spaces();

		if (!found.length) {
			this.mount.append(element('p', { text: 'No allocation was recorded.' }));
			return;
		}
		if (!found.some((space) => onDevice.has(space)))
			this.space = `=${found[0]}`;
		const spaces = choice('Memory', [['device', 'on devices'], ...found.map((space) => [`=${space}`, space])],
			(value) => {
				this.space = value;
				this.fill();
			});

		spaces.select.value = this.space;
		this.mount.append(element('div', { class: 'controls' }, spaces.node));
		for (const [what, title] of [['live_bytes', 'At the end (of each process)'],
			['bytes_in_peak', 'At the peak of each process and kind of memory (not at one moment)']])
			this.trees.push(new Icicle(this.mount, title, what, (owner) => this.colours.get(owner.path[0])));
		this.addFailures();
		this.mount.append(element('p', { class: 'hint', text: 'Process, device, kind of memory, function. Choose a bar ' +
			'to look closer, the uppermost to go back; arrow keys move.' }));
		this.fill();
	}

	// Of each time that memory ran out, the report has what the largest holders had.
	addFailures() {
		const failures = this.recording.report.out_of_memory;

		if (!failures.length)
			return;
		// What the program did not survive, above all.
		this.failure = failures.find((failure) => failure.outcome === 'fatal') || failures[0];
		if (failures.length > 1) {
			const chosen = choice('Out of memory', failures.map((failure, place) => [place,
				`failure ${place + 1}, ${this.timeOf(failure)}, ${failure.outcome}`]), (value) => {
				this.failure = failures[value];
				this.fill();
			});

			chosen.select.value = failures.indexOf(this.failure);
			this.mount.append(element('div', { class: 'controls' }, chosen.node));
		}
		this.atFailure = new Icicle(this.mount, 'When memory ran out', null, (owner) => this.colours.get(owner.path[0]));
	}

	timeOf(failure) {
		return this.recording.both(this.recording.relative(failure.last_ts_ns));
	}

	fill() {
		for (const tree of this.trees)
			tree.show(this.treeOf(tree.what));
		if (!this.failure)
			return;
		const { failure } = this;
		const place = this.recording.report.out_of_memory.indexOf(failure) + 1;

		this.atFailure.title = `When memory ran out (failure ${place}) at ${this.timeOf(failure)}, ${this.placeOf(failure)}`;
		this.atFailure.show(this.treeAt(failure));
	}

	placeOf(failure) {
		return failure.space !== null && !onDevice.has(failure.space) && failure.space !== 'managed' ? 'host memory' :
			`device ${failure.device === null ? '?' : failure.device}`;
	}

	// Those that held most, and what they held it with; the rest of both is told as one.
	treeAt(failure) {
		const root = new Owner('all', []);
		const where = this.placeOf(failure);
		const all = this.space === 'device';
		const wanted = (space) => (all ? space !== 'managed' : space === this.space.slice(1));
		let rest = failure.live.bytes;

		for (const process of failure.processes) {
			const name = this.recording.nameOf(process);
			let more = process.live.bytes;

			for (const kind of process.by_api) {
				more -= kind.space === 'managed' ? 0 : kind.live.bytes;
				if (wanted(kind.space))
					root.add([name, where, kind.space, kind.api || '?'], kind.live.bytes);
			}
			if (all && more > 0)
				root.add([name, where, 'by other functions'], more);
			rest -= process.live.bytes;
		}
		if (all && rest > 0)
			root.add([plural(failure.more_processes, 'other process', 'other processes')], rest);
		return { root, unknown: 0 };
	}

	treeOf(what) {
		const root = new Owner('all', []);
		let unknown = 0;

		for (const process of this.recording.report.processes) {
			for (const cell of process.by_api || []) {
				if (this.space === 'device' ? !onDevice.has(cell.space) : cell.space !== this.space.slice(1))
					continue;
				unknown += cell[what] === null;
				root.add([processName(process), `device ${cell.device === null ? '?' : cell.device}`,
					cell.space, cell.api], cell[what] || 0);
			}
		}
		return { root, unknown };
	}
}

// `colourOf`: a bar's colour.
class Icicle {
	constructor(mount, title, what, colourOf) {
		this.what = what;
		this.title = title;
		this.colourOf = colourOf;
		this.wanted = '';
		this.format = size;
		this.head = element('h4', { class: 'icicle-head' });
		this.box = element('div', { class: 'icicle', role: 'group', 'aria-label': title });
		this.box.addEventListener('keydown', (event) => this.press(event));
		this.box.addEventListener('pointerleave', () => tooltip.hide());
		mount.append(this.head, this.box);
		new ResizeObserver(() => this.draw()).observe(this.box);
	}

	show({ root, unknown }) {
		this.root = root;
		this.top = [root];
		this.head.textContent = `${this.title}: ${this.format(root.bytes)}` +
			`${unknown ? ` (${plural(unknown, 'owner')} not known)` : ''}`;
		this.width = 0;
		this.box.hidden = !root.bytes;
		this.draw(true);
	}

	// Bars that have this in their names stand out.
	seek(wanted) {
		this.wanted = wanted;
		this.box.classList.toggle('seeking', wanted !== '');
		for (const bar of this.bars || [])
			bar.node.classList.toggle('found', this.isFound(bar.owner));
	}

	isFound(owner) {
		return this.wanted !== '' && owner.path.length > 0 && owner.name.toLowerCase().includes(this.wanted);
	}

	draw(anew) {
		const width = this.box.clientWidth;

		if (!this.root || (!anew && width === this.width))
			return;
		this.width = width;
		this.bars = [];
		const depth = this.top.length;

		this.top.forEach((owner, level) => this.bar(owner, level, 0, width, level + 1 < depth));
		this.fillBelow(this.top[depth - 1], depth, 0, width);
		this.box.replaceChildren(...this.bars.map((bar) => bar.node));
		this.box.style.height = `${(Math.max(...this.bars.map((bar) => bar.level)) + 1) * LEVEL_HEIGHT}px`;
		this.bars[Math.min(depth, this.bars.length) - 1].node.tabIndex = 0;
	}

	fillBelow(owner, level, x, width) {
		for (const part of owner.sorted) {
			const share = part.bytes / owner.bytes * width;

			if (share >= BAR_LEAST) {
				this.bar(part, level, x, share, false);
				this.fillBelow(part, level + 1, x, share);
			}
			x += share;
		}
	}

	bar(owner, level, x, width, above) {
		const path = owner.path.join(' › ') || this.title;
		const within = owner.path.slice(0, -1).join(', ');
		const text = `${owner.name} ${this.format(owner.bytes)}, ${percent(owner.bytes, this.root.bytes)} of all` +
			`${within ? `, in ${within}` : ''}`;
		const node = element('button', { type: 'button', tabindex: -1, 'aria-label': text,
			class: `bar c${this.colour(owner)}${above ? ' above' : ''}${this.isFound(owner) ? ' found' : ''}`,
			onclick: () => this.choose(owner),
			onpointermove: (event) => tooltip.show([path, this.format(owner.bytes),
				`${percent(owner.bytes, this.root.bytes)} of all`], event.clientX, event.clientY) });

		node.append(element('span', { text: width > 36 ? `${owner.name} ${this.format(owner.bytes)}` : '' }));
		node.style.left = `${x}px`;
		node.style.top = `${level * LEVEL_HEIGHT}px`;
		node.style.width = `${Math.max(1, width - 1)}px`;
		this.bars.push({ node, owner, level, x, width });
	}

	// The top has none.
	colour(owner) {
		if (!owner.path.length)
			return 'none';
		return this.colourOf(owner) ?? 'none';
	}

	choose(owner) {
		let at = this.root;

		tooltip.hide();
		this.top = [this.root];
		for (const name of owner.path) {
			at = at.parts.get(name);
			this.top.push(at);
		}
		this.draw(true);
		this.bars[this.top.length - 1].node.focus();
	}

	press(event) {
		const now = this.bars.findIndex((bar) => bar.node === document.activeElement);
		const bar = this.bars[now];

		if (now < 0)
			return;
		const middle = bar.x + Math.min(bar.width, 8) / 2;
		const beside = this.bars.filter((other) => other.level === bar.level);
		const within = (level) => this.bars.find((other) => other.level === level &&
			middle >= other.x && middle <= other.x + other.width);
		const next = {
			ArrowRight: () => beside[beside.indexOf(bar) + 1],
			ArrowLeft: () => beside[beside.indexOf(bar) - 1],
			ArrowUp: () => within(bar.level - 1),
			ArrowDown: () => within(bar.level + 1),
			Escape: () => (this.choose(this.root), null),
		}[event.key];

		if (!next)
			return;
		event.preventDefault();
		const target = next();

		if (!target)
			return;
		bar.node.tabIndex = -1;
		target.node.tabIndex = 0;
		target.node.focus();
	}
}
