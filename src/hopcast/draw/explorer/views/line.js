// A single axis: a ring as a circle, a chain as a row; long chains run to and fro.

const ROW = 16;
const WIDE = 1.75; // of an ellipse, for its height
const PITCH = 1.3;
const FINE = 2000;

H.view({
  name: 'line',
  title: 'ring',
  fits: ({ net }) => (net.kind === 'grid' && H.longAxes(net).length <= 1 ? 10 : 0),
  layout: ({ net }) => {
    const [axis = 0] = H.longAxes(net);
    const { length, wraps } = net.axes[axis];
    return wraps ? ring(net, length) : chain(net, length);
  },
});

// A ring lies on an ellipse, as wide as the page, with equal ways between neighbours.
function ring(net, n) {
  const layout = H.newLayout(net, { box: [0.72, 0.46] });
  const long = n <= 2 ? 1 : WIDE;
  const around = curve(long);
  const scale = (n * PITCH) / around[around.length - 1].far;
  for (let v = 0; v < n; v++) {
    const [x, y] = spotAt(around, v / n);
    H.put(layout, v, x * scale, y * scale);
  }
  for (let l = 0; l < net.src.length; l++) H.straight(layout, l);
  return layout;
}

// Points of an ellipse, clockwise from the top, with the way to each.
function curve(long) {
  const found = [{ x: 0, y: -1, far: 0 }];
  for (let i = 1; i <= FINE; i++) {
    const turn = (2 * Math.PI * i) / FINE;
    const last = found[i - 1];
    const [x, y] = [long * Math.sin(turn), -Math.cos(turn)];
    found.push({ x, y, far: last.far + Math.hypot(x - last.x, y - last.y) });
  }
  return found;
}

function spotAt(around, part) {
  const far = part * around[around.length - 1].far;
  const i = Math.max(1, around.findIndex((p) => p.far >= far));
  const [a, b] = [around[i - 1], around[i]];
  const t = (far - a.far) / (b.far - a.far || 1);
  return [a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)];
}

function chain(net, n) {
  const layout = H.newLayout(net, { box: [0.66, 0.46] });
  const per = n <= ROW ? n : n <= 256 ? ROW : 64;
  for (let v = 0; v < n; v++) {
    const row = Math.floor(v / per);
    const along = v % per;
    H.put(layout, v, (row % 2 ? per - 1 - along : along) * 1.1, row * 1.1);
  }
  for (let l = 0; l < net.src.length; l++) H.straight(layout, l);
  return layout;
}
