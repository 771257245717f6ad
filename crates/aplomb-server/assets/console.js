// The console: asks the broker every few seconds for what is new, and draws it. Texts of others (topics, groups, clients) are only
// ever put into the page as texts.
"use strict";

const EVERY = 5000; // ms between questions
const PATIENCE = 8000; // ms for an answer
const STEPS = 720; // an hour
const POWERS = Array.from({ length: 50 }, (_, n) => 2 ** n); // steps of a scale of bytes
const QUANTILES = { p50: "median", p99: "99 %", p999: "99.9 %", max: "longest" };
const STAGES = {
  request_queue: "request queue", local: "local", remote: "remote", response_queue: "response queue", response_send: "response send",
  throttle: "throttle",
};
const CAUSES = {
  memory: "a disk's share of the tail was full", disk: "a disk", quota: "its client is over a quota", peer: "its client took no reply",
  order: "earlier requests of its connection", queue: "other requests of its shard", shard: "partitions on other shards",
  processor: "a processor", controller: "a decision of the controller", coordinator: "a coordinator", work: "itself: much to do",
};

const byId = (id) => document.getElementById(id);
const last = (list) => list?.[list.length - 1];
const highest = (list) => list.reduce((most, value) => (value != null && value > most ? value : most), 0);

// ---- Texts

function ms(value) {
  if (value == null) return "–";
  if (value < 1) return `${+value.toPrecision(2)} ms`;
  if (value < 1000) return `${+value.toPrecision(3)} ms`;
  if (value < 60000) return `${+(value / 1000).toPrecision(3)} s`;
  return `${+(value / 60000).toPrecision(3)} min`;
}

function scaled(value, units, step) {
  if (value == null) return "–";
  let unit = 0;
  for (; value >= step * 0.9995 && unit < units.length - 1; unit++) value /= step;
  return `${unit ? +value.toPrecision(3) : Math.round(value)}${units[unit]}`;
}
const bytes = (value) => scaled(value, [" B", " KiB", " MiB", " GiB", " TiB"], 1024);
const count = (value) => scaled(value, ["", " k", " M", " G"], 1000);
const whole = (value) => value.toLocaleString("en").replaceAll(",", "\u202f");
const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour12: false });

/** An element with attributes and what is in it. */
function el(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside.filter((one) => one != null));
  return made;
}

// ---- What is known

const known = { run: null, next: 0, times: [], series: {}, data: null, answered: null, ready: null };
const opened = new Map(); // slow requests of which all is shown, by number: they stay until they are closed
const settings = { span: 180, api: "Produce", quantile: "p999" };
const series = (name) => known.series[name]?.slice(-settings.span) ?? [];

function take(data) {
  if (data.run !== known.run) {
    opened.clear(); // another process numbers its requests anew
    delete byId("slow-list").dataset.newest;
  }
  if (data.run !== known.run || data.first !== known.next) {
    Object.assign(known, { run: data.run, times: [], series: {} });
  }
  known.times = known.times.concat(data.times).slice(-STEPS);
  for (const [name, values] of Object.entries(data.series)) {
    known.series[name] = (known.series[name] ?? []).concat(values).slice(-STEPS);
  }
  known.next = data.first + data.times.length;
  known.data = data;
}

// ---- Charts

const charts = [];
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A chart in `place` of lines, which are `[label, series' name, colour, dash]`; on a logarithmic scale where they are times. */
class Chart {
  constructor(place, title, lines, format, isTime) {
    Object.assign(this, { place, title, lines, format, isTime, plot: null });
    place.setAttribute("role", "img");
    charts.push(this);
  }

  show(lines) {
    this.lines = lines;
    this.forget();
    this.draw();
  }

  forget() {
    this.plot?.destroy();
    this.plot = null;
  }

  data() {
    const times = known.times.slice(-settings.span);
    // On a logarithmic scale there is no 0.
    const fit = (value) => (value == null || !this.isTime ? value : Math.max(value, 0.01));
    return [times, ...this.lines.map(([, name]) => series(name).map(fit))];
  }

  draw() {
    const width = this.place.clientWidth;
    if (!width) return;
    const data = this.data();
    if (this.plot) {
      if (this.plot.width !== width) this.plot.setSize({ width, height: this.plot.height });
      this.plot.setData(data);
    } else {
      this.plot = new uPlot(this.options(width), data, this.place);
    }
    this.rest();
    const now = this.lines.map(([label, name]) => `${label} ${this.format(last(series(name)))}`);
    this.place.setAttribute("aria-label", `${this.title}, in the last five seconds: ${now.join(", ")}`);
  }

