// ---- Words

const STEPS = [1, 2, 5];
function niceStep(least) {
  const ten = 10 ** Math.floor(Math.log10(least));
  return (STEPS.find((step) => step * ten >= least) ?? 10) * ten;
}

function lasting(ms) {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  const [value, unit] = ms < 999.5 ? [ms, "ms"] : [ms / 1000, "s"];
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value).toLocaleString("en")} ${unit}`;
}

function moment(ms, step = 10) {
  return `${(ms / 1000).toFixed(Math.min(5, Math.max(0, Math.ceil(-Math.log10(step / 1000)))))} s`;
}

function wallClock(ms) {
  const at = new Date(Math.round(model.began + ms));
  return model.began && !Number.isNaN(at.getTime()) ? `${at.toISOString().slice(11, 23)} UTC` : "";
}

const plural = (number, one) => `${number.toLocaleString("en")} ${one}${number === 1 ? "" : "s"}`;
const wordOf = (id) => model.classes[classOf(id)][1];

function seenWords(id) {
  const code = model.waits.seen[id], looks = Math.floor(code / 4);
  if (code % 4 < 2) return model.seen[code % 4];
  return looks === 1 ? "one look found it here" : `${looks.toLocaleString("en")} ${model.seen[code % 4]}`;
}

function heldWords(id) {
  const names = holdersOf(id).map((holder) => model.threads[holder].brief);
  if (!names.length) return "";
  const more = names.length > 1 ? ` and ${names.length - 1} more` : "";
  return `${isKnown(id) ? "held by" : "likely held by"} ${names[0]}${more}`;
}

// ---- Telling what is pointed at, and what is selected

function make(name, content, attributes = {}) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  for (const each of [content].flat()) if (each !== null && each !== undefined) element.append(each);
  return element;
}

const tips = {
  wait: (id) => [
    threadOf(id).name,
    `${lasting(model.waits.to[id] - model.waits.from[id])} in ${wordOf(id)}`,
    [model.places[model.waits.place[id]].call, model.places[model.waits.place[id]].path].filter(Boolean).join(" "),
    heldWords(id),
  ],
  thread: (row) => [
    row.thread.name,
    `${model.roles[row.thread.role]}, thread ${row.thread.tid}`,
    row.thread.ids.length
      ? `${plural(row.thread.ids.length, "wait")}, ${lasting(row.thread.waited)} in all, longest ${lasting(row.thread.longest)}`
      : "never waited",
  ],
  stop: (at) => {
    const stop = model.safepoints[at];
    return [stop.reason || "a safepoint", `${lasting(stop.to - stop.from)}${stop.reach === null ? "" : `, ${lasting(stop.reach)} until all stood`}`];
  },
  slow: (at) => ["Requests stood still", `for ${lasting(model.slow[at].to - model.slow[at].from)}, from ${moment(model.slow[at].from)}`],
  device: ({ device, row }) => [
    `${device.name} (${device.number})`,
    isFrozen(device, row)
      ? `froze: ${device.in_flight[row]} in flight, none answered`
      : `${plural(device.answered[row], "request")} answered, ${lasting(device.service[row])} each, ${device.in_flight[row]} in flight`,
    `until ${moment(device.at[row])}${device.paths.length ? `; on it: ${device.paths.join(", ")}` : ""}`,
  ],
  host: (row) => {
    const pressure = ["processors", "input and output", "memory"]
      .map((name, at) => (model.host.pressure[row][at] === null ? "" : `${name} ${model.host.pressure[row][at]} %`))
      .filter(Boolean);
    return [
      `Processors: ${model.host.busy[row]} % busy${model.host.withheld[row] ? `, ${model.host.withheld[row]} % withheld` : ""}`,
      pressure.length ? `some thread waited for: ${pressure.join(", ")}` : "",
      `dirty pages: ${model.host.dirty[row]} % of their limit; until ${moment(model.host.at[row])}`,
    ];
  },
};

function showTip(what, x, y) {
  tip.hidden = !what;
  if (!what) return;
  const [title, ...lines] = tips[what.kind](what.at).filter(Boolean);
  tip.replaceChildren(make("b", title), ...lines.map((line) => make("div", line)));
  const left = x + 14 + tip.offsetWidth > layout.width ? Math.max(0, x - tip.offsetWidth - 10) : x + 14;
  const top = y + layout.scroll + 16;
  const up = top + tip.offsetHeight > layout.total;
  tip.style.transform = `translate(${left}px, ${up ? top - tip.offsetHeight - 28 : top}px)`;
}

function select(pick) {
  state.pick = pick;
  dock.hidden = !pick || !tell[pick.kind];
  if (!dock.hidden) {
    told.replaceChildren(...tell[pick.kind](pick.at));
    told.scrollTop = 0;
  }
  document.body.style.paddingBottom = dock.hidden ? "" : `${dock.offsetHeight}px`;
  for (const row of document.querySelectorAll(".lists tr.on")) row.classList.remove("on");
  const listed = pick && $(`.lists a[data-${pick.kind}="${pick.at}"]`);
  if (listed) listed.closest("tr").classList.add("on");
  touch();
}

const tell = {
  wait(id) {
    const { from, to } = model.waits;
    const place = model.places[model.waits.place[id]];
    const key = model.classes[place.cls][0];
    const title = make("h3", [make("i", null, { class: `dot c-${key}` }), `${threadOf(id).name}: ${lasting(to[id] - from[id])} in ${wordOf(id)}`]);
    const holders = holdersOf(id).map((holder) => model.threads[holder]);
    const facts = factList([
      ["When", `${moment(from[id], 1)} to ${moment(to[id], 1)}, ${wallClock(from[id])}`],
      ["Waited for", model.classes[place.cls][2]],
      ["Call", place.call],
      ["File", place.path + { true: " (the segment that is appended to)", false: " (a closed segment)", null: "" }[place.active]],
      ["Device", place.device],
      [isKnown(id) ? "Held by" : "Likely held by", links(holders.map((thread) => [thread.brief, meanwhile(thread, id)]))],
      ["Woken by", wokenWords(id)],
      ["Held up", links(heldUpBy(id).map((other) => [`${threadOf(other).brief} (${lasting(to[other] - from[other])})`, other]))],
      ["Seen", seenWords(id)],
    ]);
    const beside = holders.slice(0, 2).map((thread) => stackOf(thread, meanwhile(thread, id)));
    return [title, facts, stackOf(threadOf(id), id), ...wakerStack(id), ...beside];
  },
  slow(at) {
    const { from, to } = model.slow[at];
    return [make("h3", `Requests stood still for ${lasting(to - from)}, from ${moment(from)}`), ...meantime(from, to, carries)];
  },
  stop(at) {
    const stop = model.safepoints[at];
    const stood = stop.from + (stop.reach ?? 0);
    const pause = model.collections.find((one) => one.from < stop.to && one.to > stop.from);
    const [phases, other, cpu, real] = pause ? pause.parts : [];
    const facts = factList([
      ["When", `${moment(stop.from, 1)}, ${wallClock(stop.from)}`],
      ["Until all stood", stop.reach === null ? "" : lasting(stop.reach)],
      ["Stood", stop.reach === null ? lasting(stop.to - stop.from) : lasting(stop.to - stood)],
      ["Stands for", stop.n > 1 ? plural(stop.n, "safepoint") : ""],
      ["Pause", pause ? pause.name : ""],
      ["Its phases", phases == null ? "" : lasting(phases)],
      ["The rest", other == null ? "" : lasting(other)],
      ["Processors", cpu == null ? "" : `${lasting(cpu)}${real == null ? "" : ` in ${lasting(real)}`}`],
    ]);
    const title = make("h3", `${stop.reason || "A safepoint"}: the JVM stood for ${lasting(stop.to - stop.from)}`);
    return [title, facts, ...meantime(stop.from, stop.to, () => true)];
  },
};

function factList(facts) {
  const shown = facts.filter(([, value]) => (Array.isArray(value) ? value.length : value));
  return make("div", make("dl", shown.flatMap(([name, value]) => [make("dt", name), make("dd", value)])));
}

// Names that lead to waits, where there was one.
function links(named) {
  const all = named.slice(0, 8).map(([name, id]) => (id < 0 ? name : make("a", name, { href: "#picture", "data-go": id })));
  if (named.length > 8) all.push(`${named.length - 8} more`);
  return all.flatMap((each, at) => (at ? [", ", each] : [each]));
}

const INTERRUPT = -1;
const wakerName = ({ thread }) => (thread >= 0 ? model.threads[thread].brief : thread === INTERRUPT ? "an interrupt" : "");

function wokenWords(id) {
  const waker = wakerOf(id);
  return waker.thread === INTERRUPT ? "an interrupt: a device, or a clock" : wakerName(waker);
}

// Where in the kernel the waker was when it ended the wait.
function wakerStack(id) {
  const waker = wakerOf(id);
  if (!waker.kernel.length) return [];
  const lines = [...waker.kernel].reverse().map((frame) => make("span", `${frame}\n`, { class: "kernel" }));
  lines.at(-1).className = "last";
  return [make("div", [make("h4", `${wakerName(waker)}, when it ended this`), make("pre", lines, { class: `c-${model.classes[classOf(id)][0]}` })])];
}

// Waits of others that this thread held up while it waited itself.
function heldUpBy(id) {
  const me = model.waits.thread[id];
  const all = [];
  for (const thread of model.threads) {
    within(thread, model.waits.from[id], model.waits.to[id], (other) => holdersOf(other).includes(me) && all.push(other));
  }
  return all;
}

// A stack from the program's outermost frame to the kernel's innermost function, then the file and its device.
function stackOf(thread, id) {
  const name = make("h4", id < 0 ? `${thread.brief} meanwhile` : `${thread.brief}, ${lasting(model.waits.to[id] - model.waits.from[id])} in ${wordOf(id)}`);
  if (id < 0) return make("div", [name, make("p", "It was not seen waiting: it ran, or was between two looks.", { class: "small" })]);
  const { kernel, frames, path, device, cls } = model.places[model.waits.place[id]];
  const lines = [...frames].reverse().map((frame) => make("span", `${frame}\n`));
  for (const frame of [...kernel].reverse()) lines.push(make("span", `${frame}\n`, { class: "kernel" }));
  if (lines.length) lines.at(-1).className = "last";
  const file = [path, device].filter(Boolean).join(" on ");
  if (file) lines.push(make("span", `→ ${file}`, { class: "file" }));
  return make("div", [name, make("pre", lines.length ? lines : "No stack could be read.", { class: `c-${model.classes[cls][0]}` })]);
}

// What some threads waited in during a time: by class, and the longest.
function meantime(from, to, wanted) {
  const sums = new Map();
  const all = [];
  for (const thread of model.threads.filter(wanted)) {
    within(thread, from, to, (id) => {
      const shared = Math.min(to, model.waits.to[id]) - Math.max(from, model.waits.from[id]);
      if (shared <= 0) return;
      sums.set(classOf(id), (sums.get(classOf(id)) ?? 0) + shared);
      all.push([shared, id]);
    });
  }
  if (!all.length) return [make("p", "No thread was seen waiting meanwhile.", { class: "small" })];
  const classes = [...sums].sort((a, b) => b[1] - a[1]).map(([cls, sum]) => [model.classes[cls][1], lasting(sum)]);
  const longest = all.sort((a, b) => b[0] - a[0]).slice(0, 8);
  const items = longest.map(([shared, id]) => make("li", links([[`${threadOf(id).brief}, ${lasting(shared)} in ${wordOf(id)}`, id]])));
  const heads = [make("h4", "Meanwhile threads waited in"), make("h4", "Longest of these")];
  return [make("div", [heads[0], factList(classes)]), make("div", [heads[1], make("ul", items)])];
}
