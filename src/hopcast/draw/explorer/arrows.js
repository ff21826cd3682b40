// What moves in the current step: arrows on links, packets with their chunks, the journey of a followed chunk, and
// the sends of a followed rank.

const MOST_ARROWS = 4000;
const MOST_JOURNEY = 400;
const MOST_TIPS = 60;
const MOST_PACKETS = 700;
const MOST_LABELLED = 130;

// The way of a send on the screen, or its first link: one line.
function sendLine(stage, row, first = false) {
  const { layout, side, XY, lane } = stage;
  const { src, dst } = side.plan.sends;
  const ways = stage.view.direct ? null : H.waysOf(side, row);
  if (ways && ways.length) {
    const line = [];
    for (const link of first ? ways[0].slice(0, 1) : ways[0]) for (const p of layout.piecesOf[link]) line.push(...H.linePoints(stage, p, lane));
    if (line.length > 1) return line;
  }
  const [a, b] = [src[row], dst[row]];
  return chord([XY[2 * a], XY[2 * a + 1]], [XY[2 * b], XY[2 * b + 1]], stage);
}

// From edge to edge of two boxes, bent a little to the right so that there and back are two lines.
function chord(a, b, stage) {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  const far = Math.hypot(dx, dy) || 1;
  const bend = Math.min(16, far * 0.1);
  const middle = [(a[0] + b[0]) / 2 - (dy / far) * bend, (a[1] + b[1]) / 2 + (dx / far) * bend];
  const [w, h] = [stage.layout.box[0] * stage.k * 0.5 + 3, stage.layout.box[1] * stage.k * 0.5 + 3];
  const off = (from, to) => {
    const [ux, uy] = [to[0] - from[0], to[1] - from[1]];
    const t = Math.min(w / (Math.abs(ux) || 1e-6), h / (Math.abs(uy) || 1e-6), 0.45);
    return [from[0] + ux * t, from[1] + uy * t];
  };
  const line = [off(a, middle)];
  for (let t = 0.15; t < 0.9; t += 0.15) {
    line.push([0, 1].map((d) => (1 - t) ** 2 * a[d] + 2 * t * (1 - t) * middle[d] + t * t * b[d]));
  }
  line.push(off(b, middle));
  return line;
}

// A point of a line at a part of its length, and the direction there.
function along(line, part) {
  const sizes = line.slice(1).map(([x, y], i) => Math.hypot(x - line[i][0], y - line[i][1]));
  let left = part * sizes.reduce((a, b) => a + b, 0);
  let i = 0;
  while (i < sizes.length - 1 && left > sizes[i]) {
    left -= sizes[i];
    i += 1;
  }
  const t = sizes[i] ? Math.min(1, left / sizes[i]) : 0;
  const [a, b] = [line[i], line[i + 1]];
  return { x: a[0] + t * (b[0] - a[0]), y: a[1] + t * (b[1] - a[1]), turn: Math.atan2(b[1] - a[1], b[0] - a[0]) };
}

function tip(g, { x, y, turn }, size) {
  const [c, s] = [Math.cos(turn) * size, Math.sin(turn) * size];
  g.moveTo(x + c * 0.6, y + s * 0.6);
  g.lineTo(x - c * 0.5 - s * 0.5, y - s * 0.5 + c * 0.5);
  g.lineTo(x - c * 0.5 + s * 0.5, y - s * 0.5 - c * 0.5);
  g.closePath();
}

H.paintArrows = (stage, step) => {
  if (step < 0) return;
  const { side, layout, k } = stage;
  const followed = H.state.chunk >= 0 || H.state.rank >= 0;
  stage.g.globalAlpha = followed ? 0.5 : 1;
  if (stage.view.direct) paintDirect(stage, step);
  else if (side.plan.load && !layout.spin && k >= 16 && layout.pieces <= MOST_ARROWS) paintTips(stage, step);
  stage.g.globalAlpha = 1;
  if (H.state.chunk >= 0) paintJourney(stage, step);
  if (H.state.rank >= 0) paintRank(stage, step);
};