  /** Where no moment is pointed at, the last one is told. */
  rest() {
    const count = this.plot.data[0].length;
    if (this.plot.legend.idx == null && count) this.plot.setLegend({ idx: count - 1 }, false);
  }

  options(width) {
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const decades = (plot, splits) => splits.map((split) => (Math.abs(Math.log10(split) % 1) < 1e-6 ? this.format(split) : ""));
    const linear = (plot, splits) => splits.map((split) => this.format(split));
    const fromNothing = (plot, least, most) => [0, most > 0 ? most * 1.1 : 1];
    // Whole decades, and not fewer than two: what is fast is not to look as if it were not.
    const aroundDecades = (plot, least, most) => {
      const from = Math.floor(Math.log10(least ?? 0.1) + 1e-9);
      return [10 ** from, 10 ** Math.max(Math.ceil(Math.log10(most ?? 1) - 1e-9), from + 2)];
    };
    return {
      width, height: 210,
      cursor: { sync: { key: "time" }, drag: { x: false, y: false }, points: { size: 6 } },
      legend: { live: true },
      hooks: { setLegend: [() => this.plot && this.rest()] },
      scales: { x: { time: true }, y: this.isTime ? { distr: 3, range: aroundDecades } : { range: fromNothing } },
      axes: [
        { ...axis, values: (plot, splits) => splits.map((split) => clock(split).replace(/:00$/, "")), space: 70, size: 30 },
        { ...axis, values: this.isTime ? decades : linear, size: 62, ...(this.format === bytes && { incrs: POWERS }) },
      ],
      series: [
        { label: "Time", value: (plot, at) => (at == null ? "" : clock(at)) },
        ...this.lines.map(([label, , name, dash]) => ({
          label, stroke: colour(name), width: 1.5, dash, points: { show: false }, value: (plot, value) => this.format(value),
        })),
      ],
    };
  }
}

const byQuantile = (api) => [
  ["median", `${api}.own.p50`, "--c1"], ["99 %", `${api}.own.p99`, "--c2"], ["99.9 %", `${api}.own.p999`, "--c3"],
  ["longest", `${api}.own.max`, "--c4", [4, 4]],
];
const byStage = () => Object.entries(STAGES).map(([stage, label], n) =>
  [label, `${settings.api}.${stage}.${settings.quantile}`, ["--c1", "--c5", "--c3", "--c7", "--c2", "--c6"][n]]);

new Chart(byId("chart-produce"), "Produce", byQuantile("Produce"), ms, true);
new Chart(byId("chart-fetch"), "Fetch", byQuantile("Fetch"), ms, true);
const stages = new Chart(byId("chart-stages"), "Stages", byStage(), ms, true);
new Chart(byId("chart-bytes"), "Bytes a second", [["in", "bytes_in", "--c1"], ["out", "bytes_out", "--c5"]], bytes, false);
new Chart(byId("chart-rates"), "Requests and records a second", [["requests", "requests", "--c1"], ["records in", "messages_in", "--c5"]], count, false);

// ---- Parts of the page

function tile(name, value, more, level = "") {
  return el("div", { class: level }, el("dt", {}, name), el("dd", { class: "value" }, value), el("dd", { class: "more" }, more));
}

