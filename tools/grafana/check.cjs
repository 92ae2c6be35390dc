// What Grafana's own library says of the dashboards: units and reducers that it knows, and each panel's numbers as it
// would write them. `sh tools/grafana.sh` fetches the library and runs this; CI does not, it is 230 MB.
"use strict";
globalThis.navigator = { language: "en-US", languages: ["en-US"] }; // the library asks it for date formats
const fs = require("fs"), path = require("path");
const grafana = require("@grafana/data");
const folder = path.join(__dirname, "../../dashboards/spanlore_dashboards/grafana/json");
const units = new Set(grafana.getValueFormats().flatMap((group) => group.submenu.map((format) => format.value)));
const theme = grafana.createTheme();
let faults = 0;
const fault = (...words) => { faults += 1; console.log("FAULT", ...words); };

for (const file of fs.readdirSync(folder).sort()) {
  const board = JSON.parse(fs.readFileSync(path.join(folder, file)));
  console.log(`${board.title}: ${board.panels.length} panels, schema ${board.schemaVersion}`);
  for (const panel of board.panels.filter((item) => item.type !== "row")) {
    const defaults = panel.fieldConfig?.defaults ?? {};
    const overrides = panel.fieldConfig?.overrides ?? [];
    const used = overrides.flatMap((item) => item.properties).filter((item) => item.id === "unit").map((item) => item.value);
    for (const unit of [defaults.unit, ...used].filter(Boolean)) {
      if (!units.has(unit)) fault(panel.title, "has a unit that Grafana does not know:", unit);
    }
    for (const calc of panel.options?.reduceOptions?.calcs ?? []) {
      if (!grafana.fieldReducers.getIfExists(calc)) fault(panel.title, "reduces by", calc);
    }
    const frame = grafana.toDataFrame({ fields: [{ name: "value", type: "number", config: defaults, values: [0.4321, null] }] });
    const show = grafana.getDisplayProcessor({ field: frame.fields[0], theme, timeZone: "utc" });
    const [some, none] = frame.fields[0].values.map((value) => grafana.formattedValueToString(show(value)));
    if (!some) fault(panel.title, "shows nothing for a number");
    console.log(`  ${panel.type.padEnd(10)} ${panel.title.padEnd(40)} 0.4321 is ${some}, nothing is ${none || defaults.noValue || "empty"}`);
  }
}
console.log(faults ? `${faults} faults` : "no faults");
process.exit(faults ? 1 : 0);
