// SPDX-License-Identifier: BSD-2-Clause
//
// What is in the lanes, found fast: phases, calls by thread and by stream, what GPUs did.

// With a colour each.
const OPS = ['alloc', 'free', 'copy', 'launch', 'memset', 'sync', 'memory', 'context', 'phase'];
const KINDS = [['phase', 'phases'], ['thread', 'threads'], ['stream', 'streams'], ['gpu', 'GPUs']];
const DEPTH_MOST = 4;

// A lane's spans in arrays of numbers, by their beginnings.
class Lane {
	constructor(made, names, offset, recording) {
		const length = Math.floor(made.spans.length / 5);
		const order = Lane.order(made.spans, length);

		this.kind = made.kind;
		this.pid = made.pid;
		this.tid = made.tid;
		this.stream = made.stream;
		this.device = made.device;
		this.context = made.context === undefined ? null : made.context;
		this.copies = made.copies || null;
		this.counted = made.counted || null;
		this.resolution = made.resolution_ns;
		this.process = recording.nameOf(made);
		this.length = length;
		this.begins = new Float64Array(length);
		this.ends = new Float64Array(length);
		this.names = new Uint32Array(length);
		this.counts = new Float64Array(length);
		this.bytes = new Float64Array(length);
		this.ops = new Uint8Array(length);
		this.depths = new Uint8Array(length);
		this.reach = new Float64Array(length); // the latest end up to here
		this.calls = this.busy = 0;
		for (let i = 0; i < length; i++)
			this.take(i, made.spans, order ? order[i] * 5 : i * 5, names, offset);
		this.rows = this.stack();
		this.waits = new Map(); // place -> for how long it waited for a CPU, and was blocked
		for (let i = 0; i + 2 < (made.waits || []).length; i += 3)
			this.waits.set(order ? order.indexOf(made.waits[i]) : made.waits[i],
				{ starved: made.waits[i + 1], blocked: made.waits[i + 2] });
	}

	// Phases may have any name; what ran on a GPU is no function of the table.
	opOf(name) {
		if (this.kind === 'phase')
			return OPS.indexOf('phase');
		if (this.kind === 'gpu')
			return OPS.indexOf(this.copies ? 'copy' : name && name.text === 'memset' ? 'memset' : 'launch');
		return name ? name.op : OPS.indexOf('launch');
	}

	// What it has many of.
	get noun() {
		return { phase: 'phase', gpu: 'run' }[this.kind] || 'call';
	}

	// Nothing if they are in order, as they should be.
	static order(spans, length) {
		let sorted = true;

		for (let i = 1; i < length && sorted; i++)
			sorted = spans[i * 5] >= spans[i * 5 - 5];
		return sorted ? null :
			Uint32Array.from({ length }, (_, i) => i).sort((a, b) => spans[a * 5] - spans[b * 5]);
	}

	take(i, spans, place, names, offset) {
		this.begins[i] = spans[place] + offset;
		this.ends[i] = this.begins[i] + spans[place + 1];
		this.names[i] = spans[place + 2];
		this.counts[i] = spans[place + 3];
		this.bytes[i] = spans[place + 4];
		this.ops[i] = this.opOf(names[this.names[i]]);
		this.reach[i] = Math.max(this.ends[i], i ? this.reach[i - 1] : -Infinity);
		this.calls += this.counts[i];
		this.busy += spans[place + 1];
	}

	// Calls within others are drawn below them. What only overlaps does not lie in another one: calls of
	// several threads on a stream, or calls that were put together.
	stack() {
		const open = [];
		let rows = 1;

		for (let i = 0; i < this.length; i++) {
			while (open.length && (open[open.length - 1] <= this.begins[i] ||
					open[open.length - 1] < this.ends[i]))
				open.pop();
			this.depths[i] = Math.min(open.length, DEPTH_MOST - 1);
			rows = Math.max(rows, this.depths[i] + 1);
			open.push(this.ends[i]);
		}
		return rows;
	}

