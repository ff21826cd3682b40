// A layout on a canvas: links by load with the busiest on top, then chips, then words.

const MARGIN = 26;
const LARGEST_PITCH = 150; // pixels
const SILHOUETTE = 1.64; // a turned box is this part of the ball around it, twice
const BUCKETS = 8;
const NAMED = 56; // pixels of a switch's box in which its own name has room
const MOST_THICK = 5000; // pieces that are still drawn thicker than one pixel
const PATH = 512; // pieces of one path
const MOST_DISCS = 700; // chips in space that are still drawn as discs
const MOST_DEPTH = 4000; // pieces that are still sorted by depth
const BEHIND = 0.12; // strength of the links behind a followed chunk, where they are many
const DEPTHS = [0.22, 0.5, 1];

// Screen coordinates of all vertices and points, and the scale in pixels per pitch.
H.project = (stage) => {
  const { layout, w, h } = stage;
  const s = H.state;
  const [wide, tall] = [layout.high[0] - layout.low[0], layout.high[1] - layout.low[1]];
  const room = layout.spin
    ? (Math.min(w, h) - MARGIN) / SILHOUETTE / layout.radius
    : Math.min((w - 2 * MARGIN) / (wide || 1), (h - 2 * MARGIN) / (tall || 1));
  const k = Math.min(room, LARGEST_PITCH) * s.zoom;
  const [cy, sy, cp, sp] = layout.spin
    ? [Math.cos(s.yaw), Math.sin(s.yaw), Math.cos(s.pitch), Math.sin(s.pitch)]
    : [1, 0, 1, 0];
  const [mx, my, mz] = layout.middle;
  const [ox, oy] = [w / 2 + s.panx * w, h / 2 + s.pany * h];
  const turn = (from, to, count) => {
    for (let i = 0, j = 0; j < count; i += 3, j += 1) {
      const x = from[i] - mx;
      const y = from[i + 1] - my;
      const z = from[i + 2] - mz;
      const depth = -sy * x + cy * z;
      to[2 * j] = ox + k * (cy * x + sy * z);
      to[2 * j + 1] = oy + k * (cp * y - sp * depth);
      if (to === stage.XY) stage.Z[j] = sp * y + cp * depth;
    }
  };
  const count = layout.at.length / 3;
  if (!stage.XY || stage.XY.length !== 2 * count) {
    stage.XY = new Float32Array(2 * count);
    stage.Z = new Float32Array(count);
  }
  if (!stage.P || stage.P.length !== (layout.points.length / 3) * 2) {
    stage.P = new Float32Array((layout.points.length / 3) * 2);
  }
  turn(layout.at, stage.XY, count);
  turn(layout.points, stage.P, layout.points.length / 3);
  stage.k = k;
  stage.turnPoint = (x, y, z) => {
    const out = [0, 0];
    turn([x, y, z], out, 1);
    return out;
  };
  const lanes = !layout.spin && k >= 18 && layout.pieces <= 6000;
  stage.lane = lanes ? Math.max(1.2, Math.min(9, k * 0.075)) : 0;
};

// Pieces sorted by bin and by solid or dashed: pieces of bucket b are order[start[b]] to order[start[b + 1] - 1].
// Without lanes the two directions of a cable are one line with the larger load.
function orderOf(stage, step) {
  const { layout, side, lane } = stage;
  const key = `${step < 0 || !side.plan.load ? -1 : side.plan.key[step]}:${lane ? 1 : 0}`;
  if (layout.orders.has(key)) return layout.orders.get(key);
  const bins = H.binsOf(side, step);
  const { mate } = side.net;
  const bucket = new Int16Array(layout.pieces);
  const start = new Uint32Array(2 * BUCKETS + 2);
  const whole = !layout.links.some((l, p) => layout.dashed[p]);
  for (let p = 0; p < layout.pieces; p++) {
    const l = layout.links[p];
    const m = mate[l];
    let bin = bins[l];
    let drop = false;
    if (!lane && m >= 0 && !layout.tickOf.has(p)) {
      drop = m < l;
      bin = Math.max(bin, bins[m]);
    }
    const dead = side.rate[l] === 0;
    bucket[p] = drop ? -1 : dead ? 2 * BUCKETS : 2 * bin + (whole ? 0 : layout.dashed[p]);
    if (!drop) start[bucket[p] + 1] += 1;
  }
  for (let b = 0; b <= 2 * BUCKETS; b++) start[b + 1] += start[b];
  const at = start.slice();
  const order = new Uint32Array(start[2 * BUCKETS + 1]);
  for (let p = 0; p < layout.pieces; p++) if (bucket[p] >= 0) order[at[bucket[p]]++] = p;
  const found = { start, order };
  if (layout.orders.size > 64) layout.orders.clear();
  layout.orders.set(key, found);
  return found;
}

