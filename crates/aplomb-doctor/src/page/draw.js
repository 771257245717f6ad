// ---- Where things are

const toX = (ms) => layout.gutter + ((ms - state.from) / (state.to - state.from)) * (layout.width - layout.gutter);
const toMs = (x) => state.from + ((x - layout.gutter) / (layout.width - layout.gutter)) * (state.to - state.from);

function arrange() {
  const narrow = lanes.clientWidth < 600;
  const name = narrow ? 13 : 0; // On a phone the name stands above its lane.
  const gutter = narrow ? 0 : Math.min(250, Math.max(150, lanes.clientWidth * 0.22));
  const headRows = [];
  let head = 0;
  const add = (kind, high, more) => {
    headRows.push({ kind, y: head, high, name: narrow && kind !== "map" && kind !== "axis" ? name : 0, ...more });
    head += high + (kind === "map" || kind === "axis" ? 0 : name + 3);
  };
  add("map", 26);
  add("axis", 22);
  if (model.slow.length) add("slow", 13, { label: "requests stood still" });
  if (model.safepoints.length + model.collections.length) add("stops", 13, { label: "JVM stood" });
  if (model.host.at.length) add("host", 22, { label: "processors" });
  model.devices.forEach((device, at) => device.at.length && add("device", 30, { label: device.name, at }));
  const rows = laneRows(narrow ? 11 : 15, name);
  const total = head + 6 + rows.reduce((sum, row) => Math.max(sum, row.y + row.high + row.name + 4), 0);
  const rowOf = new Map(rows.filter((row) => row.kind === "lane").map((row) => [row.thread, row]));
  layout = { ...layout, gutter, headRows, head: head + 2, rows, total, rowOf, width: lanes.clientWidth, height: Math.min(total, innerHeight) };
  lanes.style.height = `${total}px`;
  canvas.parentElement.style.height = `${total + layout.height - layout.head - LEFT_OVER}px`;
  const ratio = devicePixelRatio || 1;
  canvas.style.height = `${layout.height}px`;
  canvas.width = Math.round(layout.width * ratio);
  canvas.height = Math.round(layout.height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  touch();
}

// A heading for each role, and a lane for each of its threads that waited or held, and that is meant.
function laneRows(high, name) {
  const rows = [];
  let y = 0;
  model.roles.forEach((label, role) => {
    const all = model.threads.filter((thread) => thread.role === role);
    const busy = all.filter((thread) => thread.ids.length || thread.holds);
    const meant = state.query ? all.filter((thread) => state.named.has(thread) || thread.ids.some((id) => state.lit[id])) : busy;
    const shown = state.unfolded.has(role) && !state.query ? [...busy, ...all.filter((thread) => !busy.includes(thread))] : meant;
    if (!all.length || (state.query && !shown.length)) return;
    rows.push({ kind: "role", y, high: 20, name: 0, label, role, folded: all.length - shown.length, idle: all.length - busy.length });
    y += 22;
    for (const thread of shown) {
      rows.push({ kind: "lane", y, high, name, thread });
      y += high + name + 3;
    }
    y += 4;
  });
  return rows;
}

// ---- Drawing

function touch() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(draw);
}

function draw() {
  pending = false;
  const { width, height, head } = layout;
  layout.scroll = Math.min(Math.max(0, -lanes.getBoundingClientRect().top), Math.max(0, layout.total - head - LEFT_OVER));
  context.font = FONT;
  context.clearRect(0, 0, width, height);
  grid();
  clipped(layout.gutter, head, width, height, () => drawBands(head, height));
  drawLanes();
  clipped(0, head, width, height, () => drawArrows());
  fill(colours.paper, 0, 0, width, head);
  clipped(layout.gutter, 48, width, head, () => drawBands(48, head));
  for (const row of layout.headRows) drawHead[row.kind](row);
  fill(colours.rule, 0, head - 1, width, 1);
}

function ticks(paint) {
  const step = niceStep(((state.to - state.from) / (layout.width - layout.gutter)) * 90);
  for (let at = Math.ceil(state.from / step); at * step <= state.to; at++) paint(toX(at * step), at * step, step);
}

function grid() {
  ticks((x) => fill(colours.faint, x, 48, 1, layout.height));
}

