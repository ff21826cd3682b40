// Ranks x chunks: who holds what after the current step, and of partial sums how much. Where the page does not hold
// all sends: ranks x steps, how much of the array each rank has received.

const MOST_COLUMNS = 96;
const MOST_ROWS = 64;
const MOST_CELLS_ON_CHIP = 32;
const CELL = 30;
const OUTLINED = 10; // pixels of a cell from which an outline can be read
const NAMES = 34; // pixels for the names of ranks

H.chunkColour = (hue) => H.css.chunks[hue % H.css.chunks.length];

// A rank's row of the matrix for its box in the picture; null where it is too long.
H.cellsOf = (stage, v, held) => {
  const { side } = stage;
  const group = side.groupOf[v];
  const { chunks, ranks } = side.plan;
  const byOwner = chunks > MOST_CELLS_ON_CHIP;
  if (group < 0 || (byOwner && (ranks > MOST_CELLS_ON_CHIP || H.owner(side.plan, 0) < 0))) return null;
  const matrix = H.matrixAt(side, held, group);
  if (!matrix) return null;
  const base = side.localOf[v] * chunks;
  const cell = (c) => ({
    part: Math.min(1, matrix.count[base + c] / matrix.full), hue: H.hue(side.plan, c), live: matrix.live[base + c],
  });
  if (!byOwner) return Array.from({ length: chunks }, (_, c) => cell(c));
  const found = Array.from({ length: ranks }, (_, hue) => ({ part: 0, hue, live: 0, many: 0 }));
  for (let c = 0; c < chunks; c++) {
    const one = cell(c);
    const into = found[one.hue];
    into.many += 1;
    into.live |= one.live;
    into.part += one.part;
  }
  for (const into of found) into.part /= into.many || 1;
  return found;
};

// What a vertex holds after the current step, in words; empty where the page does not know.
H.heldText = (side, v) => {
  const group = side.groupOf[v];
  const matrix = group >= 0 ? H.matrixAt(side, H.held(side), group) : null;
  if (!matrix) return '';
  const row = side.localOf[v] * matrix.chunks;
  return holdings(matrix, row);
};

function holdings(matrix, row) {
  const { chunks, count, live, full } = matrix;
  const whole = [];
  const sums = new Map();
  for (let c = 0; c < chunks; c++) {
    const k = count[row + c];
    if (!k || !live[row + c]) continue;
    if (k === full) whole.push(c);
    else sums.set(k, [...(sums.get(k) || []), c]);
  }
  const parts = whole.length ? [`holds ${whole.length} of ${chunks}: ${H.runs(whole)}`] : [];
  for (const [k, list] of sums) parts.push(`${k} of ${full} summed: ${H.runs(list)}`);
  return parts.join('; ') || 'holds nothing that is still wanted';
}

// ---- the panel

H.paintMatrix = () => {
  const side = H.sides[H.state.side];
  const matrix = H.matrixAt(side, H.held(side));
  const canvas = H.$('matrix');
  const note = H.$('matrixnote');
  if (matrix) paintHeld(side, matrix, canvas, note);
  else if (side.plan.received) paintReceived(side, canvas, note);
  else note.textContent = 'The page holds no matrix for a schedule of this size.';
  H.$('matrixtitle').textContent = matrix || !side.plan.received ? 'Ranks x chunks' : 'Ranks x steps: bytes received';
  canvas.hidden = !matrix && !side.plan.received;
};

function grid(canvas, rows, columns, top) {
  const room = canvas.parentElement.clientWidth - NAMES - 4;
  const wide = Math.max(2, Math.min(CELL, room / columns));
  const tall = Math.max(3, Math.min(22, wide, 300 / rows));
  const dpr = Math.min(2, window.devicePixelRatio || 1);
  const [w, h] = [NAMES + wide * columns + 2, top + tall * rows + 2];
  canvas.style.width = `${w}px`;
  canvas.style.height = `${h}px`;
  canvas.width = Math.round(w * dpr);
  canvas.height = Math.round(h * dpr);
  const g = canvas.getContext('2d');
  g.setTransform(dpr, 0, 0, dpr, 0, 0);
  g.clearRect(0, 0, w, h);
  g.font = `10px ${H.css.font}`;
  g.textBaseline = 'middle';
  return { g, wide, tall, top, w, h };
}

