// SPDX-License-Identifier: BSD-2-Clause
// Shows /api/v1/who, every two seconds, and /api/v1/history, every ten. Names come from programs: they are only ever text.
"use strict";

const PERIOD_MS = 2000, HISTORY_MS = 10000, KEPT = 150, EVENTS_SHOWN = 10;
const samples = new Map();
let hasHistory = false;
let ring = null; // the directory of the recording, as a word for a shell
let chosen = null; // the part of the hour that is marked: [from, to], Unix times; or all of it

// As top and reports say it.
function size(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let i = 0;

	if (bytes === null)
		return "?";
	for (; bytes >= 1023.5 && i < units.length - 1; i++)
		bytes /= 1024;
	return bytes.toFixed(Number.isInteger(bytes) || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2) + " " + units[i];
}

function element(name, text, className) {
	const made = document.createElement(name);

	made.textContent = text;
	if (className)
		made.className = className;
	return made;
}

function part(bytes, total, className, title) {
	const made = element("i", "", className);

	made.style.width = Math.min(100, 100 * bytes / total) + "%";
	made.title = title;
	return made;
}

// What NVML says of it. With one device alone it is clear which one a process means that did not ask for its UUID.
function nvmlOf(device, who) {
	const all = who.nvml_devices, alone = all.length === 1 && who.devices.length === 1 && device.uuid === null;
	const nvml = alone ? all[0] : all.find((one) => one.uuid === device.uuid);

	return nvml && nvml.total_bytes !== null ? nvml : null;
}

// Memory that was allocated since NVML was asked is not in its numbers.
function nvmlWords(device, nvml, who) {
	const age = Math.max(0, Math.round((who.ts_ns - nvml.ts_ns) / 1e9)) + " s ago";

	return "; NVML, " + age + ": " + (device.explained_bytes > nvml.used_bytes ? "" :
		size(nvml.used_bytes) + " in use, " + size(nvml.free_bytes) + " free ") + "of " + size(nvml.total_bytes);
}

function showDevice(device, who) {
	const made = element("div", "", "device"), nvml = nvmlOf(device, who);
	const total = nvml?.total_bytes ?? device.total_bytes ?? device.told_total_bytes ?? device.peak_bytes;
	const unexplained = nvml ? Math.max(0, nvml.used_bytes - device.explained_bytes) : device.unexplained_bytes ?? 0;
	const name = device.device === null ? "Device not known" : "Device " + device.device;
	const words = [name, device.name, device.uuid ?? device.pci_bus_id].filter(Boolean).join(", ");
	const bar = element("div", "", "bar");

	made.append(element("div", words + ": " + size(device.explained_bytes) + " in allocations that were seen, at most " +
		size(device.peak_bytes) + (device.unexplained_bytes === null ? "" :
			"; " + size(device.unexplained_bytes) + " more were in use when a program last asked") +
		(nvml ? nvmlWords(device, nvml, who) : device.total_bytes === null ? "" : "; it has " + size(device.total_bytes))));
	if (total) {
		bar.append(part(device.explained_bytes, total, "explained", "explained"));
		bar.append(part(unexplained, total, "unexplained", nvml ? "else in use" : "unexplained"));
		made.append(bar);
	}
	return made;
}

function chart(values) {
	const space = "http://www.w3.org/2000/svg";
	const picture = document.createElementNS(space, "svg"), line = document.createElementNS(space, "polyline");
	const most = Math.max(...values, 1);

	picture.setAttribute("viewBox", "0 0 " + KEPT + " 20");
	picture.setAttribute("preserveAspectRatio", "none");
	line.setAttribute("points", values.map((value, i) => i + "," + (19 - 18 * value / most)).join(" "));
	picture.append(line);
	return picture;
}

function showProcess(process) {
	const row = element("tr", ""), identity = process.identity ?? {};
	const key = process.pid + " " + process.start_ns, values = samples.get(key) ?? [];
	const place = [identity.container && identity.container.slice(0, 12),
		identity.pod && (identity.namespace ?? "") + "/" + identity.pod,
		identity.environment?.SLURM_JOB_ID && "job " + identity.environment.SLURM_JOB_ID].filter(Boolean);
	const picture = element("td", "");

	values.push(process.device_bytes ?? 0);
	samples.set(key, values.slice(-KEPT));
	picture.append(chart(samples.get(key)));
	row.append(element("td", process.pid, "number"), element("td", process.name),
		element("td", identity.user ?? identity.uid ?? "?"), element("td", place.join(", ")),
		element("td", size(process.device_bytes), "number"),
		picture,
		element("td", process.exact ? "exact" : process.was_running ? "may hold more" : "not exact"));
	return row;
}

function show(who) {
	const living = new Set(who.processes.map((process) => process.pid + " " + process.start_ns));

	for (const key of samples.keys())
		if (!living.has(key))
			samples.delete(key);
	document.getElementById("host").textContent = who.host + ", " +
		new Date(who.wall_ns / 1e6).toISOString() + ", memscope-bpf " + who.version;
	document.getElementById("devices").replaceChildren(...who.devices.map((device) => showDevice(device, who)));
	document.getElementById("processes").replaceChildren(...who.processes.map(showProcess));
	hasHistory = who.history;
	ring = who.ring_word;
	say(who.seen.toLocaleString("en") + " calls seen, " + who.lost.toLocaleString("en") + " lost; the books are " +
		(who.exact ? "exact" : "NOT exact"), !who.exact);
}