function clipped(x, y, right, bottom, paint) {
  context.save();
  context.beginPath();
  context.rect(x, y, right - x, bottom - y);
  context.clip();
  paint();
  context.restore();
}

function fill(colour, x, y, wide, high, alpha = 1) {
  context.globalAlpha = alpha;
  context.fillStyle = colour;
  context.fillRect(x, y, wide, high);
  context.globalAlpha = 1;
}

function write(text, x, y, colour, align = "left", room = Infinity) {
  context.fillStyle = colour;
  context.textAlign = align;
  context.fillText(fitted(text, room), x, y);
}

const fittings = new Map();
// Threads of a pool differ at the ends of their names: the middle is left out.
function fitted(text, room) {
  if (room === Infinity) return text;
  const key = `${Math.round(room)} ${text}`;
  if (fittings.has(key)) return fittings.get(key);
  let short = text;
  for (let keep = text.length - 1; keep > 4 && context.measureText(short).width > room; keep--) {
    const end = Math.ceil(keep * 0.45);
    short = `${text.slice(0, keep - end)}…${text.slice(text.length - end)}`;
  }
  fittings.set(key, short);
  return short;
}

// What is seen through everything: times of the cause that is shown, and the JVM's pauses.
function drawBands(top, bottom) {
  for (const span of state.cause >= 0 ? model.causes[state.cause].when : []) band(colours.shade, span.from, span.to, top, bottom, 1, 0);
  for (let at = firstFrom(stopEnds, state.from); at < model.safepoints.length; at++) {
    const stop = model.safepoints[at];
    if (stop.from > state.to) break;
    const stood = stop.from + (stop.reach ?? 0);
    band(colours.reach, stop.from, stood, top, bottom, 0.75, 0.4);
    band(colours.stop, stood, stop.to, top, bottom, 0.45, 0.4);
  }
}

function band(colour, from, to, top, bottom, alpha, least) {
  const x = toX(from), wide = toX(to) - x;
  if (wide > least && x < layout.width && x + wide > layout.gutter) fill(colour, x, top, Math.max(wide, 0.7), bottom - top, alpha);
}

let stopEnds = [];

function drawLanes() {
  const { head, height, scroll, gutter, width } = layout;
  const visible = layout.rows.filter((row) => row.y + row.high + row.name + head - scroll > head && row.y + head - scroll < height);
  const rects = new Map();
  for (const row of visible) if (row.kind === "lane") laneRects(row, head - scroll + row.y + row.name, rects);
  clipped(gutter, head, width, height, () => {
    for (const row of visible) if (row.kind === "lane") fill(colours.faint, gutter, head - scroll + row.y + row.name + row.high, width, 1);
    for (const [key, list] of rects) paintRects(key, list);
    for (const row of visible) if (row.kind === "lane" && row.thread.runnable.length) drawRunnable(row, head - scroll + row.y + row.name + row.high);
  });
  clipped(0, head, width, height, () => visible.forEach((row) => drawName(row, head - scroll + row.y)));
}

function drawName(row, y) {
  if (row.kind === "role") {
    const unfolded = state.unfolded.has(row.role);
    const idle = row.idle ? `${unfolded ? "▾" : "▸"} ${row.idle} never waited` : "";
    context.font = `600 ${FONT}`;
    write(row.label, 0, y + 15, colours.ink);
    const wide = context.measureText(row.label).width;
    context.font = FONT;
    write(idle, wide + 10, y + 15, colours.soft);
    return;
  }
  const on = state.pick?.kind === "wait" && threadOf(state.pick.at) === row.thread;
  const room = row.name ? layout.width : layout.gutter - 10;
  write(row.thread.brief, row.name ? 0 : 6, y + (row.name ? 10 : 12), on ? colours.accent : row.thread.ids.length ? colours.ink : colours.soft, "left", room);
}

