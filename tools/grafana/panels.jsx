// Draws a dashboard of ours with Grafana's own components: `@grafana/data` applies units, thresholds, mappings, overrides
// and links from the panel's JSON, `@grafana/ui` draws. `tools/grafana/pictures.py` bundles this and tells it
// `window.boards`. Grafana's panels themselves are AGPL and not on npm, so what only they do is ours and near enough:
// long to wide series, a bar chart as bar gauges; traces panels are left out, they are in no library.
// `require`: the libraries' ES modules import old CommonJS ones in a way that this bundler takes apart otherwise.
const React = require("react");
const { createRoot } = require("react-dom/client");
const data = require("@grafana/data");
const ui = require("@grafana/ui");

const COLUMN = 1600 / 24, ROW = 30, GAP = 8, CHROME = 42;
const theme = data.createTheme({ colors: { mode: "dark" } });
const identity = (value) => value;
const property = (id, path = id, isCustom = false, process = identity) => ({
  id, path, isCustom, name: id, process, override: () => null, editor: () => null, shouldApply: () => true, settings: {},
});
const registry = new data.Registry(() => [
  ...["unit", "min", "max", "decimals", "displayName", "noValue", "thresholds", "mappings", "color"].map((id) => property(id)),
  property("links", "links", false, data.dataLinksOverrideProcessor ?? identity),
  ...["width", "cellOptions", "hidden", "drawStyle", "fillOpacity", "showPoints", "spanNulls", "stacking", "lineWidth", "align"].map(
    (name) => property(`custom.${name}`, name, true)),
]);

function typed(kind) {
  const plain = kind.replace(/^(LowCardinality|Nullable)\((.*)\)$/, "$2").replace(/^Nullable\((.*)\)$/, "$1");
  if (/^Date/.test(plain)) return data.FieldType.time;
  return /^(U?Int|Float|Decimal)/.test(plain) ? data.FieldType.number : data.FieldType.string;
}

function frameOf({ meta, rows }) {
  return data.toDataFrame({ fields: meta.map(({ name, type }, n) => {
    const kind = typed(type);
    const read = { number: Number, time: (text) => Date.parse(`${text.replace(" ", "T")}Z`) }[kind] ?? ((value) => (typeof value === "string" ? value : JSON.stringify(value)));
    return { name, type: kind, config: {}, values: rows.map((row) => (row[n] === null ? null : read(row[n]))) };
  }) });
}

function overNumbers(frame) { // a trend panel's first column instead of the time; only the axis is written otherwise
  const [first, ...rest] = frame.fields;
  return data.toDataFrame({ fields: [{ ...first, name: "time", type: "time", values: first.values.map((value) => value * 1000) }, ...rest] });
}

function wide(frame) { // one series a name, as the data source makes them
  const time = frame.fields.find((field) => field.type === "time");
  const names = frame.fields.filter((field) => field.type === "string");
  const values = frame.fields.filter((field) => field.type === "number");
  const times = [...new Set(time.values)].sort((a, b) => a - b), at = new Map(times.map((value, n) => [value, n]));
  const series = new Map();
  for (let n = 0; n < frame.length; n += 1) {
    for (const value of values) {
      const name = names.map((field) => field.values[n]).join(" ") || value.name;
      if (!series.has(name)) series.set(name, times.map(() => null));
      series.get(name)[at.get(time.values[n])] = value.values[n];
    }
  }
  return data.toDataFrame({ fields: [
    { name: "time", type: "time", config: {}, values: times },
    ...[...series].map(([name, list]) => ({ name, type: "number", config: {}, values: list })),
  ] });
}

