// The ranks of one group on a circle, without the network: sends go straight from rank to rank.

const MOST_RANKS = 128;

H.view({
  name: 'circle',
  title: 'ranks',
  grouped: true,
  direct: true, // sends are drawn as such, whatever links they cross
  fits: ({ plan }) => (plan.sends && plan.ranks > 1 && plan.ranks <= MOST_RANKS ? 3 : 0),
  layout: (side) => {
    const { net, plan } = side;
    const layout = H.newLayout(net, { box: [0.72, 0.44] });
    const radius = Math.max(1.1, (plan.ranks * 1.15) / (2 * Math.PI));
    layout.hidden.fill(1);
    for (let r = 0; r < plan.ranks; r++) {
      const turn = (2 * Math.PI * r) / plan.ranks;
      const v = side.vertexOf(H.state.group, r);
      H.put(layout, v, radius * Math.sin(turn), -radius * Math.cos(turn));
      layout.hidden[v] = 0;
      layout.names.set(v, [String(r)]);
    }
    for (let v = net.chips; v < net.vertices; v++) layout.hidden[v] = side.groupOf[v] < 0 && usesSwitch(plan, v) ? 0 : 1;
    return layout;
  },
});

// Whether a switch itself sends or receives, to reduce or to multicast: then it stands in the middle.
function usesSwitch({ sends }, v) {
  return sends.src.includes(v) || sends.dst.includes(v);
}