// The points of a piece, moved to its right by `aside` pixels.
H.linePoints = (stage, piece, aside) => {
  const { layout, P } = stage;
  const line = [];
  for (let i = layout.starts[piece]; i < layout.starts[piece + 1]; i++) line.push([P[2 * i], P[2 * i + 1]]);
  return aside ? shifted(line, aside) : line;
};

function shifted(line, aside) {
  const normals = line.slice(1).map(([x, y], i) => {
    const [dx, dy] = [x - line[i][0], y - line[i][1]];
    const size = Math.hypot(dx, dy) || 1;
    return [-dy / size, dx / size];
  });
  return line.map(([x, y], i) => {
    const a = normals[Math.max(0, i - 1)];
    const b = normals[Math.min(normals.length - 1, i)];
    const [nx, ny] = [a[0] + b[0], a[1] + b[1]];
    const scale = (2 * aside) / Math.max(0.6, nx * nx + ny * ny);
    return [x + nx * scale, y + ny * scale];
  });
}

H.trace = (g, line) => {
  g.moveTo(line[0][0], line[0][1]);
  for (let i = 1; i < line.length; i++) g.lineTo(line[i][0], line[i][1]);
};

function paintLinks(stage, step) {
  const { g, layout, k, lane, P } = stage;
  const { start, order } = orderOf(stage, step);
  const { starts } = layout;
  const thin = Math.max(0.5, Math.min(1.2, k * 0.04));
  const grow = Math.max(0.22, Math.min(layout.spin ? 0.25 : 0.42, k * 0.012));
  // In space what is behind is paler, as far as there is time for it.
  const depths = layout.spin && layout.pieces <= MOST_DEPTH ? 3 : 1;
  // Lines of one pixel are drawn about ten times as fast as thicker ones: 12,288 in 5 ms without a GPU.
  const fine = layout.pieces > MOST_THICK;
  for (let depth = 0; depth < depths; depth++) {
    g.globalAlpha = (depths > 1 ? DEPTHS[depth] : 1) * (fine && H.state.chunk >= 0 ? BEHIND : 1);
    for (let b = 0; b <= 2 * BUCKETS; b++) {
      if (start[b] === start[b + 1]) continue;
      const bin = b >> 1;
      const dead = b === 2 * BUCKETS;
      g.setLineDash(dead ? [1, 4] : b & 1 && k >= 12 && !fine ? [4, 2.5] : []);
      g.lineWidth = fine ? 1 / stage.dpr : bin && !dead ? Math.min(thin + 0.3 + bin * grow, Math.max(0.9, k * 0.1)) : thin;
      g.strokeStyle = dead ? H.css.muted : H.css.loads[bin];
      g.beginPath();
      for (let i = start[b]; i < start[b + 1]; i++) {
        const p = order[i];
        if (depths > 1 && depthOf(stage, p) !== depth) continue;
        // Long paths cost more than their parts.
        if (!fine && i % PATH === PATH - 1) {
          g.stroke();
          g.beginPath();
        }
        if (lane) {
          H.trace(g, H.linePoints(stage, p, lane));
        } else {
          let j = 2 * starts[p];
          g.moveTo(P[j], P[j + 1]);
          for (j += 2; j < 2 * starts[p + 1]; j += 2) g.lineTo(P[j], P[j + 1]);
        }
      }
      g.stroke();
    }
  }
  g.globalAlpha = 1;
  g.setLineDash([]);
}

// 0 for what lies in the back third of the picture, 2 for the front third.
function depthOf({ layout, Z }, piece) {
  const { src, dst } = layout.net;
  const l = layout.links[piece];
  const part = (Z[src[l]] + Z[dst[l]]) / 2 / layout.radius;
  return part < -0.22 ? 2 : part > 0.22 ? 0 : 1;
}

function paintFrames(stage) {
  const { g, layout, k } = stage;
  if (layout.spin) return;
  g.fillStyle = H.css.panel;
  g.strokeStyle = H.css.rim;
  g.lineWidth = 1;
  for (const f of layout.frames) {
    const [x, y] = stage.turnPoint(f.x - f.w / 2, f.y - f.h / 2, 0);
    g.beginPath();
    g.roundRect(x, y, f.w * k, f.h * k, Math.min(8, k * 0.3));
    g.fill();
    g.stroke();
  }
}

// ---- chips

H.boxOf = (stage, v) => {
  const [w, h] = stage.layout.sizes.get(v) || stage.layout.box;
  const shrink = stage.layout.spin ? 0.9 : 1;
  return [w * stage.k * shrink, h * stage.k * shrink];
};

