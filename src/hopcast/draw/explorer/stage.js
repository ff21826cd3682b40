// One picture of a network with its pointer: drag, pinch, wheel, and what is under the pointer.

const NEAR = 9; // pixels within which a link counts as under the pointer

H.stages = [];

H.addStage = (side, parent) => {
  const canvas = H.make('canvas', {
    tabindex: 0, role: 'img', class: 'view', id: `view${side.number}`,
    'aria-label': `${side.name}: chips and links coloured by load. Comma and full stop move through the chips; shift and arrows turn.`,
  });
  const caption = H.make('figcaption', { id: `caption${side.number}` });
  const figure = H.make('figure', { class: 'stage' }, canvas, caption);
  parent.append(figure);
  const stage = { side, number: side.number, canvas, caption, g: canvas.getContext('2d'), w: 0, h: 0, dpr: 1 };
  H.stages.push(stage);
  listen(stage);
  new ResizeObserver(() => H.resize(stage)).observe(canvas);
  return stage;
};

H.resize = (stage) => {
  const { canvas } = stage;
  stage.dpr = Math.min(2, window.devicePixelRatio || 1);
  stage.w = canvas.clientWidth;
  stage.h = canvas.clientHeight;
  canvas.width = Math.round(stage.w * stage.dpr);
  canvas.height = Math.round(stage.h * stage.dpr);
  H.changed('camera');
};

