// Lanes over time: what each rank sends when, in the colour of the chunk; the critical path is framed.

const NAMES = 34;
const MOST_HIGH = 15;

H.paintGantt = () => {
  const side = H.sides[H.state.side];
  const canvas = H.$('gantt');
  const { sends, flows } = side.plan;
  const box = canvas.parentElement;
  H.$('ganttnote').textContent = noteOf(side);
  canvas.hidden = !sends || sends.scope === 'chunks';
  if (canvas.hidden || !box.clientWidth) return;
  const lanes = lanesOf(side);
  const tall = Math.max(3, Math.min(MOST_HIGH, 130 / lanes.length));
  const [w, h] = [box.clientWidth, lanes.length * tall + 2];
  const dpr = Math.min(2, window.devicePixelRatio || 1);
  canvas.style.height = `${h}px`;
  canvas.width = Math.round(w * dpr);
  canvas.height = Math.round(h * dpr);
  const g = canvas.getContext('2d');
  g.setTransform(dpr, 0, 0, dpr, 0, 0);
  g.clearRect(0, 0, w, h);
  const at = { g, side, lanes, tall, scale: (w - NAMES - 2) / (H.total() || 1) };
  canvas.bars = at;
  names(at);
  bars(at, w);
  if (flows) path(at);
  const x = NAMES + H.clock() * at.scale;
  g.fillStyle = H.css.r2;
  g.fillRect(x - 1, 0, 2, h);
};

function noteOf({ plan }) {
  if (!plan.sends || plan.sends.scope === 'chunks') return 'The sends are too many to be shown one by one.';
  return plan.flows
    ? 'Each bar is a send: thin while its first byte is under way, then as its bytes flow. Framed: the critical path, each send of which waited for the one before.'
    : 'Too many sends to be simulated here: bars are steps with a barrier after each.';
}

// One lane for each rank of the group and each pipeline in which it sends.
function lanesOf(side) {
  const key = `${H.state.group}`;
  if (side.lanesKey === key) return side.lanes;
  const { sends, steps } = side.plan;
  const found = new Map();
  for (let s = 0; s < steps; s++) {
    for (const r of H.rowsOf(side, s)) {
      const name = sends.src[r] * 65536 + sends.lane[r];
      if (!found.has(name)) found.set(name, { vertex: sends.src[r], lane: sends.lane[r], rows: [] });
      found.get(name).rows.push([r, s]);
    }
  }
  const rank = (v) => (side.localOf[v] >= 0 ? side.localOf[v] : 1e6 + v);
  side.lanes = [...found.values()].sort((a, b) => rank(a.vertex) - rank(b.vertex) || a.lane - b.lane);
  side.lanesKey = key;
  return side.lanes;
}

function names({ g, side, lanes, tall }) {
  g.font = `10px ${H.css.font}`;
  g.textAlign = 'right';
  g.textBaseline = 'middle';
  g.fillStyle = H.css.muted;
  let last = -Infinity;
  lanes.forEach(({ vertex }, i) => {
    const y = Math.max(6, (i + 0.5) * tall);
    if ((i && lanes[i - 1].vertex === vertex) || y - last < 11) return;
    last = y;
    g.fillText(side.localOf[vertex] >= 0 ? String(side.localOf[vertex]) : `sw ${vertex - side.net.chips}`, NAMES - 5, y);
  });
}

// When a send was ready, when its first byte left its route, and when it was received.
H.timesOf = ({ plan }, row, step) => {
  const { flows, ends } = plan;
  if (flows) return [flows.ready[row], flows.begin[row], flows.end[row]];
  const from = step ? ends[step - 1] : 0;
  return [from, from, ends[step]];
};

function bars(at, w) {
  const { g, side, lanes, tall, scale } = at;
  const { plan } = side;
  const gap = tall > 6 ? 1 : 0;
  lanes.forEach(({ vertex, rows }, i) => {
    const mine = H.state.rank < 0 || side.localOf[vertex] === H.state.rank;
    if (i && lanes[i - 1].vertex !== vertex && tall > 4) {
      g.fillStyle = H.css.rim;
      g.fillRect(NAMES, i * tall - 0.5, w, 0.6);
    }
    for (const [r, s] of rows) {
      const [ready, begin, end] = H.timesOf(side, r, s);
      const moves = H.state.chunk >= 0 && H.moves(side, r, H.state.chunk);
      g.globalAlpha = mine && (H.state.chunk < 0 || moves) ? 1 : 0.25;
      g.fillStyle = H.css.muted;
      g.fillRect(NAMES + ready * scale, (i + 0.5) * tall - 0.7, (begin - ready) * scale, 1.4);
      g.fillStyle = H.chunkColour(H.hue(plan, plan.sends.chunk[r]));
      const wide = Math.max(0.8, (end - begin) * scale - (tall > 6 ? 0.8 : 0));
      g.fillRect(NAMES + begin * scale, i * tall + gap, wide, tall - 2 * gap);
      if (moves) {
        g.strokeStyle = H.css.r2;
        g.lineWidth = 1.6;
        g.strokeRect(NAMES + begin * scale, i * tall + gap, wide, tall - 2 * gap);
      }
    }
  });
  g.globalAlpha = 1;
}

function path({ g, side, lanes, tall, scale }) {
  const { flows, sends } = side.plan;
  const number = new Map(lanes.map(({ vertex, lane }, i) => [vertex * 65536 + lane, i]));
  g.strokeStyle = H.css.ink;
  g.lineWidth = tall > 6 ? 2 : 1.2;
  for (const r of flows.path) {
    const i = number.get(sends.src[r] * 65536 + sends.lane[r]);
    if (i === undefined) continue;
    const wide = Math.max(1.5, (flows.end[r] - flows.ready[r]) * scale - 1);
    g.strokeRect(NAMES + flows.ready[r] * scale + 0.5, i * tall + 1, wide, Math.max(1.5, tall - 2));
  }
}

// A click on a bar goes to its step and follows its chunk.
H.listenToGantt = () => {
  const canvas = H.$('gantt');
  canvas.addEventListener('click', (e) => {
    const at = canvas.bars;
    if (!at) return;
    const box = canvas.getBoundingClientRect();
    const lane = at.lanes[Math.floor((e.clientY - box.top) / at.tall)];
    const t = (e.clientX - box.left - NAMES) / at.scale;
    const hit = lane && lane.rows.find(([r, s]) => {
      const [ready, , end] = H.timesOf(at.side, r, s);
      return ready <= t && t <= end;
    });
    if (!hit) return;
    const [row, step] = hit;
    H.stop();
    const moment = H.sides.length > 1 ? H.lowerBound(H.ticks, at.side.plan.ends[step] * (1 - 1e-9)) : step;
    H.set({ step: moment, chunk: at.side.plan.sends.chunk[row] }, 'all');
  });
};