function paintChips(stage, held) {
  const { layout, side, XY } = stage;
  const { net } = side;
  const [, high] = H.boxOf(stage, 0);
  const part = H.progress(side, held);
  if (layout.spin || high < 7 || net.chips > 2500) paintDots(stage, part);
  else {
    const order = Array.from({ length: net.chips }, (_, v) => v).filter((v) => !layout.hidden[v]);
    const widest = widestName(stage, order);
    for (const v of order) paintBox(stage, v, part[v], held, widest);
  }
  for (let v = net.chips; v < net.vertices; v++) if (!layout.hidden[v]) paintSwitch(stage, v);
  const followed = H.state.rank >= 0 ? side.vertexOf(H.state.group, H.state.rank) : -1;
  for (const [v, colour] of [[followed, H.css.r2], [stage.number === H.state.side ? H.state.pick : -1, H.css.ink]]) {
    if (v < 0 || layout.hidden[v]) continue;
    const [w, h] = H.boxOf(stage, v).map((d) => Math.max(9, d + 5));
    stage.g.strokeStyle = colour;
    stage.g.lineWidth = 2.2;
    stage.g.beginPath();
    stage.g.roundRect(XY[2 * v] - w / 2, XY[2 * v + 1] - h / 2, w, h, 5);
    stage.g.stroke();
  }
}

// Small chips: squares from pale to dark by what they hold; in space those behind first, with a rim.
function paintDots(stage, part) {
  const { g, layout, side, XY, Z } = stage;
  const [w, h] = H.boxOf(stage, 0);
  const [dx, dy] = layout.spin ? [2.4, 2.4] : [Math.max(1.6, Math.min(w, 9)), Math.max(1.6, Math.min(h, 9))];
  if (layout.spin && side.net.chips <= MOST_DISCS) {
    const size = Math.max(2, Math.min(7, stage.k * 0.11));
    const order = Array.from({ length: side.net.chips }, (_, v) => v).sort((a, b) => Z[b] - Z[a]);
    g.lineWidth = 1;
    for (const v of order) {
      g.beginPath();
      g.arc(XY[2 * v], XY[2 * v + 1], size * (1 - (0.25 * Z[v]) / layout.radius), 0, 7);
      g.fillStyle = H.css.chip;
      g.fill();
      g.globalAlpha = 0.15 + 0.85 * part[v];
      g.fillStyle = H.css.ink;
      g.fill();
      g.globalAlpha = 1;
      g.strokeStyle = H.css.bg;
      g.stroke();
    }
    return;
  }
  const fill = [];
  for (let v = 0; v < side.net.chips; v++) {
    if (layout.hidden[v]) continue;
    const shade = Math.min(5, Math.ceil(part[v] * 5 - 1e-6));
    (fill[shade] = fill[shade] || []).push(v);
  }
  fill.forEach((list, shade) => {
    g.globalAlpha = 0.3 + 0.14 * shade;
    g.fillStyle = H.css.ink;
    g.beginPath();
    for (const v of list) g.rect(XY[2 * v] - dx / 2, XY[2 * v + 1] - dy / 2, dx, dy);
    g.fill();
  });
  g.globalAlpha = 1;
}

const nameOf = ({ layout, side }, v) => (layout.names.get(v) || [H.place(side.net, v)])[0];

// The width of the widest name of a chip, in parts of the font's size.
function widestName(stage, chips) {
  const { g, layout } = stage;
  if (layout.widest === undefined) {
    g.font = `10px ${H.css.font}`;
    layout.widest = Math.max(...chips.map((v) => g.measureText(nameOf(stage, v)).width)) / 10;
  }
  return layout.widest;
}

// Either all chips have their names or none has: where one has no room, all go without.
function paintBox(stage, v, part, held, widest) {
  const { g, XY } = stage;
  const [w, h] = H.boxOf(stage, v);
  const [left, top] = [XY[2 * v] - w / 2, XY[2 * v + 1] - h / 2];
  g.beginPath();
  g.roundRect(left, top, w, h, Math.min(4, h / 5));
  g.fillStyle = H.css.chip;
  g.fill();
  g.strokeStyle = H.css.edge;
  g.lineWidth = 1;
  g.stroke();
  const cells = h >= 21 && w >= 26 ? H.cellsOf(stage, v, held) : null;
  const bar = h >= 15 ? Math.max(3, h * (cells ? 0.36 : 0.18)) : 0;
  if (cells) {
    paintCells(g, cells, left + 3, top + h - bar - 3, w - 6, bar);
  } else if (bar) {
    g.fillStyle = H.css.blank;
    g.fillRect(left + 2, top + h - bar - 2, w - 4, bar);
    g.fillStyle = H.css.ink;
    g.globalAlpha = 0.75;
    g.fillRect(left + 2, top + h - bar - 2, (w - 4) * part, bar);
    g.globalAlpha = 1;
  } else {
    g.fillStyle = H.css.ink;
    g.globalAlpha = 0.12 + 0.6 * part;
    g.fillRect(left + 1.5, top + 1.5, w - 3, h - 3);
    g.globalAlpha = 1;
  }
  const size = Math.min(12, (h - bar) * 0.66);
  if (widest * textSize(size) > w - 4) return;
  H.fitText(g, [nameOf(stage, v)], left + w / 2, top + (h - bar) / 2 - (bar ? 0.5 : 0), w - 3, size);
}

