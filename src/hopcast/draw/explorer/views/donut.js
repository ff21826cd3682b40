// A torus of two axes laid over a doughnut, on which a wrap-around is a link like any other.

H.view({
  name: 'donut',
  title: 'doughnut',
  fits: ({ net }) => {
    const axes = H.longAxes(net);
    return net.kind === 'grid' && axes.length === 2 && axes.every((a) => net.axes[a].wraps) ? 2 : 0;
  },
  layout: ({ net }) => {
    const layout = H.newLayout(net, { spin: true, box: [0.34, 0.24] });
    const [across, down] = H.longAxes(net);
    const around = net.axes[across].length;
    const about = net.axes[down].length;
    const small = Math.max(0.7, about / (2 * Math.PI));
    const large = Math.max(small * 1.9, around / (2 * Math.PI) + small * 0.8);
    for (let v = 0; v < net.chips; v++) {
      const at = H.coords(net, v);
      const u = (2 * Math.PI * at[across]) / around;
      const t = (2 * Math.PI * at[down]) / about;
      const reach = large + small * Math.cos(t);
      H.put(layout, v, reach * Math.cos(u), small * Math.sin(t), reach * Math.sin(u));
    }
    for (let l = 0; l < net.src.length; l++) H.straight(layout, l);
    return layout;
  },
});