function say(text, bad) {
	const state = document.getElementById("state");

	state.textContent = text;
	state.className = bad ? "bad" : "";
}

function svg(name, attributes) {
	const made = document.createElementNS("http://www.w3.org/2000/svg", name);

	for (const [attribute, value] of Object.entries(attributes))
		made.setAttribute(attribute, value);
	return made;
}

// Parts without a gap: what lies in a gap was not seen.
function parts(points, step) {
	const made = [];
	let before = -Infinity;

	for (const point of points) {
		if (point[0] > before + step)
			made.push([]);
		made.at(-1).push(point);
		before = point[0];
	}
	return made;
}

function showHours(row, history) {
	const from = Date.parse(history.from) / 1000, to = Date.parse(history.to) / 1000;
	const most = Math.max(...row.points.map((point) => point[2]), 1);
	const made = element("div", (row.device ?? "Device not known") + (row.device_name ? ", " + row.device_name : "") +
		": at most " + size(row.peak_bytes) + ", on average " + size(row.mean_bytes) +
		(row.used_peak_bytes === null ? "" : "; in use by NVML, at most " + size(row.used_peak_bytes)), "device");
	const picture = svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", class: "hours", role: "img" });
	const x = (time) => 1000 * (time - from) / (to - from), y = (bytes) => 99 - 98 * bytes / most;

	for (const part of parts(row.points, history.step_seconds))
		for (const [className, value] of [["most", 2], ["mean", 1]])
			picture.append(svg("polyline", { class: className, points: part.map((point) =>
				x(point[0]) + "," + y(point[value]) + " " + x(point[0] + history.step_seconds) + "," + y(point[value])).join(" ") }));
	for (const event of history.events)
		picture.append(svg("line", { class: "event", x1: x(Date.parse(event.time) / 1000), x2: x(Date.parse(event.time) / 1000),
			y1: 0, y2: 100 }));
	if (chosen)
		picture.append(svg("rect", { class: "chosen", x: x(chosen[0]), width: x(chosen[1]) - x(chosen[0]), y: 0, height: 100 }));
	letChoose(picture, history);
	made.append(picture);
	return made;
}

function stamp(seconds) {
	return new Date(seconds * 1000).toISOString();
}

function showCommand(history) {
	const whole = [Date.parse(history.from) / 1000, Date.parse(history.to) / 1000], [from, to] = chosen ?? whole;

	document.getElementById("report").hidden = ring === null;
	document.getElementById("span").textContent = chosen ? "what is marked" :
		"this hour (drag over a chart for a part of it)";
	document.getElementById("command").textContent = "memscope-bpf report --from " + stamp(from) + " --to " + stamp(to) +
		" -o report.html " + ring;
}

// A part of the hour is chosen by dragging over it, and all of it by a click.
function letChoose(picture, history) {
	const from = Date.parse(history.from) / 1000, to = Date.parse(history.to) / 1000;
	const timeOf = (event) => {
		const box = picture.getBoundingClientRect();

		return from + (to - from) * Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
	};
	let begin = null;

	picture.addEventListener("pointerdown", (event) => {
		begin = timeOf(event);
		picture.setPointerCapture(event.pointerId);
	});
	picture.addEventListener("pointerup", (event) => {
		const end = timeOf(event);

		if (begin === null)
			return;
		chosen = Math.abs(end - begin) < (to - from) / 200 ? null : [Math.min(begin, end), Math.max(begin, end)];
		begin = null;
		showHistory(history);
	});
}

function words(event) {
	const kinds = { oom: "memory ran out", killed: "killed while it held memory", lost: "records were lost" };

	return event.time + ": " + (event.process ?? "a process") + (event.pid === null ? "" : " (" + event.pid + ")") + ": " +
		(kinds[event.event] ?? event.event) + (event.what === null ? "" : ", " + event.what) +
		(event.bytes === null ? "" : ", " + size(event.bytes)) + (event.count > 1 ? ", " + event.count + " times" : "");
}

function showHistory(history) {
	document.getElementById("history").hidden = false;
	document.getElementById("range").textContent = history.from + " to " + history.to +
		", in steps of " + history.step_seconds + " s: on average, and at most (pale)";
	showCommand(history);
	document.getElementById("charts").replaceChildren(...history.rows.filter((row) => row.points.length)
		.map((row) => showHours(row, history)));
	document.getElementById("events").replaceChildren(...history.events.slice(-EVENTS_SHOWN)
		.map((event) => element("li", words(event))));
}

// There may be none: then its part of the page stays hidden.
async function lookBack() {
	try {
		const answer = hasHistory && await fetch("/api/v1/history?by=device&from=-1h", { cache: "no-store" });

		if (answer.ok)
			showHistory(await answer.json());
	} catch {
		// That the agent does not answer is said by look().
	}
	setTimeout(lookBack, hasHistory ? HISTORY_MS : PERIOD_MS);
}

async function look() {
	try {
		const answer = await fetch("/api/v1/who", { cache: "no-store" });

		if (!answer.ok)
			throw new Error("the agent answers " + answer.status);
		show(await answer.json());
	} catch (error) {
		say(error.message, true);
	}
	setTimeout(look, PERIOD_MS);
}

look();
lookBack();
