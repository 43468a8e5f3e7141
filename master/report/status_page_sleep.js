
// The status page's second part: whether the app sleeps, what is on its way to clients, what the clock calls.
const keptAwakeBy = { // status, idle.blocked_by
  switched_off: "it sleeps only when told to", upgraded: "a WebSocket or an event stream is open",
  request: "a request is in flight", call: "a scheduled call is in flight",
  undelivered: "an answer has not arrived yet",
  no_room_to_park: "more connections are idle than --parking-max", window: "somebody called a moment ago",
  call_due: "a scheduled call is due soon", failed_stop: "the last attempt to sleep failed",
};
const wokenBy = { // idle.woken_by
  caller: "a visitor", call: "a scheduled call", app_due: "the app’s own schedule", operator: "an operator",
};
const idleNow = { active: "awake", stopping: "falls asleep", asleep: "asleep", waking: "wakes" };
const inSeconds = (seconds) => clock(new Date(Date.now() + seconds * 1000)) + ", in " +
  (seconds < 1 ? "a moment" : lasting(seconds));

const whatItDoes = (idle) => {
  const woken = idle.woken_by ? wokenBy[idle.woken_by] || idle.woken_by : "";
  if (idle.state === "waking") return "It wakes for " + woken + ".";
  if (idle.state === "stopping") return "Its workers finish what they have, and end. Whoever calls now wakes it again.";
  if (idle.state === "asleep") {
    if (idle.refuses_for_seconds) return "Callers are refused.";
    if (!idle.warm) return "The next caller wakes it, and waits while it is loaded anew: nothing is kept warm.";
    return "The next caller wakes it." + (idle.warm_for_seconds ? " It is kept warm until " +
      inSeconds(idle.warm_for_seconds) + "." : "");
  }
  const said = [];
  said.push(idle.blocked_by ? "It stays awake: " + (keptAwakeBy[idle.blocked_by] || idle.blocked_by) + "."
    : "It sleeps when nobody has called for --idle.");
  if (idle.no_sleep_for_seconds) said.push("It tries again at " + inSeconds(idle.no_sleep_for_seconds) + ".");
  if (woken) said.push("The last wake was for " + woken + ".");
  return said.join(" ");
};
const showIdle = (idle, uptime) => {
  at("idle").hidden = !idle;
  at("unwoken").hidden = !idle || !idle.failure;
  if (!idle) return;
  put(at("idle-now"), idleNow[idle.state] || idle.state);
  put(at("idle-since"), "for " + lasting(idle.since_seconds));
  const share = uptime > 0 ? Math.min(1, idle.awake_seconds / uptime) : 1;
  put(at("awake-share"), Math.round(share * 100) + " %");
  put(at("idle-said"), whatItDoes(idle));
  if (!idle.failure) return;
  const refused = Boolean(idle.refuses_for_seconds);
  put(at("unwoken-title"), "The app could not be " + (idle.state === "active" ? "put to sleep" : "woken"));
  put(at("unwoken-said"), refused ? "Whoever calls is told 503 until " + inSeconds(idle.refuses_for_seconds) +
    ". The first after that is the next attempt." : idle.state === "active" ? "It serves on." :
    "The next caller is the next attempt.");
  put(at("unwoken-why"), idle.failure);
};

const lingerEnds = { // linger.outcomes
  delivered: "delivered", reset: "reset by the client", aborted: "cut off", unwatched: "not watched to the end",
  fail_closed: "neither delivered nor cut off",
};
const showLingers = (linger) => {
  at("linger").hidden = !linger;
  if (!linger) return;
  put(at("watched"), number(linger.watched));
  put(at("stalled"), number(linger.stalled));
  const ended = Object.entries(linger.outcomes).filter((entry) => entry[1] > 0)
    .map((entry) => number(entry[1]) + " " + (lingerEnds[entry[0]] || entry[0]));
  put(at("linger-said"), ended.length ? "So far: " + ended.join(", ") + "." : "None has ended so far.");
  const bad = [];
  if (linger.fail_closed) bad.push(count(linger.fail_closed, "connection") + " can be neither delivered nor cut off: " +
    "that needs root or CAP_NET_ADMIN. The app stays awake.");
  if (linger.trouble) bad.push("It cannot be seen what is on its way, so the app does not sleep: " + linger.trouble);
  at("linger-bad").hidden = bad.length === 0;
  put(at("linger-bad"), bad.join(" "));
};

const callEnds = { // schedule.last_outcome, but answered
  timed_out: "not answered within its timeout", cut_off: "cut off before it was answered",
  not_served: "not made, as nobody served", claimed_elsewhere: "made by another instance",
  store_unreachable: "not made here, as it could not be claimed", stopped: "not made, as moult was stopping",
  lost: "lost by the instance that had claimed it",
};
const lastCall = (call) => {
  if (!call.last_outcome) return "not called yet";
  const took = call.last_duration_seconds;
  const how = call.last_outcome === "answered" ? "answered " + call.last_status
    : callEnds[call.last_outcome] || call.last_outcome;
  return "last " + how + (took ? " after " + (took < 10 ? number(took) + " s" : lasting(took)) : "");
};
const nextCall = (call) => {
  if (call.state !== "waiting") return "is being called now";
  if (!call.next_at) return "is not due in any foreseeable time";
  const next = new Date(call.next_at), left = Math.max(0, (next - Date.now()) / 1000);
  return "next at " + moment(next) + ", in " + (left < 1 ? "a moment" : lasting(left));
};
const lastWasBad = (call) => call.last_outcome !== null && call.last_outcome !== "claimed_elsewhere" &&
  (call.last_outcome !== "answered" || call.last_status >= 400);
const showCall = (node, call) => {
  const find = (name) => node.querySelector(name);
  put(find("h3"), call.name);
  put(find(".when"), [call.when, call.method + " " + call.path, call.scope === "fleet" && "one of the fleet"]
    .filter(Boolean).join(" · "));
  put(find(".next"), nextCall(call) + " · " + lastCall(call));
  find(".next").className = "next" + (lastWasBad(call) ? " over" : "");
  const words = find(".holds");
  words.hidden = !call.holds_awake_words;
  words.className = "holds " + (call.holds_awake ? "near" : "quiet");
  put(words, call.holds_awake_words ? "Holds the app awake? " + call.holds_awake_words : "");
};
const createCall = () => {
  const node = make("li"), head = make("div", "head");
  head.append(make("h3"), make("span", "quiet when"));
  node.append(head, make("p", "next"), make("p", "holds"));
  return node;
};
const showSchedule = (calls) => {
  at("schedule").hidden = !calls;
  list(at("calls"), calls || [], (call) => call.name, createCall, showCall);
};
