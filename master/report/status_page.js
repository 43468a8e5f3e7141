// The status page's script: follows /events and shows each picture as it comes. Put into status_page.html at build.
"use strict";
const at = (id) => document.getElementById(id);
const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };
const make = (tag, name, text) => {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  return node;
};
const number = (value) => value.toLocaleString("en", { maximumFractionDigits: 1 });
const megabytes = (bytes) => Math.round(bytes / 1e6).toLocaleString("en") + " MB";
const two = (value) => String(value).padStart(2, "0");
const lasting = (seconds) => {
  const s = Math.floor(seconds);
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + two(s % 60) + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + two(Math.floor(s / 60) % 60) + " min";
  return Math.floor(s / 86400) + " d " + two(Math.floor(s / 3600) % 24) + " h";
};
const clock = (date) => two(date.getHours()) + ":" + two(date.getMinutes()) + ":" + two(date.getSeconds());
const day = (date) => date.getFullYear() + "-" + two(date.getMonth() + 1) + "-" + two(date.getDate());
const moment = (date) => (day(date) === day(new Date()) ? "" : day(date) + " ") + clock(date);
const count = (value, what) => number(value) + " " + what + (value === 1 ? "" : "s");

// What a worker waits for: docs/events.md, "Why a worker waits".
const waitsFor = {
  second_reading: "a second, exact reading", cooldown: "the cooldown after the last replacement",
  busy: "a quiet moment", turn_in_hand: "another replacement to finish",
  boot_failing: "replacements to boot again", no_tokens: "the budget", lease_held: "its turn in the fleet",
  below_minimum: "enough healthy workers", store_unreachable: "the fleet’s store",
  nothing_to_free: "memory that a replacement could free",
  pressure_futile: "replacements under pressure to help again",
};
const waitedFor = (worker) => waitsFor[worker.hold] || worker.hold;
const called = (worker) => worker.slot === null ? "A spare worker" : "Worker " + worker.slot;
const level = (worker) => {
  if (worker.hard_limit_bytes && worker.rss_bytes >= worker.hard_limit_bytes) return "over";
  return worker.limit_bytes && worker.rss_bytes >= worker.limit_bytes ? "near" : "";
};
const holdEnd = (worker) => {
  const left = worker.hold_ends_in_seconds;
  if (left === null || left === undefined) return "until the replacement in hand is over";
  if (left < 1) return "until " + clock(new Date(Date.now() + left * 1000)) + ", in a moment";
  return "until " + clock(new Date(Date.now() + left * 1000)) + ", in " + lasting(left);
};
const whyItGoes = { over: "is over its hard limit", near: "is over its limit", "": "is to be replaced" };

// Keeps the nodes of those that stay, so that focus and what a screen reader reads stay too.
const list = (parent, items, key, create, update) => {
  const before = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  items.forEach((item, index) => {
    const name = String(key(item));
    const node = before.get(name) || create(item);
    before.delete(name);
    node.dataset.key = name;
    update(node, item);
    if (parent.children[index] !== node) parent.insertBefore(node, parent.children[index] || null);
  });
  before.forEach((node) => node.remove());
};