function configured(panel, frame, web) {
  const replace = (text, scoped) => text.replaceAll("${web}", web).replace(/\$\{__data\.fields\.(\w+)\}/g, (_, name) => {
    const row = scoped?.__dataContext?.value?.rowIndex ?? 0;
    return frame.fields.find((field) => field.name === name)?.values[row] ?? "";
  });
  const defaults = { color: { mode: ["timeseries", "trend"].includes(panel.type) ? "palette-classic" : "thresholds" }, ...panel.fieldConfig?.defaults };
  defaults.thresholds ??= { mode: "absolute", steps: [{ color: "green", value: -Infinity }] };
  defaults.thresholds.steps = defaults.thresholds.steps.map((step) => ({ ...step, value: step.value ?? -Infinity }));
  return data.applyFieldOverrides({
    data: [frame], fieldConfig: { defaults, overrides: panel.fieldConfig?.overrides ?? [] }, fieldConfigRegistry: registry,
    replaceVariables: replace, theme, timeZone: "utc",
  })[0];
}

function content(panel, answer, span, web, width, height) {
  if (!answer) return <p>in no library</p>;
  if (!answer.rows.length) return <p>No data</p>;
  const shaped = { timeseries: wide, trend: overNumbers }[panel.type] ?? identity;
  const frame = configured(panel, shaped(frameOf(answer)), web);
  if (panel.type === "trend") span = [0, answer.rows.length + 1];
  if (panel.type === "timeseries" || panel.type === "trend") {
    const range = { from: data.dateTime(span[0] * 1000), to: data.dateTime(span[1] * 1000) };
    return <ui.TimeSeries frames={[frame]} timeRange={{ ...range, raw: range }} timeZone="utc" width={width} height={height} legend={panel.options.legend} />;
  }
  if (panel.type === "table") return <ui.Table data={frame} width={width} height={height} cellHeight={panel.options.cellHeight} />;
  const values = data.getFieldDisplayValues({
    data: [frame], fieldConfig: { overrides: [], ...panel.fieldConfig }, theme, timeZone: "utc", replaceVariables: identity,
    reduceOptions: panel.type === "stat" ? panel.options.reduceOptions : { values: true, calcs: [], limit: 12 },
  });
  if (panel.type === "stat") return <ui.BigValue value={values[0].display} width={width} height={height} theme={theme} colorMode={panel.options.colorMode} textMode={panel.options.textMode} graphMode="none" count={values.length} />;
  const each = Math.min(height / values.length - 6, 40);
  return values.map((value, n) => <ui.BarGauge key={n} value={value.display} field={value.field} display={value.view?.getFieldDisplayProcessor(value.colIndex)} width={width} height={each} orientation="horizontal" theme={theme} displayMode="basic" />);
}

function Panel({ panel, board }) {
  const { x, y, w, h } = panel.gridPos;
  const style = { position: "absolute", left: x * COLUMN + GAP, top: y * (ROW + GAP) + 60 };
  const width = w * COLUMN - GAP, height = h * (ROW + GAP) - GAP;
  if (panel.type === "row") return <h4 style={style}>{panel.title}</h4>;
  return <div style={style}>
    <ui.PanelChrome title={panel.title} description={panel.description} width={width} height={height}>
      {(innerWidth, innerHeight) => content(panel, board.answers[panel.id], board.span, board.web, innerWidth, innerHeight)}
    </ui.PanelChrome>
  </div>;
}

class Guard extends React.Component {
  state = {};
  static getDerivedStateFromError(error) { return { error }; }
  componentDidCatch(error) { console.error(`${this.props.title}: ${error.message}`); }
  render() { return this.state.error ? <p>{String(this.state.error)}</p> : this.props.children; }
}

window.show = (board) => {
  const end = Math.max(...board.panels.map((panel) => panel.gridPos.y + panel.gridPos.h));
  document.body.style.height = `${end * (ROW + GAP) + 80}px`;
  createRoot(document.getElementById("root")).render(
    <data.ThemeContext.Provider value={theme}>
      <ui.GlobalStyles />
      <h2 style={{ position: "absolute", left: GAP, top: 12 }}>{board.title}</h2>
      {board.panels.map((panel) => <Guard key={panel.id} title={panel.title}><Panel panel={panel} board={board} /></Guard>)}
    </data.ThemeContext.Provider>,
  );
};
