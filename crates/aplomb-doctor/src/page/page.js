// ---- Finding

function look() {
  const query = search.value.trim().toLowerCase();
  const cause = state.cause >= 0 ? model.causes[state.cause] : null;
  const { waits, threads } = model;
  state.query = query;
  state.lit = query || cause ? new Uint8Array(waits.count) : null;
  if (query) {
    const hit = (text) => text.toLowerCase().includes(query);
    const strings = new Set(model.strings.filter(hit));
    const places = model.places.map((place) =>
      [place.call, place.path, place.device, ...place.kernel, ...place.frames].some((text) => strings.has(text)) || hit(model.classes[place.cls][1]));
    state.named = new Set(threads.filter((thread) => hit(thread.name) || String(thread.tid) === query));
    for (let id = 0; id < waits.count; id++) state.lit[id] = places[waits.place[id]] || state.named.has(threadOf(id)) ? 1 : 0;
  } else if (cause) {
    for (const at of cause.threads) for (const span of cause.when) within(threads[at], span.from, span.to, (id) => (state.lit[id] = 1));
  }
  const busy = new Set();
  let count = 0;
  for (let id = 0; state.lit && id < waits.count; id++) if (state.lit[id]) busy.add(waits.thread[id]) && count++;
  for (const thread of query ? state.named : []) busy.add(threads.indexOf(thread));
  const words = `${plural(count, "wait")} of ${plural(busy.size, "thread")}`;
  if (!query && cause) lightHolders();
  found.textContent = query ? (busy.size ? words : "Nothing has that in its name or stack") : cause ? `${cause.name}: ${words}; Esc lets go` : "";
  arrange();
}

// Those who held what the cause's threads waited for are part of the story, though not of its count.
function lightHolders() {
  const { waits, threads } = model;
  for (const id of model.longestHeld) {
    if (state.lit[id] !== 1) continue;
    for (const holder of holdersOf(id)) within(threads[holder], waits.from[id], waits.to[id], (other) => (state.lit[other] ||= 2));
  }
}

function showCause(at) {
  if (!model.causes.length) return;
  search.value = "";
  state.cause = (at + model.causes.length) % model.causes.length;
  const { when } = model.causes[state.cause];
  const from = Math.min(...when.map((span) => span.from)), to = Math.max(...when.map((span) => span.to));
  select(null);
  look();
  if (when.length) show(from - (to - from) * 0.05, to + (to - from) * 0.05);
  $("#picture").scrollIntoView();
  canvas.focus({ preventScroll: true });
}

// The next wait that is meant, in the order of time.
function step(by) {
  const { waits } = model;
  const wanted = (id) => isMeant(id) && (state.lit ? state.lit[id] === 1 : carries(threadOf(id)) || !threadsCarry);
  const start = state.pick?.kind === "wait" ? state.pick.at : firstFrom(waits.from, state.from) - (by > 0 ? 1 : 0);
  for (let id = start + by; id >= 0 && id < waits.count; id += by) if (wanted(id)) return go(id);
}
const threadsCarry = model.threads.some((thread) => carries(thread) && thread.ids.length);

// The wait of the lane above or below that is nearest in time.
function stepLane(by) {
  if (state.pick?.kind !== "wait") return step(1);
  const rows = layout.rows.filter((row) => row.kind === "lane" && row.thread.ids.length);
  const { ids, latest } = rows[rows.findIndex((row) => row.thread === threadOf(state.pick.at)) + by]?.thread ?? { ids: [] };
  if (ids.length) go(ids[Math.min(firstFrom(latest, model.waits.from[state.pick.at]), ids.length - 1)]);
}

function go(id) {
  select({ kind: "wait", at: id });
  const { from, to } = model.waits;
  const wide = toX(to[id]) - toX(from[id]);
  if (wide < 24 || from[id] < state.from || to[id] > state.to) around(from[id], to[id], wide < 24 ? 8 : 0);
  reveal(layout.rowOf.get(threadOf(id)));
}

