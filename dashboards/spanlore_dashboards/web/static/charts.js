// Draws the figures of cost and health with uPlot, from the page's own API. The tables beside them say the same.
"use strict";
(() => {
  // The legend comes below, in as many lines as it needs.
  const plotHeight = (box) => (box.classList.contains("low") ? 144 : 224);
  const PALETTE = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7"];
  const color = (name) => {
    const probe = document.createElement("i");
    probe.className = "probe";
    probe.dataset.color = name.slice(2);
    document.body.append(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  };
  const seconds = (day) => new Date(`${day}T00:00:00`).getTime() / 1000;
  const axis = (values, extra = {}) => ({
    stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false },
    font: "11px Inter, sans-serif", values, ...extra,
  });
  const dates = (_, splits) => splits.map((at) => new Date(at * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short" }));

  const day = { label: "Day", value: (_, at) => (at ? new Date(at * 1000).toDateString() : "–") };

  const inShort = (name) => (name.length > 40 ? `${name.slice(0, 39)}…` : name);

  // As many digits as tell one line of the grid from the next.
  const dollars = (_, splits) => {
    const step = splits.length > 1 ? splits[1] - splits[0] : 1;
    const digits = step >= 1 ? 0 : Math.max(2, Math.ceil(-Math.log10(step) - 1e-9));
    return splits.map((value) => `$${value.toFixed(digits)}`);
  };

  // Bars on top of each other: each series is drawn from the sum of those after it.
  const stacked = (data) => {
    const top = Math.max(0, ...data.costs.total.map((value) => value ?? 0));
    const xs = data.days.map(seconds);
    const sums = xs.map(() => 0);
    const layers = data.costs.names.map((values) => values.map((value, n) => (sums[n] += value ?? 0)));
    const bars = uPlot.paths.bars({ size: [0.72, 44], radius: 0.12 });
    const order = layers.map((_, n) => n).reverse();
    return {
      data: [xs, ...order.map((n) => layers[n])],
      options: {
        scales: { x: { range: (_, low, high) => [low - 43200, high + 43200] }, y: { range: [0, top * 1.08 || 1] } },
        axes: [axis(dates), axis(dollars, { size: 56 })],
        series: [day, ...order.map((n) => ({
          label: inShort(data.names[n] || "unknown"), fill: color(PALETTE[n % PALETTE.length]), width: 0, paths: bars, points: { show: false },
          value: (_, __, ___, at) => (at == null ? "–" : `$${(data.costs.names[n][at] ?? 0).toFixed(4)}`),
        }))],
      },
    };
  };
  const line = (label, xs, ys, name, show, when = (at) => at.toDateString()) => ({
    data: [xs, ys],
    options: {
      axes: [axis(dates), axis((_, splits) => splits.map(show), { size: 50 })],
      series: [{ label: "When", value: (_, at) => (at ? when(new Date(at * 1000)) : "–") },
        { label, stroke: color(name), width: 2, spanGaps: true, points: { show: xs.length <= 100, size: 7, fill: color(name) }, value: (_, value) => (value == null ? "–" : show(value)) }],
    },
  });

  const figures = {
    cost: (answer) => {
      const top = answer.names.slice(0, 6).map((item) => item.name);
      const names = answer.names.length > 6 ? [...top, "others"] : top;
      const at = new Map(answer.days.map((day, n) => [day, n]));
      const rows = names.map(() => answer.days.map(() => 0));
      for (const cell of answer.cells) {
        const row = top.indexOf(cell.name);
        if (at.has(cell.day)) rows[row < 0 ? rows.length - 1 : row][at.get(cell.day)] += cell.cost_usd;
      }
      const total = answer.days.map((_, n) => rows.reduce((sum, row) => sum + row[n], 0));
      return stacked({ days: answer.days, names, costs: { names: rows, total } });
    },
    cache: (answer) => {
      const sums = new Map(answer.days.map((day) => [day, [0, 0]]));
      for (const cell of answer.cells) {
        const sum = sums.get(cell.day);
        if (sum) { sum[0] += cell.cache_read_tokens; sum[1] += cell.input_tokens; }
      }
      const shares = answer.days.map((day) => { const [read, whole] = sums.get(day); return whole ? (100 * read) / whole : null; });
      const made = line("from the cache", answer.days.map(seconds), shares, "--c2", (value) => `${Math.round(value * 10) / 10} %`);
      made.options.series[0] = day;
      made.options.scales = { x: { range: (_, low, high) => [low - 43200, high + 43200] }, y: { range: [0, 100] } };
      return made;
    },
    overhead: (answer) => {
      const hours = answer.overhead_by_hour;
      const show = (value) => `${Math.round(value * 100) / 100} ms`;
      const made = line("p99", hours.map((row) => row.hour_s), hours.map((row) => row.p99_ns / 1e6), "--c4", show, (at) => at.toLocaleString("en-GB"));
      made.data.push(hours.map((row) => row.p50_ns / 1e6));
      made.options.series.push({ ...made.options.series[1], label: "p50", stroke: color("--c1"), points: { ...made.options.series[1].points, fill: color("--c1") } });
      made.options.scales = { y: { range: (_, low, high) => [0, high * 1.1 || 1] } };
      return made;
    },
  };

  // Two figures of one answer ask for it once.
  const answers = new Map();
  const asked = (url) => {
    if (!answers.has(url)) answers.set(url, fetch(url).then((answer) => (answer.ok ? answer.json() : null)));
    return answers.get(url);
  };

  const draw = async (box) => {
    let found = null;
    try {
      found = await asked(box.dataset.url);
    } catch { /* the daemon is away, or the reader has left already */ }
    if (!found) { box.textContent = "The figures can't be loaded now."; return; }
    let plot = null;
    const paint = () => {
      plot?.destroy();
      const { data, options } = figures[box.dataset.chart](found);
      plot = new uPlot({ width: box.clientWidth, height: plotHeight(box), cursor: { drag: { x: false, y: false } }, legend: { live: true }, ...options }, data, box);
      box.dataset.drawn = "yes";
    };
    paint();
    document.addEventListener("theme", paint);
    let width = box.clientWidth;
    new ResizeObserver(() => { if (Math.abs(box.clientWidth - width) > 4) { width = box.clientWidth; paint(); } }).observe(box);
  };
  addEventListener("DOMContentLoaded", () => document.querySelectorAll("[data-chart]").forEach(draw));
})();