// Rectangles of a lane by colour and level. Waits narrower than a column of pixels become one mark, as high as their share of it.
function laneRects(row, y, rects) {
  const sums = new Float64Array(model.classes.length * 2);
  let column = -1;
  const flush = () => {
    if (column < 0) return;
    let best = 0, total = 0;
    sums.forEach((sum, at) => {
      total += sum;
      // What is meant (the even positions) covers what is not.
      if (sum > 0 && (sums[best] === 0 || (at % 2 < best % 2) || (at % 2 === best % 2 && sum > sums[best]))) best = at;
    });
    const high = Math.max(2, Math.round(row.high * Math.min(1, Math.max(0.25, total))));
    push(rects, (best >> 1) * 4 + (best % 2 ? 3 : 0), column, y + row.high - high, 1, high);
    sums.fill(0);
    column = -1;
  };
  const soft = (model.look / (state.to - state.from)) * (layout.width - layout.gutter);
  within(row.thread, state.from - model.look, state.to + model.look, (id) => {
    const cls = classOf(id);
    if (state.off.has(cls)) return;
    const x = toX(model.waits.from[id]), end = toX(model.waits.to[id]);
    const dim = state.lit !== null && state.lit[id] === 0;
    if (end - x >= 1.5) {
      flush();
      wideRects(rects, id, cls, dim, x, end, y, row.high, soft);
      return;
    }
    if (Math.floor(x) !== column) flush();
    column = Math.floor(x);
    sums[cls * 2 + (dim ? 1 : 0)] += Math.max(end - x, 0.05);
  });
  flush();
}

// A wait that can be seen: soft where it was seen only from look to look, with gaps where it stands for several.
function wideRects(rects, id, cls, dim, x, end, y, high, soft) {
  const left = Math.max(x, layout.gutter - 2), right = Math.min(end, layout.width + 2);
  const key = cls * 4;
  const kind = model.waits.seen[id] % 4;
  if (dim) return push(rects, key + 3, left, y, right - left, high);
  if (kind === 3 && right - left > 8) {
    for (let at = left; at < right; at += 7) push(rects, key, at, y, Math.min(5, right - at), high);
    return;
  }
  const edge = Math.min(soft, (end - x) / 2);
  if (kind === 0 || edge < 2) return push(rects, key, left, y, right - left, high);
  // A profiler's gap ends where its sample stands; a look says only that a wait was over at the next.
  const body = kind === 1 ? [x + edge, end] : [x, end - edge];
  const steps = kind === 1 ? [[x, 2], [x + edge / 2, 1]] : [[x - edge, 2], [x - edge / 2, 1], [end - edge, 1], [end - edge / 2, 2]];
  for (const [from, level] of steps) push(rects, key + level, from, y, edge / 2, high);
  const bodyLeft = Math.max(body[0], layout.gutter - 2);
  push(rects, key, bodyLeft, y, Math.min(body[1], layout.width + 2) - bodyLeft, high);
}

function push(rects, key, x, y, wide, high) {
  if (wide <= 0) return;
  let list = rects.get(key);
  if (!list) rects.set(key, (list = []));
  const last = list.length - 4;
  if (last >= 0 && list[last + 1] === y && list[last + 3] === high && list[last] + list[last + 2] === x) list[last + 2] += wide;
  else list.push(x, y, wide, high);
}

function paintRects(key, list) {
  context.fillStyle = colours.classes[key >> 2];
  context.globalAlpha = LEVELS[key % 4];
  for (let at = 0; at < list.length; at += 4) context.fillRect(list[at], list[at + 1], list[at + 2], list[at + 3]);
  context.globalAlpha = 1;
}

// A thread that could have run and had no processor.
function drawRunnable(row, y) {
  samples(model.host.at, (at, x, wide) => {
    const share = row.thread.runnable[at] ?? 0;
    if (share >= 5) fill(colours.late, x, y - 1, wide, 2.5, Math.min(1, 0.3 + share / 50));
  });
}

function samples(at, paint) {
  for (let row = Math.max(0, firstFrom(at, state.from)); row < at.length; row++) {
    const from = row ? at[row - 1] : 0;
    if (from > state.to) return;
    paint(row, toX(from), toX(at[row]) - toX(from));
  }
}

function drawArrows() {
  const { from, to } = model.waits;
  const taken = new Set();
  let left = Math.ceil((layout.width - layout.gutter) / ARROW_ROOM);
  for (const id of model.longestHeld) {
    if (!left) break;
    const wide = toX(to[id]) - toX(from[id]);
    if (wide < 5) break;
    if (to[id] < state.from || from[id] > state.to || !isMeant(id)) continue;
    const spot = `${model.waits.thread[id]} ${Math.round(toX(from[id]) / 16)}`;
    if (taken.has(spot)) continue;
    taken.add(spot);
    left--;
    arrowsOf(id, 0.5, 1);
  }
  for (const special of [state.hover, state.pick]) if (special?.kind === "wait") drawSpecial(special.at);
}

