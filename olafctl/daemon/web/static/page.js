// What a daemon's deployments do, as it happens: looks come as server-sent events, names are only ever text.

import {Lines, Slots, morph} from "./charts.js";

const SILENT_MS = 6000, AGAIN_MS = 2000, MOST_SHOWN = 200;
const UPDATES = {in_updates: "in", out_updates: "out", merged: "merged"};
const find = (selector) => document.querySelector(selector);
const count = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", {notation: "compact", maximumSignificantDigits: 3});

let latest = null, history = {seconds: 600, every: 5, points: []}, lastNews = Date.now();

// Elements

function make(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// One child of `parent` for each item, by its key: a child is made once by `build`, and shown with `child.show`.
function keep(parent, items, keyOf, build) {
  const known = new Map([...parent.children].map((child) => [child.key, child]));
  items.forEach((item, place) => {
    const key = keyOf(item);
    let child = known.get(key);
    known.delete(key);
    if (!child) child = Object.assign(build(item), {key});
    if (parent.children[place] !== child) parent.insertBefore(child, parent.children[place] ?? null);
    child.show(item);
  });
  for (const child of known.values()) child.remove();
}

function list(parent, lines, kind) {
  keep(parent, lines.map((line, place) => [place, line]), ([place]) => place, () => {
    const text = make(kind);
    return Object.assign(make("li", {}, text), {show: ([, line]) => write(text, line)});
  });
}

function facts(parent, pairs, inBox = false) {
  if (inBox) {
    keep(parent, pairs, ([name]) => name, ([name]) => {
      const value = make("dd");
      value.dataset.register = name;
      return Object.assign(make("div", {}, make("dt", {textContent: name}), value),
                           {show: ([, text]) => write(value, text)});
    });
    return;
  }
  keep(parent, pairs.flatMap(([name, text]) => [[name, "dt", name], [name, "dd", text]]),
       ([name, kind]) => kind + name, ([, kind]) => {
    const node = make(kind);
    return Object.assign(node, {show: ([, , text]) => write(node, text)});
  });
}

// A table whose rows are lists of texts and numbers; says `none` where it has no row.
function table(parent, heads, rows, none) {
  if (!parent.body) {
    parent.body = make("tbody");
    parent.grid = make("table", {}, make("thead", {}, make("tr", {},
      ...heads.map((head) => make("th", {scope: "col", textContent: head})))), parent.body);
    parent.none = make("p", {textContent: none});
    parent.append(parent.grid, parent.none);
  }
  parent.grid.hidden = !rows.length;
  parent.none.hidden = Boolean(rows.length);
  keep(parent.body, rows.map((row, place) => [place, row]), ([place]) => place, () => {
    const cells = heads.map(() => make("td"));
    const line = make("tr", {}, ...cells);
    line.show = ([, row]) => cells.forEach((cell, place) => {
      cell.className = typeof row[place] === "number" ? "number" : "";
      cell.dataset.head = heads[place];
      write(cell, typeof row[place] === "number" ? count.format(row[place]) : row[place]);
    });
    return line;
  });
}

function choose(label, names) {
  const select = label.querySelector("select");
  label.hidden = names.length < 2;
  keep(select, names, (name) => name, (name) => Object.assign(new Option(name, name), {show() {}}));
  if (!names.includes(select.value)) select.value = names[0] ?? "";
  return select.value;
}

// Words

function time(seconds) {
  if (seconds === null) return "not reported";
  for (const [unit, scale] of [["s", 1], ["ms", 1e3], ["µs", 1e6]]) {
    if (seconds * scale >= 1) return `${+(seconds * scale).toPrecision(3)} ${unit}`;
  }
  return `${+(seconds * 1e9).toPrecision(3)} ns`;
}

function ago(seconds) {
  return seconds === null ? "not heard yet" : seconds < 1.5 ? "now" : `${Math.round(seconds)} s ago`;
}

const perSecond = (rate) => (rate === null ? "–" : short.format(rate));
const many = (number, one) => `${number} ${one}${number === 1 ? "" : "s"}`;

// Sections

function topology(deployment) {
  const parent = find("#topology .scroll");
  const drawn = new DOMParser().parseFromString(deployment.drawing ?? "<svg/>", "image/svg+xml").documentElement;
  drawn.setAttribute("class", "topology");
  const old = parent.firstElementChild;
  if (old) morph(old, document.adoptNode(drawn));
  else parent.append(document.adoptNode(drawn));
  find("#topology .hint").hidden = parent.scrollWidth <= parent.clientWidth;
}

function card(cluster) {
  const beyond = make("strong", {className: "beyond", textContent: "beyond its objective"});
  const title = make("h3", {}, `${cluster.name} `, beyond), list = make("dl", {className: "facts"});
  const chart = new Lines(["age"], time), words = make("p", {className: "legend"});
  const age = make("span", {className: "age"}), bound = make("span", {className: "bound"});
  words.append(age, bound);
  const summary = make("summary"), members = make("div", {className: "scroll"});
  const details = make("details", {}, summary, members);
  const node = make("article", {className: "card", ariaLabel: `Cluster ${cluster.name}`}, title, chart.node, words,
                    list, details);
  let shown = cluster, drawn = null;
  const fill = () => details.open && table(members, ["member", "address", "port", "frames", "last heard"],
    shown.members.slice(0, MOST_SHOWN).map((each) =>
      [each.name, each.ip, each.port, each.frames ?? "–", ago(each.heard)]), "It has no members.");
  details.addEventListener("toggle", fill);
  node.show = (now) => {
    shown = now;
    node.classList.toggle("beyond", now.beyond);
    beyond.hidden = !now.beyond;
    if (drawn !== history) {
      drawn = history;
      const values = history.points.map((point) => point[latest.chosen]?.ages[now.name] ?? null);
      const most = chart.show([values], history.seconds / history.every, history.seconds,
        `Age-of-Model of ${now.name} over ten minutes: now ${time(now.age)}` +
        (now.objective ? `, objective ${now.objective}` : ""), now.bound);
      write(age, most === null ? "no Age-of-Model reported" : `Age-of-Model over 10 min, at most ${time(most)}`);
    }
    write(bound, now.objective);
    bound.hidden = !now.objective;
    facts(list, [
      ["Age-of-Model", time(now.age)],
      ["mode", now.mode + (now.threshold === null ? "" : `, H ${now.threshold}`) + (now.halted ? ", halted" : "")],
      ["P_s", now.send_probability === null ? "not known" : now.send_probability.toFixed(2)],
      ...now.players.map((each) => [each.name, `plays version ${each.version}, ${each.lag} behind`
        + (each.dead ? ", dead" : each.slow ? ", slow" : "")]),
      ...(now.lag ? [["staleness", `${now.lag.mean.toFixed(1)} versions, at most ${now.lag.most}`]] : []),
    ]);
    const heard = now.members.map((each) => each.heard).filter((each) => each !== null);
    const silent = now.members.length - heard.length;
    write(summary, many(now.members.length, "member") + (heard.length ? `, last heard ${ago(Math.min(...heard))}` : "")
      + (silent && heard.length ? `, ${silent} not heard yet` : ""));
    fill();
  };
  return node;
}

const slots = new Slots(), flow = new Lines(Object.values(UPDATES), (rate) => `${short.format(rate)}/s`), legend = make("p", {className: "legend"});

function engine(deployment) {
  const section = find("#engine"), all = deployment.engines ?? {};
  const name = choose(section.querySelector("label"), Object.keys(all)), now = all[name];
  section.querySelector(".columns").hidden = section.querySelector("details").hidden = !now;
  write(find("#engine-title"), now ? "Engine" : "Engine: none answers");
  if (!now) return;
  const registers = now.registers;
  if (!slots.node.parentNode) {
    section.querySelector(".slots").append(slots.node);
    section.querySelector(".chart").append(flow.node, legend);
  }
  slots.show(registers.occupancy, registers.slots);
  facts(section.querySelector("dl.facts"), [
    ["held", `${registers.occupancy} of ${registers.slots}`],
    ["active clusters, N", String(registers.active_clusters)],
    ["P_s", now.send_probability === null ? "not known" : now.send_probability.toFixed(2)],
    ["merged", `${count.format(registers.merged)} of ${count.format(registers.in_updates)} updates`],
    ["sent", count.format(registers.out_updates)],
  ]);
  const series = Object.keys(UPDATES).map((which) => history.points.map(
    (point) => point[latest.chosen]?.rates[name]?.[which] ?? null));
  flow.show(series, history.seconds / history.every, history.seconds, "Updates per second: " +
    Object.entries(UPDATES).map(([which, word]) => `${word} ${perSecond(now.rates[which])}`).join(", "));
  keep(legend, Object.entries(UPDATES), ([which]) => which, ([, word]) => {
    const node = make("span", {className: word});
    return Object.assign(node, {show: ([which]) => write(node, `${word} ${perSecond(latest.engine.rates[which])}/s`)});
  });
  table(section.querySelector(".drops"), ["cause", "updates", "per second"],
        now.drops.map((each) => [each.cause, each.updates, perSecond(each.rate)]), "Nothing was dropped.");
  facts(section.querySelector("dl.registers"),
        Object.entries(registers).map(([register, value]) => [register, String(value)]), true);
}

function refused(deployment) {
  const section = find("#refused");
  table(section.querySelector(".scroll"), ["engine", "reason", "frames", "per second"],
    (deployment.refused ?? []).map((each) => [each.engine, each.reason, each.frames, perSecond(each.rate)]),
    "No frame was refused.");
  const messages = Object.entries(deployment.messages ?? {});
  section.querySelector(".none").hidden = Boolean(messages.length);
  facts(section.querySelector("dl"), messages.map(([name, value]) => [name, count.format(value)]));
}

function drift(deployment) {
  const section = find("#drift"), found = deployment.drift ?? [], repaired = deployment.repaired ?? [];
  const words = section.querySelector("p");
  if (found.length) words.replaceChildren("Repair it with ", make("code", {textContent: deployment.repair}));
  else write(words, repaired.length ? "Repaired, newest first:" : "The devices hold what they should.");
  const lines = [...found, ...repaired.map(([at, line]) => `${at} ${line}`).reverse()];
  list(section.querySelector("ul"), lines, "code");
}

function audit(lines) {
  table(find("#audit .scroll"), ["time", "who", "what", "outcome", "request"],
    lines.map((each) => [(each.time ?? "").slice(0, 19).replace("T", "\u00a0"), each.who ?? "", each.what ?? "",
                         each.outcome ?? "", Object.entries(each.request ?? {}).filter(([name]) => name !== "deployment")
        .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ")]),
    "It has no lines about this deployment.");
}

// Show one look. Exported for who wants to show another than the newest.
export function show(look) {
  const names = look.deployments.map((each) => each.name);
  const chosen = choose(find("#choice"), names);
  const deployment = look.deployments.find((each) => each.name === chosen) ?? {problem: "No deployment is kept."};
  const engines = Object.values(deployment.engines ?? {});
  latest = {look, chosen, engine: deployment.engines?.[find("#engine select").value] ?? engines[0]};
  find("main").hidden = find("nav").hidden = false;
  const state = find("#state"), word = deployment.ready ? "ready" : "not ready";
  state.className = deployment.ready ? "ready" : "";
  const rest = `: ${[deployment.problem, deployment.keeper].filter(Boolean).join("; ")}`;
  if (state.textContent !== `${chosen} is ${word}${rest}`) {
    state.replaceChildren(`${chosen} is `, make("b", {textContent: word}), rest);
  }
  document.title = `${chosen} ${word} – Olaf`;
  topology(deployment);
  list(find("#topology ul"), deployment.unplugged ?? [], "span");
  const clusters = deployment.clusters ?? [], beyond = clusters.filter((each) => each.beyond).length;
  write(find("#clusters-title"), beyond ? `Clusters: ${beyond} beyond their objectives` : "Clusters");
  keep(find("#clusters .cards"), clusters, (each) => each.name, card);
  engine(deployment);
  refused(deployment);
  drift(deployment);
  audit(deployment.audit ?? []);
}

// The connection

function connected(text, lost) {
  const line = find("#connection");
  write(line, text);
  line.className = lost ? "lost" : "";
  document.body.classList.toggle("lost", lost);
}

function connect() {
  const source = new EventSource("events");
  source.addEventListener("history", (event) => { history = JSON.parse(event.data); });
  source.addEventListener("look", (event) => {
    const look = JSON.parse(event.data);
    lastNews = Date.now();
    connected(`Live, ${look.time}`, false);
    requestAnimationFrame(() => show(look));
  });
  source.onerror = () => {
    connected(`Connection lost${latest ? `: this is of ${latest.look.time}` : ""}. Trying again …`, true);
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN_MS);
  };
}

setInterval(() => {
  if (latest && Date.now() - lastNews > SILENT_MS) connected(`No news since ${latest.look.time}.`, true);
}, 1000);
for (const select of document.querySelectorAll("select")) {
  select.addEventListener("change", () => latest && show(latest.look));
}
connect();