// Shows a time in the middle: as many times its length, or as much as is shown now.
function around(from, to, times) {
  const long = times ? Math.max((to - from) * times, model.look * 20, 0.5) : Math.max(state.to - state.from, (to - from) * 1.2);
  show((from + to - long) / 2, (from + to + long) / 2);
}

// Scrolls until a row can be seen; without one, the rows above the lanes.
function reveal(row) {
  const box = lanes.getBoundingClientRect();
  const bottom = innerHeight - (dock.hidden ? 0 : dock.offsetHeight);
  let by = box.top > bottom * 0.4 || box.bottom < layout.head + 60 ? box.top - 12 : 0;
  const first = Math.max(box.top - by, 0) + layout.head;
  const y = box.top - by + layout.head + (row ? row.y : 0);
  if (row && (y < first || y + 40 > bottom)) by += y - (first + (bottom - first) / 3);
  if (by) scrollBy({ top: by });
}

function fit() {
  const { pick } = state;
  if (!pick) return;
  const { waits, slow, safepoints } = model;
  const span = { wait: { from: waits.from[pick.at], to: waits.to[pick.at] }, slow: slow[pick.at], stop: safepoints[pick.at] }[pick.kind];
  around(span.from, span.to, 3);
}

// ---- Moving

function show(from, to) {
  const long = to - from > model.length * 0.9999 ? model.length : Math.max(to - from, Math.min(0.2, model.length));
  const begin = Math.min(Math.max((from + to - long) / 2, 0), model.length - long);
  if (begin === state.from && begin + long === state.to) return false;
  [state.from, state.to] = [begin, begin + long];
  touch();
  return true;
}

function zoom(factor, x = (layout.gutter + layout.width) / 2) {
  const at = toMs(Math.max(x, layout.gutter));
  return show(at - (at - state.from) * factor, at + (state.to - at) * factor);
}

const pan = (share) => show(state.from + (state.to - state.from) * share, state.to + (state.to - state.from) * share);

let pageMoved = -1e9;
// A wheel that turns over the picture while the page is moving goes on to move the page.
function onWheel(event) {
  const unit = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 400 : 1;
  const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  if (!event.ctrlKey && !sideways && event.timeStamp - pageMoved < 250) return void (pageMoved = event.timeStamp);
  const by = (sideways ? event.deltaX || event.deltaY : event.deltaY) * unit;
  const moved = sideways && !event.ctrlKey ? pan(by / layout.width) : zoom(Math.exp(by * (event.ctrlKey ? 0.01 : 0.0016)), event.offsetX);
  if (moved || event.ctrlKey) event.preventDefault();
  else pageMoved = event.timeStamp;
}

const fingers = new Map();
let drag = null;

function onDown(event) {
  if (event.button) return;
  fingers.set(event.pointerId, event);
  canvas.setPointerCapture(event.pointerId);
  drag = { x: event.offsetX, y: event.clientY, from: state.from, to: state.to, moved: false, map: rowAt(event.offsetY)?.kind === "map", apart: apart() };
  if (drag.map) moveTo(event.offsetX);
}

const apart = () => {
  const [one, other] = [...fingers.values()];
  return other ? Math.max(20, Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY)) : 0;
};

function moveTo(x) {
  const at = ((x - layout.gutter) / (layout.width - layout.gutter)) * model.length, half = (state.to - state.from) / 2;
  show(at - half, at + half);
}

function onMove(event) {
  if (!drag) return hover(event);
  if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event);
  const per = (drag.to - drag.from) / (layout.width - layout.gutter);
  if (fingers.size > 1) {
    const factor = drag.apart / apart(), at = drag.from + (drag.x - layout.gutter) * per;
    drag.moved = true;
    return show(at - (at - drag.from) * factor, at + (drag.to - at) * factor);
  }
  const by = event.offsetX - drag.x;
  if (!drag.moved && Math.hypot(by, event.clientY - drag.y) < 5) return;
  drag.moved = true;
  showTip(null);
  if (drag.map) return moveTo(event.offsetX);
  show(drag.from - by * per, drag.to - by * per);
  if (event.pointerType === "mouse") {
    scrollBy({ top: drag.y - event.clientY });
    drag.y = event.clientY;
  }
}

