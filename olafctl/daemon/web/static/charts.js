// Charts as SVG, kept from one look to the next: only what has changed is written.

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 600, HEIGHT = 100;

export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    const text = String(value);
    if (node.getAttribute(name) !== text) node.setAttribute(name, text);
  }
  return node;
}

export function shape(name, attributes) {
  return set(document.createElementNS(NS, name), attributes);
}

const OUTLIER = 4;

// The highest value to draw: one that is far beyond nearly all others is cut off, so that those can be read.
function height(values, bound) {
  const sorted = [...values].sort((one, other) => one - other);
  const most = sorted.at(-1) ?? 0, usual = sorted[Math.floor(0.9 * (sorted.length - 1))] ?? 0;
  const needed = Math.max(usual, bound ?? 0);
  return 1.05 * Math.max(needed > 0 && most > OUTLIER * needed ? 2 * needed : Math.max(most, bound ?? 0), 1e-12);
}

// Lines over time with the scale beside them, the newest at the right; `bound` is drawn across all of it.
export class Lines {
  constructor(names, words) {
    this.words = words;
    this.plot = shape("svg", {class: "lines", role: "img", viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
                              preserveAspectRatio: "none"});
    this.paths = names.map((name) => this.plot.appendChild(shape("path", {class: name})));
    this.bound = this.plot.appendChild(shape("path", {class: "bound"}));
    this.node = document.createElement("div");
    this.node.className = "plot";
    this.axes = Object.fromEntries(["top", "zero", "first", "last"].map((name) => {
      const label = document.createElement("span");
      label.className = `axis ${name}`;
      return [name, label];
    }));
    this.node.append(this.plot, ...Object.values(this.axes));
    this.axes.zero.textContent = "0";
    this.axes.last.textContent = "now";
  }

  // `series`: for each name its values, null where one is not known; `most`: how many the width has room for.
  show(series, most, seconds, label, bound = null) {
    const all = series.flat().filter((value) => value !== null);
    const top = height(all, bound), highest = all.length ? Math.max(...all) : null;
    series.forEach((values, line) => {
      let path = "", pen = "M";
      values.forEach((value, place) => {
        if (value === null) { pen = "M"; return; }
        const x = WIDTH * (1 - (values.length - 1 - place) / (most - 1));
        const y = HEIGHT * (1 - Math.min(value / top, 1));
        path += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
        if (pen === "M") path += "h1";  // a value between two gaps is seen
        pen = "L";
      });
      set(this.paths[line], {d: path});
    });
    set(this.bound, {d: bound === null ? "" : `M0 ${(HEIGHT * (1 - bound / top)).toFixed(1)}H${WIDTH}`});
    set(this.plot, {"aria-label": label});
    const scale = all.length || bound !== null ? this.words(top) : "";
    const texts = {top: highest > top ? `${scale}, cut off` : scale, first: `${Math.round(seconds / 60)} min ago`};
    for (const [name, text] of Object.entries(texts)) {
      if (this.axes[name].textContent !== text) this.axes[name].textContent = text;
    }
    return highest;
  }
}

const MOST_SLOTS = 128, A_ROW = 16, SIZE = 20;

// The slots of a queue; many of them as one bar.
export class Slots {
  constructor() {
    this.node = shape("svg", {class: "slots", role: "img"});
  }

  show(held, slots) {
    const drawn = Math.min(slots, MOST_SLOTS), wide = Math.min(drawn, A_ROW);
    while (this.node.children.length > drawn) this.node.lastChild.remove();
    while (this.node.children.length < drawn) {
      const place = this.node.children.length;
      this.node.append(shape("rect", {x: (place % A_ROW) * SIZE + 1, y: Math.floor(place / A_ROW) * SIZE + 1,
                                      width: SIZE - 4, height: SIZE - 4}));
    }
    const filled = Math.ceil((held * drawn) / slots);
    [...this.node.children].forEach((each, place) => set(each, {class: place < filled ? "held" : "free"}));
    set(this.node, {viewBox: `0 0 ${Math.max(wide, 8) * SIZE} ${Math.ceil(drawn / A_ROW) * SIZE}`,
                    "aria-label": `${held} of ${slots} slots hold updates`});
  }
}

// Make `old` equal to `fresh` where the two differ, so that what stays keeps its place and its focus.
export function morph(old, fresh) {
  set(old, Object.fromEntries([...fresh.attributes].map((each) => [each.name, each.value])));
  if (old.childNodes.length !== fresh.childNodes.length ||
      [...old.childNodes].some((node, place) => node.nodeName !== fresh.childNodes[place].nodeName)) {
    old.replaceChildren(...fresh.childNodes);
    return;
  }
  [...old.childNodes].forEach((node, place) => {
    const other = fresh.childNodes[place];
    if (node.nodeType === Node.ELEMENT_NODE) morph(node, other);
    else if (node.data !== other.data) node.data = other.data;
  });
}
