// SPDX-License-Identifier: BSD-2-Clause
//
// What a device held over time, by NVML, and what it is made of: the chart of live bytes with other lines.

class HeldChart extends MemoryChart {
	constructor(recording, view) {
		super(recording, view, 'held');
	}

	words() {
		return { nothing: 'No call was recorded in this time.', label: 'Memory in use, by NVML', none: 'nothing in use',
			stacked: 'NVML\'s last answer at the end of each' };
	}

	// Between two answers, what the first one said stays.
	allLines() {
		const { begin_ts_ns: begin, bucket_ns: width, buckets } = this.timeline;
		const shares = Object.entries(words.nvml_shares);

		return this.recording.report.nvml_timeline.flatMap((device) => {
			const samples = Array.from({ length: buckets }, (_, i) =>
				device.ts_ns.findLastIndex((ts) => ts <= begin + (i + 1) * width));

			return shares.map(([share, name], rank) => {
				const most = samples.map((sample) => (sample < 0 ? 0 : device[share][sample]));

				return { key: device.uuid, name, process: null, space: '', rank, most, end: most,
					peak: most.reduce((a, b) => Math.max(a, b), 0) };
			});
		});
	}

	build() {
		const devices = [...new Set(this.lines.map((line) => line.key))];
		const device = choice('Device', devices.map((uuid) => [uuid, uuid]), (value) => {
			this.process = value;
			this.choose();
		});

		[this.process] = devices;
		this.mount.append(element('div', { class: 'controls' }, device.node, viewTools(this.view)));
		this.buildSurface();
	}

	// In the order in which NVML's number is broken down.
	choose() {
		this.drawn = this.lines.filter((line) => line.key === this.process && line.peak);
		this.levels = this.drawn.map((line) => line.end);
		this.marks = this.findMarks();
		this.cursor = null;
		this.describe();
		this.surface.request();
	}

	colourAt(place) {
		return Math.min(this.drawn[place].rank, COLOUR_OF_OTHERS);
	}
}