function drawSpecial(id) {
  outline(id, colours.ink);
  for (const holder of holdersOf(id)) {
    const other = meanwhile(model.threads[holder], id);
    if (other >= 0) outline(other, colours.soft);
  }
  arrowsOf(id, 1, 2.2);
  // What woke it and held nothing, as far as is known: a worker of the kernel, mostly.
  const { thread } = wakerOf(id);
  if (thread >= 0 && !holdersOf(id).includes(thread)) arrowTo(id, thread, false, 0.7, 1);
}

function outline(id, colour) {
  const row = layout.rowOf.get(threadOf(id));
  if (!row) return;
  const x = toX(model.waits.from[id]);
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.strokeRect(x - 1.5, laneTop(row) - 1, Math.max(toX(model.waits.to[id]) - x, 1) + 3, row.high + 2);
}

const laneTop = (row) => layout.head - layout.scroll + row.y + row.name;

function arrowsOf(id, alpha, wide) {
  for (const holder of holdersOf(id)) arrowTo(id, holder, isKnown(id), alpha, wide);
}

function arrowTo(id, thread, known, alpha, wide) {
  const row = layout.rowOf.get(threadOf(id)), other = layout.rowOf.get(model.threads[thread]);
  if (!row || !other || other === row) return;
  const x = Math.max(toX(model.waits.from[id]), layout.gutter) + Math.min(7, (toX(model.waits.to[id]) - toX(model.waits.from[id])) / 2);
  arrow(x, laneTop(row), laneTop(other), row.high, known, alpha, wide);
}

function arrow(x, from, to, high, known, alpha, wide) {
  const down = to > from;
  const [y, end] = down ? [from + high, to - 1] : [from, to + high + 1];
  const bulge = Math.min(26, Math.abs(end - y) * 0.12);
  context.globalAlpha = alpha;
  context.strokeStyle = context.fillStyle = colours.arrow;
  for (const [colour, thick] of [[colours.paper, wide + 2], [colours.arrow, wide]]) {
    context.strokeStyle = colour;
    context.lineWidth = thick;
    context.setLineDash(known || colour === colours.paper ? [] : [4, 3]);
    context.beginPath();
    context.moveTo(x, y);
    context.quadraticCurveTo(x - bulge, (y + end) / 2, x, end + (down ? -5 : 5));
    context.stroke();
  }
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(x, end);
  context.lineTo(x - 3.5 - wide / 2, end + (down ? -7 : 7));
  context.lineTo(x + 3.5 + wide / 2, end + (down ? -7 : 7));
  context.fill();
  context.globalAlpha = 1;
}

// ---- The rows above the lanes

