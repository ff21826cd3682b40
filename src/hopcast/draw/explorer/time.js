// The clock: for each side a strip of its steps, peak and mean load of the links; pointer and slider scrub.

const HIGH = 46;
const LABEL = 15;

H.paintStrip = () => {
  const canvas = H.$('strip');
  const dpr = Math.min(2, window.devicePixelRatio || 1);
  const w = canvas.parentElement.clientWidth;
  const h = (HIGH + LABEL) * H.sides.length + 4;
  canvas.style.height = `${h}px`;
  canvas.width = Math.round(w * dpr);
  canvas.height = Math.round(h * dpr);
  const g = canvas.getContext('2d');
  g.setTransform(dpr, 0, 0, dpr, 0, 0);
  g.clearRect(0, 0, w, h);
  H.sides.forEach((side, i) => paintSide(g, side, w, i * (HIGH + LABEL) + LABEL));
  paintHead(g, w);
};

function paintSide(g, side, w, top) {
  const { plan } = side;
  const total = H.total() || 1;
  const scale = w / total;
  g.font = `10px ${H.css.font}`;
  g.textBaseline = 'alphabetic';
  g.textAlign = 'left';
  g.fillStyle = H.css.muted;
  const name = H.sides.length > 1 ? `${'AB'[side.number]}: ${side.name}, ` : '';
  const long = `${name}${H.counted(plan.steps, 'step')} in ${H.seconds(plan.ends[plan.steps - 1] || 0)}`;
  // On a phone the second half has no room.
  const title = [`${long}: peak and mean load of links`, `${long}: load of links`].find((t) => g.measureText(t).width <= w);
  g.fillText(title || long, 0, top - 4);
  g.fillStyle = H.css.panel;
  g.fillRect(0, top, w, HIGH);
  let drawn = -1; // the last pixel that is filled, so that thousands of steps cost no more than the pixels
  let peak = 0;
  let mean = 0;
  for (let s = 0; s < plan.steps; s++) {
    const from = (s ? plan.ends[s - 1] : 0) * scale;
    const to = plan.ends[s] * scale;
    peak = Math.max(peak, side.peak[s]);
    mean = Math.max(mean, side.mean[s]);
    if (to - drawn < 1 && s < plan.steps - 1) continue;
    const left = Math.max(from, drawn);
    const wide = Math.max(1, to - left - (to - left > 5 ? 1 : 0));
    g.fillStyle = H.css.loads[H.bin(peak)];
    g.fillRect(left, top + HIGH * (1 - peak), wide, HIGH * peak);
    g.fillStyle = H.css.bg;
    g.globalAlpha = 0.55;
    g.fillRect(left, top + HIGH * (1 - peak), wide, HIGH * (peak - mean));
    g.globalAlpha = 1;
    g.fillStyle = H.css.loads[H.bin(peak)];
    g.fillRect(left, top + HIGH * (1 - peak), wide, 2.5);
    drawn = to;
    peak = 0;
    mean = 0;
  }
}

// The moment shown: the middle of what is played, or the end of the current step.
H.clock = () => {
  const { step } = H.state;
  if (step < 0) return 0;
  const to = H.ticks[step];
  const from = step ? H.ticks[step - 1] : 0;
  return from + (to - from) * Math.min(1, H.phase);
};

// A line on every strip, not through the words between them.
function paintHead(g, w) {
  const x = Math.max(1, Math.min(w - 1, (H.clock() / (H.total() || 1)) * w));
  g.strokeStyle = H.css.r2;
  g.lineWidth = 2;
  g.beginPath();
  H.sides.forEach((_, i) => {
    const top = i * (HIGH + LABEL) + LABEL;
    g.moveTo(x, top - 2);
    g.lineTo(x, top + HIGH + 2);
  });
  g.stroke();
}

// Scrub by pressing and dragging on the strip.
H.listenToStrip = () => {
  const canvas = H.$('strip');
  const go = (e) => {
    const box = canvas.getBoundingClientRect();
    const t = ((e.clientX - box.left) / box.width) * H.total();
    H.stop();
    H.set({ step: t <= 0 ? -1 : Math.min(H.ticks.length - 1, H.lowerBound(H.ticks, t)) });
  };
  canvas.addEventListener('pointerdown', (e) => {
    canvas.setPointerCapture(e.pointerId);
    go(e);
  });
  canvas.addEventListener('pointermove', (e) => {
    if (e.buttons) go(e);
  });
};

// ---- playing

H.phase = 1; // part of the current step that is over, while it plays
H.playing = false;
const QUIET = matchMedia('(prefers-reduced-motion: reduce)');

// Milliseconds that a moment takes when played: alike for one side, in proportion to the clock for two.
function period(moment) {
  const whole = Math.max(3000, Math.min(45000, 1100 * H.ticks.length));
  const even = Math.max(90, Math.min(1100, whole / H.ticks.length));
  if (H.sides.length === 1) return even / H.state.speed;
  const part = (H.ticks[moment] - (moment ? H.ticks[moment - 1] : 0)) / (H.total() || 1);
  return Math.max(40, whole * part) / H.state.speed;
}

H.play = () => {
  if (H.playing) return H.stop();
  H.playing = true;
  if (H.state.step >= H.ticks.length - 1) H.set({ step: -1 });
  H.phase = 1;
  let last = performance.now();
  const tick = (now) => {
    if (!H.playing) return;
    const took = Math.max(0, Math.min(100, now - last)); // a frame may have begun before this was called
    last = now;
    H.phase += took / period(Math.max(0, H.state.step));
    if (H.phase >= 1) {
      if (H.state.step >= H.ticks.length - 1) return H.stop();
      H.phase = QUIET.matches ? 0.999 * (H.phase - 1) : 0;
      H.set({ step: H.state.step + 1 });
    }
    H.changed('phase');
    requestAnimationFrame(tick);
  };
  H.changed('phase');
  requestAnimationFrame(tick);
};

H.stop = () => {
  H.playing = false;
  H.phase = 1;
  H.changed('step');
};

H.go = (step) => {
  H.stop();
  H.set({ step });
};