function showGlance({ disks, slow, groups }) {
  const level = (value, warn, bad) => (value >= bad ? "bad" : value >= warn ? "warn" : "good");
  const quantile = (api) => {
    const times = series(`${api}.own.p999`);
    const [now, worst] = [last(times), highest(times)];
    const before = worst ? `${ms(worst)} at worst in this time` : "none in this time";
    return tile(`${api}, 99.9 %`, ms(now), now == null && worst ? `none lately, ${before}` : before);
  };
  const oldest = disks.reduce((worst, disk) => (disk.age_ms > worst.age_ms ? disk : worst), { age_ms: 0, directory: "" });
  const ages = highest(disks.map((_, n) => highest(series(`disk.${n}.age`))));
  const fullest = disks.reduce((most, { tail }) => Math.max(most, (100 * tail.waiting) / tail.bytes), 0);
  const many = series("slow").reduce((sum, value) => sum + (value ?? 0), 0);
  const lag = groups.shown.reduce((sum, group) => sum + group.lag, 0);
  byId("glance").replaceChildren(
    quantile("Produce"), quantile("Fetch"),
    tile("Slow requests", whole(many), "in this time", many ? "warn" : "good"),
    tile("Oldest disk command", ms(oldest.age_ms), `${ms(ages)} at most in this time`, level(Math.max(oldest.age_ms, ages), 1000, 10000)),
    tile("Fullest tail share", `${fullest.toFixed(fullest < 10 ? 1 : 0)} %`, "that its disk does not have", level(fullest, 50, 90)),
    tile("Bytes a second", bytes(last(series("bytes_in"))), `in, and ${bytes(last(series("bytes_out")))} out`),
    tile("Records a second", count(last(series("messages_in"))), `in, and ${count(last(series("requests")))} requests of all kinds`),
    tile("Connections", count(last(series("connections"))), groups.shown.length ? `${count(lag)} records behind in groups` : "no groups"),
  );
}

function table(place, heads, rows, nothing) {
  const classes = (n) => (heads[n][1] ? { class: heads[n][1] } : {});
  const head = el("tr", {}, ...heads.map(([name], n) => el("th", { scope: "col", ...classes(n) }, name)));
  const body = rows.map((row) =>
    el("tr", {}, ...row.map((cell, n) => (n ? el("td", classes(n), cell) : el("th", { scope: "row" }, cell)))));
  const empty = el("tr", {}, el("td", { class: "empty", colspan: heads.length }, nothing));
  place.replaceChildren(el("thead", {}, head), el("tbody", {}, ...(body.length ? body : [empty])));
}

function showStages() {
  const heads = [[`${settings.api}`], ...Object.values(QUANTILES).map((name) => [name]), ["longest in this time"]];
  const rows = Object.entries({ own: "all of it", ...STAGES }).map(([stage, label]) => {
    const of = (quantile) => series(`${settings.api}.${stage}.${quantile}`);
    return [label, ...Object.keys(QUANTILES).map((quantile) => ms(last(of(quantile)))), ms(highest(of("max")))];
  });
  table(byId("stages"), heads, rows, "");
}

function showSlow({ slow }) {
  byId("slow-note").textContent = `Slow is ${slow.limit}. ${slow.requests.length} of the last ${slow.kept} are here` +
    (slow.missed ? `; ${whole(slow.missed)} came too fast to be looked at.` : ".");
  const causes = Object.entries(slow.counts).filter(([, count]) => count).sort((one, other) => other[1] - one[1]);
  byId("causes").replaceChildren(...causes.map(([cause, count]) =>
    el("li", { class: `cause ${cause}`, title: CAUSES[cause] ?? "" }, `${cause} ${whole(count)}`)));
  const here = new Set(slow.requests.map((request) => String(request.number)));
  const older = [...opened].filter(([id]) => !here.has(id)).map(([, request]) => request);
  const items = [...slow.requests, ...older].map((request) => {
    const id = String(request.number);
    const summary = el("summary", { "data-number": id }, el("time", {}, clock(request.at / 1000)), el("span", {}, request.api), el("span", { class: "who" }, request.client),
      el("span", { class: "took" }, ms(request.total_ms + request.throttle_ms - request.idle_ms)),
      el("span", { class: `cause ${request.cause}` }, request.cause));
    const details = el("details", {}, summary);
    const fill = () => details.children.length > 1 || details.append(slowDetails(request));
    details.addEventListener("toggle", () => {
      if (!details.open) return opened.delete(id);
      fill();
      opened.set(id, request);
    });
    if (opened.has(id)) {
      fill();
      details.open = true;
    }
    return el("li", {}, details);
  });
  const list = byId("slow-list");
  const newest = String(slow.requests[0]?.number ?? 0);
  if (list.dataset.newest === newest) return;
  list.dataset.newest = newest;
  const [focused, scrolled] = [document.activeElement?.dataset.number, list.scrollTop];
  list.replaceChildren(...(items.length ? items : [el("li", { class: "none" }, "None yet.")]));
  // What had the focus keeps it.
  if (focused) list.querySelector(`[data-number="${focused}"]`)?.focus({ preventScroll: true });
  list.scrollTop = scrolled;
}