// A tip in the middle of every link that carries bytes.
function paintTips(stage, step) {
  const { g, side, layout, lane, k } = stage;
  const bins = H.binsOf(side, step);
  const size = Math.max(4, Math.min(9, k * 0.12));
  for (let bin = 1; bin < 8; bin++) {
    g.beginPath();
    for (let p = 0; p < layout.pieces; p++) {
      if (bins[layout.links[p]] !== bin) continue;
      const line = H.linePoints(stage, p, lane);
      if (Math.hypot(line[0][0] - line[1][0], line[0][1] - line[1][1]) > 6) tip(g, along(line, 0.5), size);
    }
    g.fillStyle = H.css.loads[bin];
    g.fill();
  }
}

// Sends straight from rank to rank, in the colour of their chunk.
function paintDirect(stage, step) {
  const { g, side } = stage;
  const { sends } = side.plan;
  for (const row of H.rowsOf(side, step).slice(0, MOST_ARROWS)) {
    const line = sendLine(stage, row);
    g.strokeStyle = g.fillStyle = H.chunkColour(H.hue(side.plan, sends.chunk[row]));
    g.lineWidth = 1.8;
    g.beginPath();
    H.trace(g, line);
    g.stroke();
    g.beginPath();
    tip(g, along(line, 0.97), 9);
    g.fill();
  }
}

// The followed chunk: what is behind it solid, this step thick, what is to come dashed. Of very many sends those to
// come are left out, and tips and numbers of all but the current step.
function paintJourney(stage, step) {
  const { g, side, k } = stage;
  const sends = H.journey(side, H.state.chunk);
  const many = sends.length > MOST_JOURNEY;
  const tips = sends.length <= MOST_TIPS;
  const whole = [];
  for (const { row, step: at } of sends) {
    const when = at < step ? 0 : at === step ? 2 : 1;
    if (when !== 1 || !many) (whole[when] = whole[when] || []).push([sendLine(stage, row), at]);
  }
  g.strokeStyle = g.fillStyle = H.css.r2;
  whole.forEach((lines, when) => {
    g.globalAlpha = [many ? 0.5 : 1, 0.55, 1][when];
    g.lineWidth = many && when === 0 ? 1 / stage.dpr : [2.4, 1.3, many ? 2 : 4][when];
    g.setLineDash(when === 1 ? [5, 4] : []);
    g.beginPath();
    for (const [line] of lines) H.trace(g, line);
    g.stroke();
    g.setLineDash([]);
    if (tips || (when === 2 && lines.length <= MOST_TIPS)) {
      g.beginPath();
      for (const [line] of lines) tip(g, along(line, 0.62), Math.min(k * 0.5, when === 2 ? 11 : 8));
      g.fill();
    }
    g.fillStyle = H.css.r2;
  });
  g.globalAlpha = 1;
}

// The steps of the followed chunk, s0, s1, ..., over chips and lines; in the current step the packet itself stands there.
H.paintSteps = (stage, step) => {
  const { g, side, k } = stage;
  if (step < 0 || H.state.chunk < 0 || k < 58) return;
  const sends = H.journey(side, H.state.chunk);
  if (sends.length > MOST_TIPS) return;
  for (const { row, step: at } of sends) {
    if (at !== step) label(g, along(sendLine(stage, row), 0.4), `s${at}`, at < step ? H.css.r2 : H.css.muted, 10);
  }
};

// A word in a small disc.
function label(g, { x, y }, text, colour, size) {
  g.font = `600 ${size}px ${H.css.font}`;
  const half = Math.max(size * 0.72, g.measureText(text).width / 2 + 3);
  g.beginPath();
  g.roundRect(x - half, y - size * 0.72, 2 * half, size * 1.44, size * 0.5);
  g.fillStyle = H.css.bg;
  g.fill();
  g.strokeStyle = colour;
  g.lineWidth = 1.2;
  g.stroke();
  g.fillStyle = H.css.ink;
  g.textAlign = 'center';
  g.textBaseline = 'middle';
  g.fillText(text, x, y + 0.5);
}

