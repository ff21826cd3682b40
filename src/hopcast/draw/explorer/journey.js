// The way of one chunk through the whole schedule, and the sends of one rank.

// Sends that move a chunk within a group, in order of their steps: [{row, step, src, dst}].
H.journey = (side, chunk, group = H.state.group) => {
  const { sends, steps } = side.plan;
  const key = `${group}:${chunk}`;
  if (!sends || chunk < 0) return [];
  if (side.journeyKey !== key) {
    side.journeyRows = [];
    for (let s = 0; s < steps; s++) {
      for (const row of H.rowsOf(side, s, group)) {
        if (H.moves(side, row, chunk)) {
          side.journeyRows.push({ row, step: s, src: sends.src[row], dst: sends.dst[row] });
        }
      }
    }
    side.journeyKey = key;
  }
  return side.journeyRows;
};

// Sends of a step that leave or reach a rank.
H.ofRank = (side, step, rank, group = H.state.group) => {
  const { sends } = side.plan;
  const v = side.vertexOf(group, rank);
  return H.rowsOf(side, step, group).filter((r) => sends.src[r] === v || sends.dst[r] === v);
};

// Chunks that can be followed: all whose sends the page holds.
H.followable = (plan) => {
  if (!plan.sends) return [];
  return plan.sends.scope === 'chunks' ? plan.sends.chunks : null;
};
