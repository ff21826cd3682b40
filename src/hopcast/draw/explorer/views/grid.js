// Two axes: x across, y down. Wrap-arounds are arcs beside their row or column on small grids, and dashed
// stubs at both edges on larger ones.

const LOOPS = 8;
const ARC = 24; // pieces of an arc
const BULGE = 0.46;

H.view({
  name: 'grid',
  title: 'grid',
  fits: ({ net }) => (net.kind === 'grid' && H.longAxes(net).length === 2 ? 10 : 0),
  layout: ({ net }) => {
    const layout = H.newLayout(net);
    const [across, down] = H.longAxes(net);
    const size = [net.axes[across].length, net.axes[down].length];
    for (let v = 0; v < net.chips; v++) {
      const at = H.coords(net, v);
      H.put(layout, v, at[across], at[down]);
    }
    const loops = Math.max(...size) <= LOOPS;
    for (let l = 0; l < net.src.length; l++) {
      const { axis, way, wraps } = H.wayOf(net, l);
      if (!wraps) H.straight(layout, l);
      else if (loops && aligned(layout, l, axis === across ? 1 : 0)) loop(layout, l, axis === across);
      else H.stubs(layout, l, axis === across ? [0.62 * way, 0, 0] : [0, 0.62 * way, 0]);
    }
    rulers(layout, net, across, down, loops ? 0.85 : 1.05);
    return layout;
  },
});

// Whether a wrap-around ends in its own row or column; on a twisted torus it does not.
function aligned(layout, link, other) {
  const { src, dst } = layout.net;
  return H.spot(layout, src[link])[other] === H.spot(layout, dst[link])[other];
}

// An arc from end to end, beside its row or column.
function loop(layout, link, flat) {
  const { src, dst } = layout.net;
  const a = H.spot(layout, src[link]);
  const b = H.spot(layout, dst[link]);
  const line = [];
  for (let i = 0; i <= ARC; i++) {
    const t = i / ARC;
    const aside = BULGE * Math.min(1, Math.sqrt(Math.sin(Math.PI * t)) * 1.02);
    const x = a[0] + t * (b[0] - a[0]);
    const y = a[1] + t * (b[1] - a[1]);
    line.push(flat ? [x, y - aside] : [x - aside, y]);
  }
  H.addPiece(layout, link, line);
}

// Numbers along both axes.
function rulers(layout, net, across, down, off) {
  [[across, 0], [down, 1]].forEach(([axis, other]) => {
    const { name, length } = net.axes[axis];
    const every = length <= 32 ? 1 : 8;
    for (let i = 0; i < length; i += every) {
      const text = i === 0 ? `${name} ${i}` : String(i);
      layout.texts.push(other ? { x: -off, y: i, text, align: 'right' } : { x: i, y: -off, text, align: 'center' });
    }
  });
}
