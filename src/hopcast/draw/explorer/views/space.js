// Three axes in space, turned by dragging. Wrap-arounds are stubs at both faces. Further axes are boxes side by side.

H.view({
  name: 'space',
  title: '3-D',
  fits: ({ net }) => (net.kind === 'grid' && H.longAxes(net).length > 2 ? 8 : 0),
  layout: ({ net }) => {
    const layout = H.newLayout(net, { spin: true, box: [0.34, 0.24] });
    const axes = H.longAxes(net);
    // x to the right, y down, z towards the reader
    const direction = axes.map((a, i) => {
      const scale = i < 3 ? 1 : net.axes[axes[i - 3]].length + 1.2;
      return [0, 1, 2].map((d) => (d === i % 3 ? scale : 0));
    });
    for (let v = 0; v < net.chips; v++) {
      const at = H.coords(net, v);
      const spot = [0, 0, 0];
      axes.forEach((a, i) => direction[i].forEach((step, d) => { spot[d] += step * at[a]; }));
      H.put(layout, v, ...spot);
    }
    for (let l = 0; l < net.src.length; l++) {
      const { axis, way, wraps } = H.wayOf(net, l);
      if (wraps) H.stubs(layout, l, direction[axes.indexOf(axis)].map((d) => Math.sign(d) * 0.5 * way));
      else H.straight(layout, l);
    }
    axes.slice(0, 3).forEach((a, i) => {
      const end = direction[i].map((d) => d * (net.axes[a].length - 1) + Math.sign(d) * 0.95);
      layout.texts.push({ x: end[0], y: end[1], z: end[2], text: net.axes[a].name, align: 'center', strong: true });
    });
    return layout;
  },
});
