// SPDX-License-Identifier: BSD-2-Clause
// Shows /api/v1/who, every two seconds. Names come from programs: they are only ever text.
"use strict";

const PERIOD_MS = 2000, KEPT = 150;
const samples = new Map();

function size(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let i = 0;

	if (bytes === null)
		return "?";
	for (; bytes >= 1024 && i < units.length - 1; i++)
		bytes /= 1024;
	return bytes.toFixed(i && bytes < 100 ? 2 : 0) + " " + units[i];
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

function showDevice(device) {
	const made = element("div", "", "device");
	const total = device.total_bytes ?? device.told_total_bytes ?? device.peak_bytes;
	const name = device.device === null ? "Device not known" : "Device " + device.device;
	const words = [name, device.name, device.uuid ?? device.pci_bus_id].filter(Boolean).join(", ");
	const bar = element("div", "", "bar");

	made.append(element("div", words + ": " + size(device.explained_bytes) + " in allocations that were seen, at most " +
		size(device.peak_bytes) + (device.unexplained_bytes === null ? "" :
			"; " + size(device.unexplained_bytes) + " more were in use when a program last asked") +
		(device.total_bytes === null ? "" : "; it has " + size(device.total_bytes))));
	if (total) {
		bar.append(part(device.explained_bytes, total, "explained", "explained"));
		bar.append(part(device.unexplained_bytes ?? 0, total, "unexplained", "unexplained"));
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
	document.getElementById("devices").replaceChildren(...who.devices.map(showDevice));
	document.getElementById("processes").replaceChildren(...who.processes.map(showProcess));
	say(who.seen.toLocaleString("en") + " calls seen, " + who.lost.toLocaleString("en") + " lost; the books are " +
		(who.exact ? "exact" : "NOT exact"), !who.exact);
}

function say(text, bad) {
	const state = document.getElementById("state");

	state.textContent = text;
	state.className = bad ? "bad" : "";
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
