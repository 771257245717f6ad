"use strict";
// Draws the lanes, and finds and tells what is in them. The rest of the page is complete without it. What always holds: foreign text
// reaches the page as text and never as HTML; nothing is drawn unless something has changed; what one frame costs follows from the
// picture's size and not from the number of waits on a lane that are narrower than a pixel.

const $ = (selector) => document.querySelector(selector);
const canvas = $("canvas");
const context = canvas.getContext("2d");
const lanes = $(".lanes");
const tip = $(".tip");
const dock = $(".dock");
const told = $(".told");
const found = $("#found");
const search = $("#search");
const model = decode(JSON.parse($("#model").textContent));
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const ARROW_ROOM = 20; // Pixels for an arrow: with less of it they are a hedge.
const LEFT_OVER = 90; // So much of the lanes is still below the rows above them when these scroll away.
const LEVELS = [1, 0.55, 0.25, 0.13]; // Whole, two steps of a soft edge, and what is not meant now.

const state = {
  from: 0, to: model.length, // what is shown, in ms
  pick: null, hover: null, // { kind, at }
  cause: -1, query: "", lit: null, named: null, // which waits and threads are meant; null: all
  off: new Set(), unfolded: new Set(), // classes that are switched off; roles with their idle threads
};
let layout = { width: 0, height: 0, gutter: 0, head: 0, total: 0, scroll: 0, headRows: [], rows: [], rowOf: new Map() };
let colours = {};
let pending = false;

// ---- The data

function decode(raw) {
  const ms = (ticks) => (ticks === null ? null : ticks * raw.tick);
  const text = (number) => raw.strings[number];
  const stacks = raw.stacks.map((stack) => stack.map(text));
  const places = raw.places.map(([cls, call, path, device, kernel, frames, active]) => ({
    cls, call: text(call), path: text(path), device: text(device), kernel: stacks[kernel], frames: stacks[frames], active,
  }));
  const count = raw.waits.from.length;
  const waits = { count, from: new Float64Array(count), to: new Float64Array(count), ...columns(raw.waits) };
  let at = 0;
  for (let id = 0; id < count; id++) {
    at += raw.waits.from[id];
    waits.from[id] = ms(at);
    waits.to[id] = ms(at + raw.waits.long[id]);
  }
  const span = ([from, to]) => ({ from: ms(from), to: ms(to) });
  return {
    ...raw, stacks, places, waits, wakers: raw.wakers.map(([thread, stack]) => ({ thread, kernel: stacks[stack] })), length: Math.max(ms(raw.length), 1),
    threads: laned(raw.threads.map(([tid, name, brief, role, runnable]) => ({ tid, name: name || `thread ${tid}`, brief: brief || `thread ${tid}`, role, runnable })), waits, raw.holders),
    safepoints: raw.safepoints.map(([from, reach, long, reason, n]) => ({ from: ms(from), reach: ms(reach), to: ms(from + long), reason, n })),
    collections: raw.collections.map(([from, long, name, ...parts]) => ({ from: ms(from), to: ms(from + long), name, parts: parts.map(ms) })),
    slow: raw.slow.map(span),
    causes: raw.causes.map((cause) => ({ ...cause, threads: new Set(cause.threads), when: cause.when.map(span) })),
    devices: raw.devices.map((device) => ({ ...device, at: device.at.map(ms), service: device.service.map(ms) })),
    host: { ...raw.host, at: raw.host.at.map(ms) },
    longestHeld: Array.from({ length: count }, (_, id) => id)
      .filter((id) => raw.holders[raw.waits.held[id]].length > 1)
      .sort((a, b) => raw.waits.long[b] - raw.waits.long[a]),
  };
}

function columns({ thread, place, seen, held, woke }) {
  return { thread: Int32Array.from(thread), place: Int32Array.from(place), held: Int32Array.from(held), woke: Int32Array.from(woke), seen };
}

// Gives each thread its waits in order, and with each the latest end so far: by it the first that is visible is found in a few steps.
function laned(threads, waits, holders) {
  for (const thread of threads) Object.assign(thread, { ids: [], waited: 0, longest: 0, holds: false });
  for (let id = 0; id < waits.count; id++) threads[waits.thread[id]].ids.push(id);
  for (const group of holders) for (const holder of group.slice(1)) threads[holder].holds = true;
  for (const thread of threads) {
    thread.ids = Int32Array.from(thread.ids).sort((a, b) => waits.from[a] - waits.from[b] || a - b);
    let latest = -Infinity;
    thread.latest = Float64Array.from(thread.ids, (id) => (latest = Math.max(latest, waits.to[id])));
    for (const id of thread.ids) {
      thread.waited += waits.to[id] - waits.from[id];
      thread.longest = Math.max(thread.longest, waits.to[id] - waits.from[id]);
    }
  }
  return threads;
}

// The first position whose value is not below.
function firstFrom(values, value) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

const classOf = (id) => model.places[model.waits.place[id]].cls;
const threadOf = (id) => model.threads[model.waits.thread[id]];
const holdersOf = (id) => model.holders[model.waits.held[id]].slice(1);
const wakerOf = (id) => model.wakers[model.waits.woke[id]];
const isKnown = (id) => model.holders[model.waits.held[id]][0] === 1;
const isMeant = (id) => !state.off.has(classOf(id)) && (!state.lit || state.lit[id] > 0);
const carries = (thread) => thread.role < model.carrying;

// Calls with each wait of a thread that reaches into a time.
function within(thread, from, to, visit) {
  for (let at = firstFrom(thread.latest, from); at < thread.ids.length; at++) {
    const id = thread.ids[at];
    if (model.waits.from[id] > to) return;
    if (model.waits.to[id] >= from) visit(id);
  }
}

// The wait of a thread that shares most time with another wait.
function meanwhile(thread, id) {
  const { from, to } = model.waits;
  let best = -1, most = -1;
  within(thread, from[id], to[id], (other) => {
    const shared = Math.min(to[id], to[other]) - Math.max(from[id], from[other]);
    if (other !== id && shared > most) [best, most] = [other, shared];
  });
  return best;
}