const createWorker = () => {
  const node = make("li", "worker"), head = make("div", "head"), bar = make("div", "bar"), scale = make("div", "scale");
  head.append(make("h3"), make("span", "quiet state-of"), make("span", "weight"));
  bar.setAttribute("role", "meter");
  bar.append(make("div", "grown"), make("div", "tick"), make("div", "tick hard"));
  scale.append(make("span", "base"), make("span", "limit"), make("span", "hard"), make("span", "rest"));
  node.append(head, bar, scale, make("p", "said"));
  return node;
};
const showBar = (bar, worker) => {
  const base = worker.boot_rss_bytes || 0, now = worker.rss_bytes || base;
  const top = Math.max(worker.hard_limit_bytes || worker.limit_bytes || 0, now, base + 1);
  const share = (bytes) => Math.max(0, Math.min(1, (bytes - base) / (top - base))) * 100 + "%";
  const [grown, limit, hard] = bar.children;
  grown.className = "grown " + level(worker);
  grown.style.width = worker.limit_bytes || worker.hard_limit_bytes ? share(now) : "0%";
  for (const [tick, bytes] of [[limit, worker.limit_bytes], [hard, worker.hard_limit_bytes]]) {
    tick.hidden = !bytes;
    if (bytes) tick.style.left = share(bytes);
  }
  bar.setAttribute("aria-label", "Memory of " + called(worker).toLowerCase());
  bar.setAttribute("aria-valuemin", base);
  bar.setAttribute("aria-valuemax", top);
  bar.setAttribute("aria-valuenow", now);
  const ofLimit = worker.limit_bytes ? " of " + megabytes(worker.limit_bytes) : "";
  bar.setAttribute("aria-valuetext", megabytes(now) + ofLimit);
};
const showWorker = (node, worker) => {
  const find = (name) => node.querySelector(name);
  const weighed = Boolean(worker.rss_bytes), growth = weighed ? worker.rss_bytes - worker.boot_rss_bytes : 0;
  node.className = "worker" + (["booting", "serving", "spare"].includes(worker.state) ? "" : " leaving");
  put(find("h3"), called(worker));
  put(find(".state-of"), [worker.state, worker.pid && "pid " + worker.pid, "generation " + worker.generation]
    .filter(Boolean).join(" · "));
  const weight = find(".weight");
  put(weight, weighed ? megabytes(worker.rss_bytes) : "");
  weight.className = "weight " + level(worker);
  find(".bar").hidden = !weighed;
  if (weighed) showBar(find(".bar"), worker);
  put(find(".scale .base"), weighed ? "baseline " + megabytes(worker.boot_rss_bytes) : "");
  put(find(".scale .limit"), worker.limit_bytes ? "limit " + megabytes(worker.limit_bytes) : weighed ? "no limit" : "");
  put(find(".scale .hard"), worker.hard_limit_bytes ? "hard limit " + megabytes(worker.hard_limit_bytes) : "");
  const lived = worker.uptime_seconds === null ? worker.in_state_seconds : worker.uptime_seconds;
  const grown = weighed ? (growth < 0 ? "−" : "+") + megabytes(Math.abs(growth)) + " in " : "";
  put(find(".scale .rest"), [grown + lasting(lived), count(worker.requests, "request"),
    number(worker.in_flight) + " in flight"].join(" · "));
  const said = find(".said");
  said.hidden = !worker.hold && !worker.status;
  said.className = "said " + (worker.hold ? level(worker) || "near" : "quiet");
  put(said, worker.hold ? "Waits for " + waitedFor(worker) + ", " + holdEnd(worker) + "."
    : worker.status || "");
};
// A slot that nobody serves in.
const createWaiting = () => {
  const node = make("li", "worker"), head = make("div", "head");
  head.append(make("h3"), make("span", "quiet state-of"));
  node.append(head, make("p", "said near"));
  return node;
};
const showWaiting = (node, slot) => {
  const [head, said] = node.children, left = slot.retry_seconds;
  put(head.children[0], "Slot " + slot.slot);
  put(head.children[1], "waiting");
  const next = left === null ? "Until the app is loaded"
    : "Next attempt in " + (left < 1 ? "a moment" : lasting(left));
  put(said, next + (slot.failed_boots ? ", after " + count(slot.failed_boots, "failed boot") : "") + ".");
};
const waits = (place) => "failed_boots" in place;
// As the workers come: by slot, and spares last.
const order = (place) => (place.slot === null ? Number.MAX_VALUE : place.slot);
const places = (status) => [...status.waiting_slots, ...status.workers].sort((a, b) => order(a) - order(b));
const createPlace = (place) => (waits(place) ? createWaiting() : createWorker());
const showPlace = (node, place) => (waits(place) ? showWaiting : showWorker)(node, place);
const showHold = (node, worker) => {
  const [text, name] = node.children;
  put(text, called(worker) + " " + whyItGoes[level(worker)] + " and waits for " + waitedFor(worker) + " " +
    holdEnd(worker) + ".");
  put(name, worker.hold);
};
const createHold = () => {
  const node = make("li");
  node.append(make("span"), " ", make("code"));
  return node;
};
const showRecycle = (node, recycle) => {
  const [time, text] = node.children;
  time.dateTime = recycle.at;
  put(time, moment(new Date(recycle.at)));
  put(text, recycle.sentence.charAt(0).toUpperCase() + recycle.sentence.slice(1) + ".");
};
const createRecycle = () => {
  const node = make("li");
  node.append(make("time"), make("span"));
  return node;
};