function onUp(event) {
  fingers.delete(event.pointerId);
  const done = drag;
  drag = fingers.size ? { ...drag, moved: true, x: [...fingers.values()][0].offsetX, from: state.from, to: state.to } : null;
  if (done && !done.moved && !done.map && event.type === "pointerup") click(event);
}

function click(event) {
  const what = whatAt(event.offsetX, event.offsetY);
  if (what?.kind === "role") {
    if (!state.unfolded.delete(what.at)) state.unfolded.add(what.at);
    return arrange();
  }
  select(what && tell[what.kind] ? what : null);
}

function hover(event) {
  const what = whatAt(event.offsetX, event.offsetY);
  const tipped = what && tips[what.kind] ? what : null;
  if (state.hover?.kind !== tipped?.kind || state.hover?.at !== tipped?.at) touch();
  state.hover = tipped;
  canvas.style.cursor = what && (tell[what.kind] || what.kind === "role") ? "pointer" : "";
  showTip(tipped, event.offsetX, event.offsetY);
}

const rowAt = (y) => layout.headRows.find((row) => y >= row.y && y < row.y + row.high + row.name + 3);

// What is at a point of the canvas.
function whatAt(x, y) {
  if (y < layout.head) return inHead(rowAt(y), x);
  const below = y - layout.head + layout.scroll;
  const row = layout.rows.find((each) => below >= each.y && below < each.y + each.high + each.name + 3);
  if (!row) return null;
  if (row.kind === "role") return { kind: "role", at: row.role };
  if (x < layout.gutter || below < row.y + row.name - 2) return { kind: "thread", at: row };
  let best = null, most = -1;
  within(row.thread, toMs(x - 3), toMs(x + 3), (id) => {
    const inside = toX(model.waits.from[id]) <= x && toX(model.waits.to[id]) >= x;
    const weight = (inside ? 1e9 : 0) + (isMeant(id) ? 1e10 : 0) + model.waits.to[id] - model.waits.from[id];
    if (!state.off.has(classOf(id)) && weight > most) [best, most] = [id, weight];
  });
  return best === null ? null : { kind: "wait", at: best };
}

function inHead(row, x) {
  if (!row || x < layout.gutter) return null;
  const from = toMs(x - 3), to = toMs(x + 3);
  if (row.kind === "slow") return spanAt("slow", model.slow, from, to);
  if (row.kind === "stops") return spanAt("stop", model.safepoints, from, to);
  const device = model.devices[row.at];
  const sample = firstFrom(device ? device.at : model.host.at, toMs(x));
  if (row.kind === "device" && sample < device.at.length) return { kind: "device", at: { device, row: sample } };
  return row.kind === "host" && sample < model.host.at.length ? { kind: "host", at: sample } : null;
}

function spanAt(kind, spans, from, to) {
  let best = null;
  spans.forEach((span, at) => {
    if (span.from <= to && span.to >= from && (best === null || span.to - span.from > spans[best].to - spans[best].from)) best = at;
  });
  return best === null ? null : { kind, at: best };
}

// ---- Keys, buttons, colours

const THEMES = ["", "light", "dark"];
const actions = {
  next: () => step(1), previous: () => step(-1), in: () => zoom(1 / 1.6), out: () => zoom(1.6), all: () => show(0, model.length), fit,
  help: () => $("#help").showModal(), "close-help": () => $("#help").close(), close: () => select(null), theme,
  search: () => { search.focus(); search.select(); }, "cause+": () => showCause(state.cause + 1), "cause-": () => showCause(Math.max(state.cause, 0) - 1), release,
};
const KEYS = {
  n: "next", p: "previous", N: "cause+", P: "cause-", "+": "in", "=": "in", "-": "out", 0: "all", f: "fit", "/": "search", "?": "help", Escape: "release",
};
const MOVES = { ArrowLeft: () => pan(-0.12), ArrowRight: () => pan(0.12), ArrowUp: () => stepLane(-1), ArrowDown: () => stepLane(1) };

