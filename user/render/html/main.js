// SPDX-License-Identifier: BSD-2-Clause
//
// Puts it together: which recording is shown, light and dark, paper.

const shown = new Map(); // number of a recording -> its view

// The recording with what people are called for, else the first one.
function gravest() {
	const jump = document.querySelector('.jumps a');
	const section = jump && document.getElementById(jump.hash.slice(1)).closest('.recording');

	return section ? Number(section.dataset.recording) + 1 : 1;
}

// A recording's charts are made when it is first looked at.
function showRecording(number) {
	for (const section of document.querySelectorAll('.recording'))
		section.hidden = section.id !== `r${number}`;
	for (const link of document.querySelectorAll('#recordings a'))
		if (link.hash === `#r${number}`)
			link.setAttribute('aria-current', 'true');
		else
			link.removeAttribute('aria-current');
	if (shown.has(number))
		return;
	const recording = new Recording(number - 1);
	const view = new View(recording.length, (ns) => recording.wall(ns));

	shown.set(number, view);
	new MemoryChart(recording, view);
	if (recording.mount('held'))
		new HeldChart(recording, view);
	new LanesChart(recording, view);
	new OwnersChart(recording);
	new SitesChart(recording);
	new AddressesChart(recording);
	for (const finding of recording.section.querySelectorAll('article[data-from]'))
		linkFinding(recording, view, finding);
	for (const table of recording.section.querySelectorAll('.mount .table > table'))
		tables.push(new Table(table));
}

// Leads to its time in a chart. `around`: so much of it is shown before and behind, too.
function lookButton(recording, view, node, chart, around) {
	const [from, to] = [node.dataset.from, node.dataset.to].map((ts) => recording.relative(Number(ts)));
	const more = (to - from) * around;

	return element('button', { type: 'button', class: 'look',
		text: chart === 'spans' ? 'Show in the lanes' : 'Show in the charts', onclick: () => {
			view.show(from - more, to + more);
			recording.section.querySelector(`.${chart}`).scrollIntoView();
		} });
}

// What is about time is seen in the lanes, if there are any.
function linkFinding(recording, view, finding) {
	const lanes = recording.section.querySelector('.spans canvas');
	const chart = lanes && 'time' in finding.dataset ? 'spans' : 'timeline';

	finding.querySelector('h4').after(lookButton(recording, view, finding, chart, 0));
	for (const value of lanes ? finding.querySelectorAll('dd[data-from]') : [])
		value.append(' ', lookButton(recording, view, value, 'spans', 0.5));
}

// Where a link leads must be there: its recording, and whatever is folded around it.
function follow() {
	const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
	const section = target && target.closest('.recording');

	if (!target)
		return;
	if (section)
		showRecording(Number(section.dataset.recording) + 1);
	for (let node = target; node; node = node.parentElement)
		if (node.tagName === 'DETAILS')
			node.open = true;
	if (target.tagName === 'SECTION' && target.querySelector('details'))
		target.querySelector('details').open ||= target.id === 'r0-thresholds';
	target.scrollIntoView();
}

// ---- light and dark

const schemes = ['auto', 'light', 'dark'];

function setScheme(scheme) {
	if (scheme === 'auto')
		document.documentElement.removeAttribute('data-scheme');
	else
		document.documentElement.dataset.scheme = scheme;
	repaint();
}

function addSchemeSwitch() {
	let now = 0;
	const change = element('button', { type: 'button', text: 'Colours: auto', onclick: () => {
		now = (now + 1) % schemes.length;
		setScheme(schemes[now]);
		change.textContent = `Colours: ${schemes[now]}`;
	} });

	document.getElementById('tools').append(change);
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => repaint());
}

// ---- paper

// Everything is unfolded, dark on light, and sharp.
function prepareForPaper() {
	const opened = Array.from(document.querySelectorAll('details:not([open])'));
	const scheme = document.documentElement.dataset.scheme || 'auto';

	for (const details of opened)
		details.open = true;
	for (const table of tables)
		table.showAll();
	setScheme('light');
	repaint(2);
	window.addEventListener('afterprint', () => {
		for (const details of opened)
			details.open = false;
		for (const table of tables)
			table.show();
		setScheme(scheme);
	}, { once: true });
}

// ----

function begin() {
	document.documentElement.classList.add('scripted-on');
	document.body.append(tooltip.node);
	readPalette();
	addSchemeSwitch();
	enhanceTables();
	if (report.recordings.length)
		showRecording(gravest());
	if (report.sides)
		new SidesChart(document.querySelector('[data-chart="sides"]'), report.sides);
	window.addEventListener('hashchange', follow);
	window.addEventListener('beforeprint', prepareForPaper);
	window.addEventListener('keydown', (event) => event.key === 'Escape' && tooltip.hide());
	if (location.hash)
		follow();
}

begin();