const showLives = (lives) => {
  const any = lives.samples > 0;
  put(at("p10"), any ? number(lives.p10) : "–");
  put(at("p50"), any ? number(lives.p50) : "–");
  const few = ["No worker has gone because of memory yet.", "One worker has gone because of memory so far."];
  put(at("lives-said"), few[lives.samples] || "Of the last " + number(lives.samples) + " workers that went because of " +
    "memory a tenth served " + number(lives.p10) + " requests or fewer, half " + number(lives.p50) + " or fewer.");
  at("alarm").hidden = !lives.alarm;
  if (lives.alarm) put(at("alarm-said"), "A tenth of them served " + number(lives.p10) + " requests or fewer. Their " +
    "limit is too near to what they weigh, or the app leaks more than before.");
};
const showGate = (gate) => {
  const bounded = Boolean(gate && gate.bucket), bucket = at("bucket");
  put(at("tokens"), bounded ? number(Math.floor(gate.tokens * 10) / 10) : "no bound");
  put(at("tokens-of"), bounded ? "of " + number(gate.bucket) + " replacements" : "on replacements");
  at("tokens").className = "figure" + (bounded && gate.tokens < 0 ? " over" : "");
  put(at("lease"), gate ? gate.lease : "–");
  bucket.hidden = !bounded;
  if (bounded) {
    bucket.firstElementChild.hidden = gate.tokens <= 0;
    bucket.firstElementChild.style.width = Math.max(0, Math.min(1, gate.tokens / gate.bucket)) * 100 + "%";
    bucket.setAttribute("aria-valuemax", gate.bucket);
    bucket.setAttribute("aria-valuenow", Math.max(0, gate.tokens));
    bucket.setAttribute("aria-valuetext", number(gate.tokens) + " of " + number(gate.bucket));
  }
  if (!gate) return put(at("gate-said"), "");
  const said = [gate.kind === "local" ? "for this instance alone" : "shared in the fleet " + gate.fleet];
  if (gate.tokens_per_hour) said.push(number(gate.tokens_per_hour) + " come in an hour");
  said.push(number(gate.granted) + " granted");
  const refused = Object.entries(gate.refusals).filter((entry) => entry[1] > 0);
  said.push(refused.length ? "refused " + refused.map((entry) => number(entry[1]) + " × " + entry[0]).join(", ")
    : "none refused");
  said.push(number(gate.ungated) + " went ahead of it");
  if (gate.tokens < 0) said.push("overdrawn: routine replacements wait until it is paid back");
  put(at("gate-said"), said.join(" · ") + ".");
  at("store").hidden = !gate.trouble;
  if (gate.trouble) put(at("store-said"), "For " + lasting(gate.trouble_seconds || 0) + " now. Serving is not touched, " +
    "and only urgent replacements go on. " + gate.trouble);
};
// That it is over is not said: one that was refused at a reload stays, though everybody serves, on older code.
const showTrouble = (status) => {
  const allServe = status.serving >= status.wanted;
  at("trouble").hidden = !status.boot_error;
  at("trouble").className = "notice" + (allServe ? "" : " bad");
  put(at("trouble-when"), status.boot_error ? lasting(status.boot_error_age_seconds) + " ago, at " +
    moment(new Date(status.boot_error_at)) + (allServe ? ". Every wanted worker serves now." : ".") : "");
  put(at("trouble-said"), status.boot_error || "");
};
const showRest = (status) => {
  const said = [], parking = status.parking, memory = status.recycler;
  if (memory.headroom_bytes) said.push("memory left " + megabytes(memory.headroom_bytes) +
    (memory.min_headroom_bytes ? " (short below " + megabytes(memory.min_headroom_bytes) + ")" : ""));
  if (parking) said.push(count(parking.held, "connection") + " between two workers, " + number(parking.handed_over) +
    " handed over so far");
  if (status.log_lines_dropped) said.push(number(status.log_lines_dropped) + " log lines lost");
  if (status.events_dropped) said.push(number(status.events_dropped) + " events lost");
  put(at("rest"), said.join(" · "));
};