// The cells of a chip as its row of the matrix: what is there, in the colour of its chunk.
function paintCells(g, cells, left, top, wide, tall) {
  const each = wide / cells.length;
  cells.forEach(({ part, hue, live }, i) => {
    const x = left + i * each;
    g.fillStyle = H.css.blank;
    g.fillRect(x, top, each, tall);
    if (part > 0) {
      g.globalAlpha = live ? 1 : 0.25;
      g.fillStyle = H.chunkColour(hue);
      g.fillRect(x, top + tall * (1 - part), each, tall * part);
      g.globalAlpha = 1;
    }
    if (each > 3) {
      g.strokeStyle = H.css.grid;
      g.lineWidth = 0.7;
      g.strokeRect(x, top, each, tall);
    }
  });
}

function paintSwitch(stage, v) {
  const { g, layout, side, XY } = stage;
  const [w, h] = H.boxOf(stage, v);
  const [x, y] = [XY[2 * v], XY[2 * v + 1]];
  g.beginPath();
  g.roundRect(x - w / 2, y - h / 2, w, Math.max(3, h), 4);
  g.fillStyle = H.css.switch;
  g.fill();
  g.strokeStyle = H.css.edge;
  g.lineWidth = 1;
  g.stroke();
  H.fitText(g, layout.names.get(v) || [H.place(side.net, v)], x, y, w - 6, Math.min(12, h * 0.62));
}

// Words are never smaller than can be read.
const textSize = (size) => Math.max(8, size);

// The first of some texts that has room, at a size that can be read; else nothing.
H.fitText = (g, texts, x, y, room, size) => {
  const px = textSize(size);
  if (size < 6.5) return;
  g.font = `${px}px ${H.css.font}`;
  g.textAlign = 'center';
  g.textBaseline = 'middle';
  const text = texts.find((t) => g.measureText(t).width <= room);
  if (text === undefined) return;
  g.fillStyle = H.css.ink;
  g.fillText(text, x, y + 0.5);
};

function paintTexts(stage) {
  const { g, layout, k } = stage;
  g.textBaseline = 'middle';
  let last = null;
  for (const t of layout.texts) {
    if (t.unless !== undefined && H.boxOf(stage, t.unless)[0] > NAMED) continue;
    const size = t.strong ? 12 : Math.max(9, Math.min(11, k * 0.28));
    const [x, low] = stage.turnPoint(t.x, t.y, t.z || 0);
    const y = low + (t.lift || 0);
    g.font = `${t.strong ? 600 : 400} ${size}px ${H.css.font}`;
    const half = g.measureText(t.text).width / 2;
    const now = { x, y, half };
    // Crowded words are left out rather than set over each other.
    if (last && Math.abs(last.y - y) < size && Math.abs(last.x - x) < last.half + half + 3) continue;
    last = now;
    if (t.pad) {
      g.fillStyle = H.css.bg;
      g.fillRect(x - (t.align === 'left' ? 2 : half + 2), y - size * 0.7, 2 * half + 4, size * 1.4);
    }
    g.textAlign = t.align;
    g.fillStyle = t.strong ? H.css.ink : H.css.muted;
    g.fillText(t.text, x, y);
  }
}

H.paint = (stage) => {
  const { g, w, h, dpr, side } = stage;
  if (!w || !h) return;
  stage.view = H.viewOf(side);
  stage.layout = H.layoutOf(side, stage.view);
  H.project(stage);
  const { step, moving } = H.now(side);
  g.setTransform(dpr, 0, 0, dpr, 0, 0);
  g.fillStyle = H.css.bg;
  g.fillRect(0, 0, w, h);
  paintFrames(stage);
  paintLinks(stage, moving);
  H.paintArrows(stage, moving);
  paintChips(stage, H.phase < 1 ? Math.max(-1, step - 1) : H.held(side));
  paintTexts(stage);
  H.paintSteps(stage, moving);
  H.paintPackets(stage, moving);
};