function theme() {
  const root = document.documentElement;
  const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "") + 1) % THEMES.length];
  if (next) root.dataset.theme = next;
  else delete root.dataset.theme;
  $('[data-do="theme"]').textContent = `Colours: ${next || "auto"}`;
  paint();
}

// Lets go of one thing at a time, the last first.
function release() {
  if (state.pick) return select(null);
  search.value = "";
  search.blur();
  state.cause = -1;
  look();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("#help").open) return;
  const typing = event.target === search;
  if (typing && event.key === "Enter") return step(1);
  if (typing && event.key !== "Escape") return;
  const free = event.target === canvas || event.target === document.body;
  const move = MOVES[event.key] && (event.target === canvas || (free && event.key.length > 7)) ? MOVES[event.key] : null;
  const action = move ?? actions[KEYS[event.key]];
  if (!action) return;
  event.preventDefault();
  action();
}

function onList(event) {
  const link = event.target.closest("tr")?.querySelector("a");
  if (!link) return;
  event.preventDefault();
  const [[kind, at]] = Object.entries(link.dataset);
  if (kind === "wait") return go(Number(at));
  select({ kind, at: Number(at) });
  fit();
  reveal(null);
}

function paint() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  colours = Object.fromEntries(["paper", "ink", "soft", "faint", "rule", "shade", "bad", "accent", "slow", "late", "reach", "stop", "arrow", "device"].map((name) => [name, colour(name)]));
  colours.shadeInk = colour("shade-ink");
  colours.classes = model.classes.map(([key]) => colour(key));
  touch();
}

function legend() {
  for (const item of document.querySelectorAll(".legend li")) {
    const button = make("button", [...item.childNodes], { type: "button", "aria-pressed": "true" });
    item.append(button);
    button.addEventListener("click", () => {
      const cls = Number(item.dataset.class);
      if (!state.off.delete(cls)) state.off.add(cls);
      button.setAttribute("aria-pressed", String(!state.off.has(cls)));
      touch();
    });
  }
}

function begin() {
  let latest = -Infinity;
  stopEnds = model.safepoints.map((stop) => (latest = Math.max(latest, stop.to)));
  for (const hidden of [lanes, $(".tools"), $('[data-do="theme"]')]) hidden.hidden = false;
  $(".stage").classList.add("live");
  legend();
  paint();
  arrange();
  canvas.addEventListener("wheel", onWheel, { passive: false });
  addEventListener("wheel", (event) => event.target !== canvas && (pageMoved = event.timeStamp), { passive: true });
  for (const [name, listener] of [["down", onDown], ["move", onMove], ["up", onUp], ["cancel", onUp]]) canvas.addEventListener(`pointer${name}`, listener);
  canvas.addEventListener("pointerleave", () => { state.hover = null; showTip(null); touch(); });
  canvas.addEventListener("dblclick", fit);
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-do], [data-go], [data-cause]");
    if (!target) return;
    if (target.dataset.do) return actions[target.dataset.do]();
    event.preventDefault();
    if (target.dataset.go) return go(Number(target.dataset.go));
    showCause(Number(target.dataset.cause));
  });
  $(".lists").addEventListener("click", onList);
  search.addEventListener("input", look);
  addEventListener("scroll", touch, { passive: true });
  // After this the browser paints at once: what was cleared has to be drawn before.
  new ResizeObserver(() => { arrange(); draw(); }).observe(lanes);
  addEventListener("resize", () => arrange());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
}

begin();