	// Without the process.
	get own() {
		const stream = this.stream === '0x0' ? 'default stream' : `stream ${safe(String(this.stream))}`;

		if (this.kind === 'phase')
			return this.tid === null ? 'phases' : `phases of thread ${this.tid}`;
		if (this.kind === 'gpu')
			return `GPU ${this.device === null ? '?' : this.device}, ${this.copies ? `copies ${safe(this.copies)}` :
				`stream ${Number(this.stream)}, context ${this.context}`}`;
		if (this.counted)
			return `${safe(this.counted)} calls, counted`;
		if (this.kind === 'thread')
			return `thread ${this.tid}`;
		return `${stream}${this.tid === null ? '' : ` of thread ${this.tid}`}` +
			`${this.device === null ? '' : `, device ${this.device}`}`;
	}

	// For little room: handles differ at their ends.
	get brief() {
		return this.own.replace(/0x[0-9a-f]+(?=[0-9a-f]{4})/, '…').replace(/, context .*/, '');
	}

	get name() {
		return `${this.process} ${this.own}`;
	}

	// The first span that ends after `ns`; those before it do not reach that far.
	first(ns) {
		let [low, high] = [0, this.length];

		while (low < high) {
			const middle = (low + high) >> 1;

			if (this.reach[middle] < ns)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	// Those that are there between two moments, in a row or in all (-1); at most so many.
	between(from, to, row, most) {
		const found = [];

		for (let i = this.first(from); i < this.length && this.begins[i] <= to && found.length < most; i++)
			if (this.ends[i] >= from && (row < 0 || this.depths[i] === row))
				found.push(i);
		return found;
	}
}

// What is no function of the probe table is a kernel.
const opOf = (() => {
	const places = new Map();

	OPS.forEach((op, place) => (words.functions[op] || []).forEach((name) => places.set(name, place)));
	return (name) => (places.has(name) ? places.get(name) : OPS.indexOf('launch'));
})();

// All lanes of a recording; null: there are none.
function spansOf(recording) {
	const made = recording.lanes;

	if (!made || !made.lanes.length)
		return null;
	const offset = made.begin_ns - recording.begin;
	const names = made.names.map((name) => ({ text: safe(name), op: opOf(name) }));

	return { names, dropped: made.dropped_lanes || 0, droppedCalls: made.dropped_calls || 0,
		lanes: made.lanes.map((lane) => new Lane(lane, names, offset, recording)) };
}

// Why a thread took long. Of several calls, the rest is what they ran, and the times between them.
function describeWait(lane, i) {
	const wait = lane.waits.get(i);

	if (!wait)
		return '';
	return [wait.blocked && `blocked for ${duration(wait.blocked)}`,
		wait.starved && `waited for a CPU for ${duration(wait.starved)}`].filter((part) => part).join(', ');
}

// How fast it was: of what the GPU did, not of calls, which need not wait for it.
function describeSpeed(lane, i) {
	const length = lane.ends[i] - lane.begins[i];

	return lane.kind === 'gpu' && lane.counts[i] === 1 && length ? ` (${size(lane.bytes[i] / length * 1e9)}/s)` : '';
}

// A span in words.
function describeSpan(recording, spans, lane, i) {
	const name = spans.names[lane.names[i]] ? spans.names[lane.names[i]].text : '?';
	const length = lane.ends[i] - lane.begins[i];

	return [lane.counts[i] > 1 ? `${count(lane.counts[i])} ${lane.noun}s of ${name}` : name,
		`${moment(lane.begins[i], 1e3)}, for ${duration(length)}`, recording.wall(lane.begins[i]),
		describeWait(lane, i),
		lane.bytes[i] ? size(lane.bytes[i]) + describeSpeed(lane, i) : '',
		lane.counts[i] > 1 && lane.resolution ? `closer than ${duration(lane.resolution)}: put together` : '',
		lane.name];
}

// Many of them, as one place on the screen shows them.
function describeMany(spans, lane, found, more) {
	const sums = new Map();
	let calls = 0;

	for (const i of found) {
		const name = spans.names[lane.names[i]] ? spans.names[lane.names[i]].text : '?';

		sums.set(name, (sums.get(name) || 0) + lane.counts[i]);
		calls += lane.counts[i];
	}
	return [`${more ? 'more than ' : ''}${plural(calls, lane.noun)} here; zoom in to see each of them`,
		...Array.from(sums).sort((a, b) => b[1] - a[1]).slice(0, 6)
			.map(([name, number]) => `${name}: ${count(number)}`), lane.name];
}
