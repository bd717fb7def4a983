// SPDX-License-Identifier: BSD-2-Clause
//
// Tables are written without the script's help; here they learn to be sorted and filtered.

const FILTER_FROM = 8; // rows
const LONG = 25; // of more, the first ones are shown

class Table {
	constructor(table) {
		this.table = table;
		this.body = table.tBodies[0];
		this.rows = Array.from(this.body.rows);
		this.column = -1;
		this.descending = false;
		if (this.rows.length > 1)
			this.addButtons();
		if (this.rows.length >= FILTER_FROM && !table.closest('.cards'))
			this.addFilter();
		if (this.rows.length > LONG)
			this.addLimit();
	}

	// ---- sorting

	addButtons() {
		this.heads = Array.from(this.table.tHead.rows[0].cells);
		this.heads.forEach((head, place) => {
			const sort = element('button', { type: 'button', class: 'sort', text: head.textContent,
				onclick: () => this.sort(place) });

			head.replaceChildren(sort);
			head.setAttribute('aria-sort', 'none');
		});
	}

	sort(place) {
		const numbers = this.heads[place].classList.contains('n');

		// What is most is what is looked for.
		this.descending = this.column === place ? !this.descending : numbers;
		this.column = place;
		this.heads.forEach((head, other) => head.setAttribute('aria-sort',
			other !== place ? 'none' : this.descending ? 'descending' : 'ascending'));
		this.rows.sort((a, b) => this.compare(a.cells[place], b.cells[place]));
		this.body.append(...this.rows);
		this.show();
	}

	compare(a, b) {
		const direction = this.descending ? -1 : 1;

		if (a.dataset.v !== undefined && b.dataset.v !== undefined)
			return (Number(a.dataset.v) - Number(b.dataset.v)) * direction;
		// What is not known comes last, whatever the direction.
		if (a.classList.contains('n') && (a.dataset.v === undefined) !== (b.dataset.v === undefined))
			return a.dataset.v === undefined ? 1 : -1;
		return a.textContent.localeCompare(b.textContent, 'en', { numeric: true }) * direction;
	}

	// ---- filtering

	addFilter() {
		const name = this.table.caption.textContent;

		this.input = element('input', { type: 'search', 'aria-label': `Filter: ${name}`,
			placeholder: 'Filter', oninput: () => this.show() });
		this.told = element('span', { role: 'status', class: 'told' });
		this.tools().append(this.input, this.told);
	}

	// Of a long table, the first rows, until more are asked for.
	addLimit() {
		this.limit = LONG;
		this.more = element('button', { type: 'button', text: `Show all ${count(this.rows.length)} rows`,
			onclick: () => {
				this.limit = Infinity;
				this.more.remove();
				this.show();
			} });
		this.table.parentNode.after(this.more);
		this.show();
	}

	tools() {
		const tools = element('div', { class: 'table-tools' });

		this.table.parentNode.before(tools);
		return tools;
	}

	show() {
		const wanted = this.input ? this.input.value.trim().toLowerCase() : '';
		let matching = 0;

		for (const row of this.rows) {
			const matches = !wanted || row.textContent.toLowerCase().includes(wanted);

			matching += matches;
			row.hidden = !matches || (!wanted && matching > (this.limit || Infinity));
		}
		if (this.told)
			this.told.textContent = wanted ?
				`${count(matching)} of ${count(this.rows.length)} rows` : '';
	}

	// For paper: everything.
	showAll() {
		for (const row of this.rows)
			row.hidden = false;
	}
}

const tables = [];

function enhanceTables() {
	for (const table of document.querySelectorAll('.table > table'))
		if (table.tBodies.length && !table.querySelector('.none'))
			tables.push(new Table(table));
	markScrollable();
	new ResizeObserver(markScrollable).observe(document.body);
}

// What can be scrolled must be reachable with the keyboard.
function markScrollable() {
	for (const box of document.querySelectorAll('.table')) {
		const wide = box.scrollWidth > box.clientWidth;

		if (wide === box.hasAttribute('tabindex'))
			continue;
		box.toggleAttribute('tabindex', wide);
		if (!wide) {
			box.removeAttribute('role');
			box.removeAttribute('aria-label');
			continue;
		}
		box.tabIndex = 0;
		box.setAttribute('role', 'group');
		box.setAttribute('aria-label', box.querySelector('caption').textContent);
	}
}