const drawHead = {
  map(row) {
    const { width, gutter } = layout;
    const room = width - gutter;
    const bars = waiting(Math.max(1, Math.floor(room / 2)));
    const x = (ms) => gutter + (ms / model.length) * room;
    fill(colours.faint, gutter, row.y, room, row.high, 0.5);
    bars.forEach((share, at) => share && fill(colours.soft, gutter + at * 2, row.y + row.high * (1 - share), 2, row.high * share, 0.8));
    const from = x(state.from), to = x(state.to);
    fill(colours.paper, gutter, row.y, from - gutter, row.high, 0.65);
    fill(colours.paper, to, row.y, width - to, row.high, 0.65);
    context.strokeStyle = colours.accent;
    context.lineWidth = 1.5;
    context.strokeRect(Math.min(from, width - 3) + 0.75, row.y + 0.75, Math.max(to - from, 3) - 1.5, row.high - 1.5);
    if (gutter) write("the whole recording", 0, row.y + 17, colours.soft);
  },
  axis(row) {
    ticks((x, ms, step) => {
      fill(colours.rule, x, row.y + 16, 1, 5);
      const align = x > layout.width - 40 ? "right" : x < layout.gutter + 20 ? "left" : "center";
      write(moment(ms, step), x, row.y + 13, colours.soft, align);
    });
    if (layout.gutter) write(`${lasting(state.to - state.from)} shown`, 0, row.y + 14, colours.soft);
  },
  slow(row) {
    label(row);
    for (const span of model.slow) mark(row, span, colours.slow, 0.85);
  },
  stops(row) {
    label(row);
    for (const one of model.collections) mark(row, one, colours.stop, 0.35);
    let last = -1;
    for (let at = firstFrom(stopEnds, state.from); at < model.safepoints.length && model.safepoints[at].from <= state.to; at++) {
      const stop = model.safepoints[at];
      const x = Math.floor(toX(stop.to));
      if (x === last) continue; // One mark a column.
      last = x;
      const stood = stop.from + (stop.reach ?? 0);
      mark(row, { from: stood, to: stop.to }, colours.stop, 1);
      if (stop.reach) mark(row, { from: stop.from, to: stood }, colours.shadeInk, 0.55);
    }
  },
  host(row) {
    label(row);
    const { busy, withheld } = model.host;
    const top = row.y + row.name;
    samples(model.host.at, (at, x, wide) => {
      const high = (busy[at] / 100) * row.high, lost = Math.min(row.high - high, (withheld[at] / 100) * row.high);
      if (x + wide <= layout.gutter) return;
      fill(colours.soft, Math.max(x, layout.gutter), top + row.high - high, x + wide - Math.max(x, layout.gutter) + 0.5, high, 0.4);
      if (lost > 0) fill(colours.bad, x, top + row.high - high - lost, wide + 0.5, lost, 0.8);
    });
  },
  device(row) {
    label(row);
    const device = model.devices[row.at];
    const top = row.y + row.name;
    const frozen = [];
    samples(device.at, (at, x, wide) => {
      const left = Math.max(x, layout.gutter), long = x + wide - left + 0.5;
      if (long <= 0) return;
      if (isFrozen(device, at)) {
        if (frozen.at(-1)?.end === at - 1) Object.assign(frozen.at(-1), { end: at, right: x + wide });
        else frozen.push({ end: at, left, right: x + wide });
        return fill(colours.bad, left, top, long, row.high, 0.85);
      }
      // A tenth of a millisecond is nothing, ten seconds fill the row: the scale is logarithmic.
      const high = (Math.log10(Math.max(device.service[at], 0.1) * 10) / 5) * row.high;
      fill(colours.device, left, top + row.high - high, long, high, 0.55);
      const busy = Math.min(1, Math.log2(1 + device.in_flight[at]) / 7) * row.high;
      if (busy) fill(colours.accent, left, top + row.high - busy, long, 1.2);
    });
    for (const { left, right } of frozen) if (right - left > 44) write("froze", left + 5, top + row.high / 2 + 4, colours.paper);
  },
};

// Nothing was answered while something was under way.
const isFrozen = (device, at) => device.in_flight[at] > 0 && device.answered[at] === 0;

function label(row) {
  fill(colours.faint, layout.gutter, row.y + row.name + row.high, layout.width, 1);
  write(row.label, 0, row.y + (row.name ? 10 : row.high / 2 + 5), colours.soft, "left", layout.gutter ? layout.gutter - 8 : layout.width);
}

function mark(row, { from, to }, colour, alpha) {
  const x = Math.max(toX(from), layout.gutter), end = Math.min(toX(to), layout.width);
  if (end >= layout.gutter && x <= layout.width) fill(colour, x, row.y + row.name, Math.max(end - x, 1), row.high, alpha);
}

let mapped = [];
// How many of those that carry requests waited, against the most, by column of the whole recording.
function waiting(count) {
  if (mapped.length === count) return mapped;
  const bars = new Float64Array(count);
  for (let id = 0; id < model.waits.count; id++) {
    if (!carries(threadOf(id))) continue;
    const from = (model.waits.from[id] / model.length) * count, to = (model.waits.to[id] / model.length) * count;
    for (let at = Math.max(0, Math.floor(from)); at <= Math.min(count - 1, to); at++) bars[at] += Math.min(to, at + 1) - Math.max(from, at);
  }
  const most = Math.max(1e-9, ...bars);
  return (mapped = Array.from(bars, (bar) => bar / most));
}