function headers(at, rows, columns, rowName, columnName) {
  const { g, wide, tall, top } = at;
  g.fillStyle = H.css.muted;
  g.textAlign = 'right';
  const everyRow = Math.ceil(12 / tall);
  for (let r = 0; r < rows; r += everyRow) g.fillText(rowName(r), NAMES - 5, top + (r + 0.5) * tall);
  g.textAlign = 'center';
  const widest = Math.max(g.measureText(columnName(columns - 1)).width, 8) + 4;
  const everyColumn = Math.ceil(widest / wide);
  for (let c = 0; c < columns; c += everyColumn) g.fillText(columnName(c), NAMES + (c + 0.5) * wide, top - 8);
}

function paintHeld(side, matrix, canvas, note) {
  const { chunks, holders } = matrix;
  const [byRow, byColumn] = [Math.ceil(holders.length / MOST_ROWS), Math.ceil(chunks / MOST_COLUMNS)];
  const [rows, columns] = [Math.ceil(holders.length / byRow), Math.ceil(chunks / byColumn)];
  const at = grid(canvas, rows, columns, 18);
  const name = (r) => (r * byRow < matrix.ranks ? String(r * byRow) : `sw ${r * byRow - matrix.ranks}`);
  headers(at, rows, columns, name, (c) => String(c * byColumn));
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) paintCell(at, side.plan, matrix, r, c, byRow, byColumn);
  }
  mark(at, H.state.rank < 0 ? -1 : Math.floor(H.state.rank / byRow), rows, true);
  mark(at, H.state.chunk < 0 ? -1 : Math.floor(H.state.chunk / byColumn), columns, false);
  at.byRow = byRow;
  at.byColumn = byColumn;
  canvas.cells = at;
  const folded = byRow > 1 || byColumn > 1 ? `Each cell stands for ${H.counted(byRow, 'rank')} x ${H.counted(byColumn, 'chunk')}. ` : '';
  const strong = at.tall < OUTLINED && matrix.full > 1;
  const sums = matrix.full > 1 ? `A cell ${strong ? 'darkens' : 'fills'} as its sum does: k of ${matrix.full} contributions. ` : '';
  const wrote = strong ? 'Palest: no longer needed.' : at.wide >= OUTLINED ? 'Outlined: written in this step. Pale: no longer needed.' : 'Strong: written in this step. Palest: no longer needed.';
  note.textContent = `${folded}${sums}${wrote}`;
}

function paintCell({ g, wide, tall, top }, plan, matrix, r, c, byRow, byColumn) {
  const { count, live, fresh, full, chunks, holders } = matrix;
  let [part, alive, wrote, many] = [0, 0, 0, 0];
  for (let i = r * byRow; i < Math.min(holders.length, (r + 1) * byRow); i++) {
    for (let j = c * byColumn; j < Math.min(chunks, (c + 1) * byColumn); j++) {
      const cell = i * chunks + j;
      many += 1;
      part += Math.min(1, count[cell] / full);
      if (count[cell] && live[cell]) alive += 1;
      wrote |= fresh[cell];
    }
  }
  part /= many;
  const [x, y] = [NAMES + c * wide, top + r * tall];
  const gap = wide > 6 && tall > 6 ? 1 : 0;
  g.fillStyle = H.css.blank;
  g.fillRect(x, y, wide, tall);
  if (part > 0) {
    // Where there is no room for outlines, what a step writes stands out by strength,
    // and sums by strength too.
    const faint = tall < OUTLINED && full > 1;
    g.globalAlpha = !alive ? 0.12 : faint ? 0.25 + 0.75 * part : wide < OUTLINED && !wrote ? 0.5 : 1;
    g.fillStyle = H.chunkColour(H.hue(plan, c * byColumn));
    const filled = faint ? 1 : part;
    g.fillRect(x + gap, y + gap + (tall - 2 * gap) * (1 - filled), wide - 2 * gap, (tall - 2 * gap) * filled);
    g.globalAlpha = 1;
  }
  g.strokeStyle = H.css.grid;
  g.lineWidth = 0.5;
  if (wide > 4 && tall > 4) g.strokeRect(x, y, wide, tall);
  if (wrote && wide >= OUTLINED) {
    g.strokeStyle = H.css.ink;
    g.lineWidth = 1.6;
    g.strokeRect(x + 1, y + 1, wide - 2, tall - 2);
  }
  const k = count[r * chunks + c];
  if (full > 1 && many === 1 && k > 0 && wide >= 15 && tall >= 12) {
    g.fillStyle = !alive ? H.css.muted : part > 0.45 ? '#10151b' : H.css.ink;
    g.textAlign = 'center';
    g.fillText(String(k), x + wide / 2, y + tall / 2 + 0.5);
  }
}