function listen(stage) {
  const { canvas } = stage;
  const pointers = new Map();
  let moved = 0;
  canvas.addEventListener('pointerdown', (e) => {
    pointers.set(e.pointerId, [e.clientX, e.clientY]);
    moved = 0;
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener('pointermove', (e) => {
    if (!pointers.has(e.pointerId)) {
      hover(stage, e);
      return;
    }
    const [x, y] = pointers.get(e.pointerId);
    const [dx, dy] = [e.clientX - x, e.clientY - y];
    moved += Math.abs(dx) + Math.abs(dy);
    if (pointers.size === 2) pinch(pointers, e);
    else if (moved > 3) drag(stage, dx, dy);
    pointers.set(e.pointerId, [e.clientX, e.clientY]);
  });
  const over = (e) => {
    if (pointers.delete(e.pointerId) && moved <= 3 && e.type === 'pointerup') click(stage, e);
  };
  canvas.addEventListener('pointerup', over);
  canvas.addEventListener('pointercancel', over);
  canvas.addEventListener('pointerleave', () => tooltip(null));
  canvas.addEventListener('wheel', (e) => {
    e.preventDefault();
    zoomAt(stage, e, Math.exp(-e.deltaY * 0.0015));
  }, { passive: false });
}

function drag(stage, dx, dy) {
  tooltip(null);
  if (stage.layout.spin) H.set({ yaw: H.state.yaw + dx * 0.008, pitch: H.state.pitch - dy * 0.008 }, 'camera');
  else H.set({ panx: H.state.panx + dx / stage.w, pany: H.state.pany + dy / stage.h }, 'camera');
}

function pinch(pointers, e) {
  const [other] = [...pointers.entries()].filter(([id]) => id !== e.pointerId).map(([, at]) => at);
  const was = pointers.get(e.pointerId);
  const before = Math.hypot(was[0] - other[0], was[1] - other[1]);
  const after = Math.hypot(e.clientX - other[0], e.clientY - other[1]);
  if (before > 0) H.set({ zoom: H.state.zoom * (after / before) }, 'camera');
}

// Zoom so that the spot under the pointer stays where it is.
function zoomAt(stage, e, by) {
  const before = H.state.zoom;
  const zoom = Math.max(0.3, Math.min(40, before * by));
  const box = stage.canvas.getBoundingClientRect();
  const [x, y] = [(e.clientX - box.left) / stage.w - 0.5, (e.clientY - box.top) / stage.h - 0.5];
  const ratio = zoom / before;
  H.set({ zoom, panx: x - (x - H.state.panx) * ratio, pany: y - (y - H.state.pany) * ratio }, 'camera');
}

// The vertex or the link under a point of the canvas.
H.under = (stage, x, y) => {
  const { layout, XY, side } = stage;
  let best = { vertex: -1, link: -1 };
  let near = Infinity;
  for (let v = 0; v < side.net.vertices; v++) {
    if (layout.hidden[v]) continue;
    const [w, h] = H.boxOf(stage, v).map((d) => Math.max(d / 2, 5));
    const far = Math.max(Math.abs(XY[2 * v] - x) / w, Math.abs(XY[2 * v + 1] - y) / h);
    if (far <= 1 && far <= near) {
      near = far;
      best = { vertex: v, link: -1 };
    }
  }
  return best.vertex >= 0 ? best : { vertex: -1, link: linkUnder(stage, x, y) };
};

function linkUnder(stage, x, y) {
  const { layout, P, lane, side } = stage;
  const bins = H.binsOf(side, H.now(side).moving);
  let link = -1;
  let near = NEAR;
  for (let p = 0; p < layout.pieces; p++) {
    const i = 2 * layout.starts[p];
    const slack = NEAR + lane;
    const last = 2 * layout.starts[p + 1] - 2;
    if (last === i + 2 && (Math.max(P[i], P[last]) < x - slack || Math.min(P[i], P[last]) > x + slack
      || Math.max(P[i + 1], P[last + 1]) < y - slack || Math.min(P[i + 1], P[last + 1]) > y + slack)) continue;
    // Of two links at one place the busier one is meant.
    const far = distance(H.linePoints(stage, p, lane), x, y) - 0.01 * bins[layout.links[p]];
    if (far < near) {
      near = far;
      link = layout.links[p];
    }
  }
  return link;
}

function distance(line, x, y) {
  let least = Infinity;
  for (let i = 1; i < line.length; i++) {
    const [ax, ay] = line[i - 1];
    const [dx, dy] = [line[i][0] - ax, line[i][1] - ay];
    const t = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
    least = Math.min(least, Math.hypot(x - ax - t * dx, y - ay - t * dy));
  }
  return least;
}

let queued = null;
function hover(stage, e) {
  const box = stage.canvas.getBoundingClientRect();
  const first = queued === null;
  queued = [stage, e.clientX - box.left, e.clientY - box.top, e.clientX, e.clientY];
  if (first) {
    requestAnimationFrame(() => {
      const [on, x, y, px, py] = queued;
      queued = null;
      if (on.layout) tooltip(H.describe(on.side, H.under(on, x, y)), px, py);
    });
  }
}

function tooltip(lines, x = 0, y = 0) {
  const tip = H.$('tip');
  tip.hidden = !lines;
  if (!lines) return;
  tip.replaceChildren(...lines.map((text, i) => H.make(i ? 'div' : 'b', {}, text)));
  const wide = tip.offsetWidth;
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - wide - 8))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 16, innerHeight - tip.offsetHeight - 8))}px`;
}

// Choose what was clicked: its numbers stay on the page.
function click(stage, e) {
  const box = stage.canvas.getBoundingClientRect();
  const { vertex, link } = H.under(stage, e.clientX - box.left, e.clientY - box.top);
  H.set({ side: stage.number, pick: vertex, link });
}

// The numbers of a chip or a link in the current step, one line each; null for neither.
H.describe = (side, { vertex, link }) => {
  const { net, plan } = side;
  const { moving: step } = H.now(side);
  if (link >= 0) {
    const bytes = H.bytes(side, step, link);
    return [
      `link ${H.linkName(net, link)}`,
      `${H.rate(side.rate[link])} one way`,
      step < 0 || !plan.load ? 'nothing moves' : `${H.size(bytes)} in step ${step}: ${H.percent(H.busy(side, step, link))} of its time`,
    ];
  }
  if (vertex < 0) return null;
  const lines = [vertex < net.chips ? `chip ${H.place(net, vertex)}` : H.place(net, vertex)];
  const group = side.groupOf[vertex];
  if (group >= 0) lines.push(`rank ${side.localOf[vertex]}${plan.group_count > 1 ? ` of group ${group}` : ''}`);
  if (step >= 0 && plan.load) {
    let [out, back] = [0, 0];
    for (let l = 0; l < net.src.length; l++) {
      if (net.src[l] === vertex) out += H.bytes(side, step, l);
      if (net.dst[l] === vertex) back += H.bytes(side, step, l);
    }
    lines.push(`step ${step}: ${H.size(out)} out, ${H.size(back)} in`);
  }
  const held = H.heldText(side, vertex);
  if (held) lines.push(held);
  return lines;
};