let spokenOf = "";
const speak = (held) => { // only what has changed for the worse or the better, not each second
  const now = at("state").textContent + ". " +
    held.map((worker) => called(worker) + " waits for " + waitedFor(worker) + ".").join(" ");
  if (now !== spokenOf) put(at("spoken"), now);
  spokenOf = now;
};
const show = (status) => {
  const held = status.workers.filter((worker) => worker.hold);
  at("shown").hidden = false;
  document.title = status.name + ": " + status.state;
  put(at("name"), status.name);
  const sleeps = status.state === "asleep", refuses = sleeps && status.idle && status.idle.refuses_for_seconds;
  put(at("state"), status.state + ", " + (refuses ? "callers are refused" : sleeps ? "the next caller wakes it"
    : status.serving + " of " + status.wanted + " serve"));
  at("state").className = "state " + (sleeps ? "quiet" : status.serving < status.wanted ? "near" : "good");
  put(at("facts"), ["moult " + status.version, status.server, "generation " + status.generation, "pid " + status.pid,
    "up " + lasting(status.uptime_seconds)].filter(Boolean).join(" · "));
  list(at("holds"), held, (worker) => worker.slot + "/" + worker.pid, createHold, showHold);
  at("no-holds").hidden = held.length > 0;
  const shown = places(status);
  list(at("workers"), shown, (place) => place.slot + "/" + (waits(place) ? "waits" : place.pid), createPlace, showPlace);
  at("no-workers").hidden = shown.length > 0;
  put(at("no-workers"), sleeps ? "There are none: the app sleeps." : "There are none.");
  const recent = status.recent_recycles;
  list(at("recycles"), recent, (recycle) => recycle.at + "/" + recycle.slot, createRecycle, showRecycle);
  at("no-recycles").hidden = recent.length > 0;
  showTrouble(status);
  showLives(status.lifetimes);
  showGate(status.gate);
  showIdle(status.idle, status.uptime_seconds);
  showLingers(status.linger);
  showSchedule(status.schedule);
  showRest(status);
  speak(held);
};

// fetch and not EventSource: that one cannot send a token.
const live = (text, on) => {
  if (!on && at("live").classList.contains("on")) put(at("spoken"), spokenOf = "Not live any more: " + text + ".");
  put(at("live"), text);
  at("live").className = "live" + (on ? " on" : "");
};
const hear = (block) => {
  const lines = block.split("\n"), name = lines.find((line) => line.startsWith("event: "));
  const data = lines.find((line) => line.startsWith("data: "));
  if (!data) return;
  const said = JSON.parse(data.slice(6));
  if (name === "event: status") { show(said); live("live", true); }
  if (name === "event: still") live("moult’s loop has not turned for " + lasting(said.seconds), false);
};

// A moult that lives speaks each second, or says every three that its loop stands still (status_events.h). One that is
// stopped, or cannot be reached any more, says nothing, and no connection need end for that.
const silentAfter = 6, goneAfter = 20; // seconds
let heardAt = null, connection = null; // null: nobody is listened to
const heard = () => { heardAt = performance.now(); };
setInterval(() => {
  if (heardAt === null) return;
  const silent = (performance.now() - heardAt) / 1000;
  if (silent >= silentAfter) live("nothing has come for " + lasting(silent) + ": what is shown is old", false);
  if (silent >= goneAfter) connection.abort(new Error("Nothing has come for " + lasting(silent) + "."));
}, 1000);

const follow = async () => {
  connection = new AbortController();
  heard();
  const token = sessionStorage.getItem("moult-token");
  const headers = token ? { Authorization: "Bearer " + token } : {};
  const answer = await fetch("events", { cache: "no-store", headers, signal: connection.signal });
  heard();
  at("ask").hidden = answer.status !== 401;
  if (answer.status === 401) {
    heardAt = null;
    live(token ? "this is not the token" : "waiting for the token", false);
    return new Promise((asked) => { at("ask-form").onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem("moult-token", at("token").value);
      at("token").value = "";
      asked();
    }; });
  }
  if (!answer.ok) throw new Error((await answer.text()).trim());
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = "";;) {
    const { done, value } = await reader.read();
    if (done) throw new Error("moult has ended, or has been replaced");
    heard();
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    blocks.forEach(hear);
  }
};
(async () => {
  for (;;) {
    try { await follow(); } catch (error) {
      heardAt = null;
      live("no connection: what is shown is old. " + error.message, false);
      await new Promise((later) => { setTimeout(later, 2000); });
    }
  }
})();