// An orange frame about a row or a column that is followed.
function mark({ g, wide, tall, top, w, h }, number, count, isRow) {
  if (number < 0 || number >= count) return;
  g.strokeStyle = H.css.r2;
  g.lineWidth = 2;
  if (isRow) g.strokeRect(NAMES - 1, top + number * tall, w - NAMES, tall);
  else g.strokeRect(NAMES + number * wide, top - 1, wide, h - top);
}

function paintReceived(side, canvas, note) {
  const { plan } = side;
  const held = H.held(side);
  const [byRow, byColumn] = [Math.ceil(plan.ranks / (MOST_ROWS / 2)), Math.ceil(plan.steps / MOST_COLUMNS)];
  const [rows, columns] = [Math.ceil(plan.ranks / byRow), Math.ceil(plan.steps / byColumn)];
  const at = grid(canvas, rows, columns, 18);
  headers(at, rows, columns, (r) => String(r * byRow), (c) => String(c * byColumn));
  side.receivedRows = side.receivedRows || receivedTable(side, rows, columns, byRow, byColumn);
  for (let c = 0; c < columns; c++) {
    for (let r = 0; r < rows; r++) {
      const part = side.receivedRows[c * rows + r];
      at.g.fillStyle = H.css.ink;
      at.g.globalAlpha = (c * byColumn <= held ? 0.06 + 0.8 * part : 0.05 + 0.12 * part);
      at.g.fillRect(NAMES + c * at.wide, at.top + r * at.tall, Math.max(1, at.wide - 0.5), Math.max(1, at.tall - 0.3));
    }
  }
  at.g.globalAlpha = 1;
  mark(at, held < 0 ? -1 : Math.floor(held / byColumn), columns, false);
  canvas.cells = null;
  note.textContent = `${byRow > 1 ? `Each row stands for ${byRow} ranks. ` : ''}Strongest: as much as the busiest rank `
    + 'receives in all. The chunks are too many to be shown one by one.';
}

// By column and row: the part of the most that any rank receives.
function receivedTable(side, rows, columns, byRow, byColumn) {
  const { plan } = side;
  const table = new Float32Array(rows * columns);
  let most = 0;
  for (let c = 0; c < columns; c++) {
    const got = H.receivedBy(side, Math.min(plan.steps - 1, (c + 1) * byColumn - 1));
    for (let r = 0; r < rows; r++) {
      let sum = 0;
      const last = Math.min(plan.ranks, (r + 1) * byRow);
      for (let i = r * byRow; i < last; i++) sum += got[side.vertexOf(0, i)];
      table[c * rows + r] = sum / (last - r * byRow);
      most = Math.max(most, table[c * rows + r]);
    }
  }
  return table.map((v) => v / (most || 1));
}

// Click or key on the matrix: follow the chunk of a column or, in the margin, the rank of a row.
H.listenToMatrix = () => {
  const canvas = H.$('matrix');
  canvas.addEventListener('click', (e) => {
    const { cells } = canvas;
    if (!cells) return;
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((e.clientX - box.left - NAMES) / cells.wide) * cells.byColumn;
    const row = Math.floor((e.clientY - box.top - cells.top) / cells.tall) * cells.byRow;
    if (column >= 0) H.set({ chunk: column === H.state.chunk ? -1 : column }, 'follow');
    else if (row >= 0) H.set({ rank: row === H.state.rank ? -1 : row }, 'follow');
  });
};
