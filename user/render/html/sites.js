// SPDX-License-Identifier: BSD-2-Clause
//
// Where memory was allocated, and where threads were in CUDA calls: call stacks with the outermost frame
// uppermost, as an icicle. Native and Python frames have colours of their own, and so has the code that the
// memory was allocated for.

const NO_PYTHON = 'no Python frames';
const SITE_SIZES = [['live_bytes', 'live at the end'], ['peak_bytes', 'most of each call stack'],
	['alloc_bytes', 'all that was allocated']];
const TIME = 'duration_ns';
const SITE_COLOURS = { python: 1, owner: 2, native: 0 };

const lastPart = (path) => path.slice(path.lastIndexOf('/') + 1);

function frameName(frame) {
	if (!frame)
		return '?';
	if (frame.function === null)
		return frame.module === null ? frame.address || '?' : `${lastPart(frame.module)}+${frame.address}`;
	if (frame.source === null)
		return frame.function;
	return `${frame.function} (${lastPart(frame.source)}${frame.line ? `:${frame.line}` : ''})`;
}

// All of it below this that a search has found; what is below a found frame is not counted again.
function foundBytes(owner, wanted) {
	if (owner.path.length && owner.name.toLowerCase().includes(wanted))
		return owner.bytes;
	return Array.from(owner.parts.values()).reduce((sum, part) => sum + foundBytes(part, wanted), 0);
}

class SitesChart {
	constructor(recording) {
		this.mount = recording.mount('sites');
		this.memory = recording.report.sites || [];
		this.calls = recording.report.call_sites || [];
		this.sites = this.memory.length ? this.memory : this.calls;
		this.kinds = new Map();
		if (!this.sites.length) {
			this.mount.append(element('p', { text: 'No call stacks are known of this recording: record with ' +
				'--stacks=alloc.' }));
			return;
		}
		this.hasPython = this.sites.some((site) => site.frames.some((frame) => frame && frame.kind === 'python'));
		this.what = !this.memory.length ? TIME : this.sites.some((site) => site.live_bytes) ? 'live_bytes' : 'peak_bytes';
		this.frames = this.hasPython ? 'python' : 'all';
		this.wanted = '';
		this.build();
	}

	build() {
		const sizes = choice('What', [...(this.memory.length ? SITE_SIZES : []),
			...(this.calls.length ? [[TIME, 'time in CUDA calls']] : [])], (value) => {
			this.what = value;
			this.fill();
		});
		const frames = choice('Frames', [['all', 'all'], ...(this.hasPython ? [['python', 'Python only']] : []),
			['owner', 'by owner']], (value) => {
			this.frames = value;
			this.fill();
		});
		const search = element('input', { type: 'search', placeholder: 'Highlight frames',
			'aria-label': 'Highlight frames', oninput: () => {
				this.wanted = search.value.trim().toLowerCase();
				this.seek();
			} });

		sizes.select.value = this.what;
		frames.select.value = this.frames;
		this.found = element('p', { class: 'readout hint', role: 'status' });
		this.mount.append(element('div', { class: 'controls' }, sizes.node, frames.node, search));
		this.chart = new Icicle(this.mount, 'By call stack', 'sites', (owner) => this.kinds.get(owner.name));
		this.mount.append(this.found, this.legend(), element('p', { class: 'hint', text: 'Of each bar, those below ' +
			'it were called by it. Choose a bar to look closer, the uppermost to go back; arrow keys move.' }));
		this.fill();
	}

	legend() {
		const kinds = [...(this.hasPython ? [['python', 'Python']] : []), ['owner', 'native code that the memory is for'],
			['native', 'other native code']];

		return element('ul', { class: 'legend' }, ...kinds.map(([kind, text]) =>
			element('li', {}, element('span', { class: `swatch c${SITE_COLOURS[kind]}` }), text)));
	}

	// From the outermost frame on.
	pathOf(site) {
		const frames = site.frames.filter((frame) => this.frames !== 'python' || (frame && frame.kind === 'python'));
		const names = frames.map((frame) => {
			const name = safe(frameName(frame));
			const owned = frame && frame.module && site.owner && lastPart(frame.module) === lastPart(site.owner);

			this.kinds.set(name, SITE_COLOURS[frame && frame.kind === 'python' ? 'python' : owned ? 'owner' : 'native']);
			return name;
		}).reverse();

		if (this.frames === 'python' && !names.length)
			names.push(NO_PYTHON);
		if (this.frames === 'owner')
			names.unshift(safe(site.owner || 'owner not known'));
		if (this.what === TIME)
			names.push(site.api);
		return names;
	}

	fill() {
		const root = new Owner('all', []);

		this.kinds.clear();
		this.sites = this.what === TIME ? this.calls : this.memory;
		for (const site of this.sites)
			root.add(this.pathOf(site), site[this.what]);
		this.chart.format = this.what === TIME ? duration : size;
		this.chart.show({ root, unknown: 0 });
		this.seek();
	}

	seek() {
		const bytes = this.wanted ? foundBytes(this.chart.root, this.wanted) : 0;

		this.chart.seek(this.wanted);
		this.found.textContent = this.wanted ?
			`${this.chart.format(bytes)}, ${percent(bytes, this.chart.root.bytes)}, in or below what is highlighted` : '';
	}
}
