const SVG = 'http://www.w3.org/2000/svg';
const KINDS = ['created', 'updated', 'removed'];
const STEP = 10;
const GAP = 2;

/** A bar for each minute, `[created, updated, removed]` on top of each other; a thin line where nothing changed. */
export function barChart(minutes, { class: className, height, label }) {
  const chart = svg('svg', {
    class: className,
    viewBox: `0 0 ${Math.max(1, minutes.length) * STEP} ${height}`,
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': label,
  });
  const top = Math.max(1, ...minutes.map((each) => each.reduce((one, other) => one + other, 0)));
  for (const [at, each] of minutes.entries()) {
    const x = at * STEP;
    chart.append(bar('base', x, { y: height - 1, height: 1 }));
    let y = height - 1;
    for (const [kind, number] of each.entries()) {
      if (number === 0) continue;
      const size = Math.max(1.5, (number / top) * (height - 3));
      y -= size;
      chart.append(bar(KINDS[kind], x, { y, height: size }));
    }
  }
  return chart;
}

function bar(kind, x, { y, height }) {
  return svg('rect', { class: kind, x, y: y.toFixed(1), width: STEP - GAP, height: height.toFixed(1) });
}

function svg(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