function slowDetails(request) {
  const { stages_ms: stages_of } = request;
  const all = Object.values(stages_of).reduce((sum, value) => sum + value, 0) + request.throttle_ms || 1;
  const colours = ["--c1", "--c5", "--c3", "--c7", "--c2", "--c6"];
  const parts = Object.entries({ ...stages_of, throttle: request.throttle_ms }).map(([stage, value], n) => [STAGES[stage], value, colours[n]]);
  const age = request.disk_age_ms ? `, whose oldest command had waited ${ms(request.disk_age_ms)}` : "";
  const where = CAUSES[request.cause] + (request.directory ? `, ${request.directory}${age}` : "");
  const facts = [
    ["Waited for", `${where} (${ms(request.cause_ms)})`],
    ["Client", `${request.client || "without an id"} from ${request.peer}, connection ${request.connection}`],
    ["Request", `${request.api}, version ${request.version}, ${bytes(request.bytes)}`],
    ["Turn", `of shard ${request.shard}: ${ms(request.turn_ms)} for ${request.turn_requests} requests`],
    request.idle_ms ? ["Asked to wait", ms(request.idle_ms)] : null,
    request.processor_ms ? ["No processor", `${ms(request.processor_ms)} about that time`] : null,
  ];
  return el("div", { class: "more" }, bar(parts, all, ms),
    el("dl", { class: "facts" }, ...facts.filter(Boolean).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
}

/** A bar of `[label, value, colour]`, and what is what. */
function bar(parts, all, format) {
  const strip = el("div", { class: "share", "aria-hidden": "true" });
  const key = el("ul", { class: "key" });
  for (const [label, value, name] of parts) {
    const paint = (mark) => {
      mark.style.backgroundColor = `var(${name})`;
      return mark;
    };
    const piece = paint(el("i"));
    piece.style.width = `${(100 * Math.max(value, 0)) / all}%`;
    strip.append(piece);
    key.append(el("li", {}, paint(el("i")), `${label} ${format(value)}`));
  }
  const whole = document.createDocumentFragment();
  whole.append(strip, key);
  return whole;
}

/** A card for each log directory with a chart, made once, and a place for what changes. */
function cards(place, kind, disks, lines, format, isTime) {
  if (place.children.length !== disks.length) {
    place.replaceChildren();
    for (let n = charts.length - 1; n >= 0; n--) if (charts[n].kind === kind) charts.splice(n, 1)[0].forget();
    disks.forEach((disk, n) => {
      const [facts, chart] = [el("div"), el("div")];
      place.append(el("div", { class: "card" }, el("h3", {}, disk.directory), facts, chart));
      Object.assign(new Chart(chart, `${kind} of ${disk.directory}`, lines(n), format, isTime), { kind });
    });
  }
  return [...place.children].map((card) => card.children[1]);
}

function showDisks({ disks }) {
  const lines = (n) => [["age", `disk.${n}.age`, "--c3"], ["write, 99 %", `disk.${n}.write_p99`, "--c1"], ["read, 99 %", `disk.${n}.read_p99`, "--c5"]];
  cards(byId("disk-list"), "Disk", disks, lines, ms, true).forEach((place, n) => {
    const disk = disks[n];
    const of = (name) => last(series(`disk.${n}.${name}`));
    const facts = [
      ["Age", ms(disk.age_ms)], ["Commands", disk.lanes.map(({ name, depth }) => `${name} ${depth}`).join(", ")],
      ["Writes", `${bytes(of("written"))}/s, median ${ms(of("write_p50"))}`], ["Reads", `${bytes(of("read"))}/s, median ${ms(of("read_p50"))}`],
    ];
    place.replaceChildren(el("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
  });
}

function showTail({ disks }) {
  const lines = (n) => [["only in memory", `disk.${n}.waiting`, "--c3"], ["cached", `disk.${n}.cached`, "--c1"], ["free", `disk.${n}.free`, "--c4", [4, 4]]];
  cards(byId("tail-list"), "Tail", disks, lines, bytes, false).forEach((place, n) => {
    const { tail } = disks[n];
    const held = Math.max(tail.held - tail.cached, 0);
    const parts = [["held for what the disk does not have", held, "--c3"], ["cached", tail.cached, "--c1"], ["free", tail.free, "--c4"]];
    const facts = [
      ["Share", bytes(tail.bytes)], ["Not on disk", bytes(tail.waiting)], ["Least ever free", bytes(tail.fewest_free)],
      ["Pinned by readers", bytes(tail.pinned)], ["Batches that wait", bytes(tail.producing)], ["For readers", bytes(tail.reading)],
    ];
    place.replaceChildren(bar(parts, tail.bytes, bytes),
      el("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
  });
}

function showGroups({ groups }) {
  byId("groups-note").textContent = `${groups.shown.length} of ${groups.total} with members or offsets, those that are farthest behind first.` +
    (groups.left_out ? ` ${whole(groups.left_out)} more have no numbers (aplomb.metrics.groups.max).` : "");
  const rows = groups.shown.map((group) =>
    [group.id, whole(group.lag), whole(group.members), whole(group.topics), whole(group.offsets), group.worst ?? "–"]);
  const heads = [["Group"], ["Records behind"], ["Members"], ["Topics", "least"], ["Offsets", "least"], ["Farthest behind in", "least"]];
  table(byId("groups-table"), heads, rows, "No group has members or offsets.");
}

function showPartitions({ partitions }) {
  byId("partitions-note").textContent = `${partitions.shown.length} of ${whole(partitions.total)}, the largest first.` +
    (partitions.offline ? ` ${whole(partitions.offline)} are offline: their log directory is lost.` : "");
  const rows = partitions.shown.map((one) =>
    [`${one.topic}-${one.partition}`, bytes(one.size), whole(one.end - one.start), whole(one.segments), whole(one.start), whole(one.end)]);
  const heads = [["Partition"], ["Bytes"], ["Offsets"], ["Segments", "least"], ["From", "least"], ["To", "least"]];
  table(byId("partitions-table"), heads, rows, "There are no partitions.");
}

// ---- All of it

function drawCharts() {
  for (const chart of charts) chart.draw();
}

function show() {
  const { data } = known;
  if (!data) return;
  byId("version").textContent = data.version;
  for (const part of [showGlance, showStages, showSlow, showDisks, showTail, showGroups, showPartitions]) part(data);
  drawCharts();
}

function showState() {
  const silent = known.answered == null ? null : Math.round((performance.now() - known.answered) / 1000);
  const lost = known.failed && (silent == null || silent * 1000 > EVERY);
  const [text, kind] = lost
    ? [silent == null ? "the broker does not answer" : "no answer: what is shown is old", "bad"]
    : known.ready == null ? ["asking the broker", ""] : [known.ready.text, known.ready.ok ? "good" : "bad"];
  // What is spoken changes when there is news, and not every second.
  if (byId("state-text").textContent !== text) byId("state-text").textContent = text;
  byId("state-since").textContent = lost && silent != null ? `, for ${silent} s` : "";
  byId("state").className = `state ${kind}`;
  document.body.classList.toggle("stale", Boolean(lost));
}

async function ask(path) {
  return fetch(path, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
}

let timer = null;
let asking = false;

async function poll() {
  clearTimeout(timer);
  if (asking || document.hidden) return; // it goes on when it can be seen
  asking = true;
  try {
    const answer = await ask(`/console/data?since=${known.next}`);
    if (!answer.ok) throw new Error(`the broker answers ${answer.status}`);
    take(await answer.json());
    const ready = await ask("/readyz");
    known.ready = { ok: ready.ok, text: (await ready.text()).trim() };
    Object.assign(known, { answered: performance.now(), failed: false });
    show();
  } catch {
    known.failed = true;
  }
  asking = false;
  showState();
  timer = setTimeout(poll, EVERY);
}

for (const radio of document.querySelectorAll("#span input")) {
  radio.addEventListener("change", () => {
    settings.span = Number(radio.value);
    show();
  });
}
for (const [id, name] of [["stage-api", "api"], ["stage-quantile", "quantile"]]) {
  byId(id).addEventListener("change", (event) => {
    settings[name] = event.target.value;
    stages.show(byStage());
    showStages();
  });
}
let resized = null;
new ResizeObserver(() => {
  clearTimeout(resized);
  resized = setTimeout(drawCharts, 100);
}).observe(document.body);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  charts.forEach((chart) => chart.forget());
  drawCharts();
});
document.addEventListener("visibilitychange", poll);
setInterval(showState, 1000);
poll();