// The followed rank: what it sends solid, what it receives dashed.
function paintRank(stage, step) {
  const { g, side } = stage;
  const { sends } = side.plan;
  if (!sends) return;
  const me = side.vertexOf(H.state.group, H.state.rank);
  for (const row of H.ofRank(side, step, H.state.rank)) {
    const out = sends.src[row] === me;
    const line = sendLine(stage, row);
    g.strokeStyle = g.fillStyle = out ? H.css.r2 : H.css.r1;
    g.lineWidth = 3;
    g.setLineDash(out ? [] : [6, 4]);
    g.beginPath();
    H.trace(g, line);
    g.stroke();
    g.setLineDash([]);
    g.beginPath();
    tip(g, along(line, 0.55), 11);
    g.fill();
  }
}

// Packets: where each send's chunks are at this moment of the step. When nothing moves they stand on the first link
// of their way, one behind the other, if they have room there.
H.paintPackets = (stage, step) => {
  const { side, k } = stage;
  const { sends } = side.plan;
  if (step < 0 || !sends || sends.scope === 'chunks' || k < 22 || stage.layout.spin) return;
  const followed = H.state.chunk;
  const rows = [];
  for (let row = sends.start[step]; row < sends.start[step + 1]; row++) {
    const mine = followed < 0 || (H.moves(side, row, followed) && H.inGroup(side, sends.src[row], H.state.group));
    if (mine && !stage.layout.hidden[sends.src[row]]) rows.push(row);
  }
  const size = Math.max(6, Math.min(16, k * 0.14));
  const found = [];
  const add = (row, { x, y }) => found.push({
    x, y, size, chunk: followed < 0 ? sends.chunk[row] : followed, count: followed < 0 ? sends.count[row] : 1,
  });
  if (H.phase < 1) {
    if (rows.length <= MOST_PACKETS) for (const row of rows) add(row, along(sendLine(stage, row), 0.08 + 0.84 * H.phase));
  } else if (rows.length <= MOST_LABELLED) {
    for (const queue of queues(stage, rows)) {
      const line = sendLine(stage, queue[0], true);
      if (length(line) < (size * 1.3 + 2) * (queue.length + 1)) continue;
      queue.forEach((row, i) => add(row, along(line, queue.length === 1 ? (stage.view.direct ? 0.5 : 0.42) : (i + 1) / (queue.length + 1))));
    }
  }
  paintAll(stage, found);
};

// Sends by the link that they leave on.
function queues({ side, view }, rows) {
  const found = new Map();
  for (const row of rows) {
    const ways = view.direct ? null : H.waysOf(side, row);
    const key = ways && ways[0] ? ways[0][0] : `row ${row}`;
    found.set(key, [...(found.get(key) || []), row]);
  }
  return found.values();
}

const length = (line) => line.slice(1).reduce((sum, [x, y], i) => sum + Math.hypot(x - line[i][0], y - line[i][1]), 0);

// Packets bear numbers where all numbers have room.
function paintAll({ g, side }, packets) {
  if (!packets.length) return;
  const { plan } = side;
  const { size } = packets[0];
  g.font = `600 ${Math.max(8, size * 0.68)}px ${H.css.font}`;
  for (const p of packets) {
    p.text = p.count > 1 ? (p.count === plan.chunks ? 'all' : `${p.chunk}-${(p.chunk + p.count - 1) % plan.chunks}`) : String(p.chunk);
    p.wide = Math.max(size, g.measureText(p.text).width + 5);
  }
  const named = size >= 11 && packets.length <= MOST_LABELLED && !packets.some((p, i) => packets.slice(0, i).some((q) => (
    Math.abs(p.x - q.x) < (p.wide + q.wide) / 2 && Math.abs(p.y - q.y) < size)));
  for (const { x, y, chunk, text, wide } of packets) {
    const across = named ? wide : size * 0.85;
    const down = named ? size : size * 0.85;
    g.beginPath();
    g.roundRect(x - across / 2, y - down / 2, across, down, 3);
    g.fillStyle = H.chunkColour(H.hue(plan, chunk));
    g.fill();
    g.strokeStyle = H.css.ink;
    g.lineWidth = 0.8;
    g.stroke();
    if (!named) continue;
    g.fillStyle = '#10151b';
    g.textAlign = 'center';
    g.textBaseline = 'middle';
    g.fillText(text, x, y + 0.5);
  }
}
