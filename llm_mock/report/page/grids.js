// Cases by variants: what stands side by side, each cell a link to its test. And what changed against a baseline.

const OPEN_ROWS = 40;

function renderGrid(grid) {
  const row = (tag, ...values) => make("tr", "", ...values.map((value) => make(tag, "", value)));
  const head = row("th", "Case", ...grid.variants);
  head.querySelectorAll("th").forEach((cell) => { cell.scope = "col"; });
  const body = make("tbody", "", ...grid.rows.map(([name, ids]) => row("td", name, ...ids.map(linkToTest))));
  const sums = make("tfoot", "", ...grid.sums.map(([label, texts]) => row("td", label, ...texts)));
  const table = make("div", "wide", make("table", "", make("thead", "", head), body, sums));
  const part = make("details", "grid", make("summary", "", `${grid.suite}: side by side`), table);
  part.open = grid.rows.length <= OPEN_ROWS;
  return part;
}

function linkToTest(id) {
  const test = anchors.get(id);
  if (!test) return "–";
  const link = make("a", test.outcome, `${SIGNS[test.outcome] || "·"} ${test.outcome}`);
  link.href = `#${encodeURIComponent(test.anchor)}`;
  return link;
}

function renderChanges({ file, summaries, rows }) {
  const outcomes = { broke: "failed", mended: "passed" };
  const cells = rows.map(([kind, name, remark]) => make("tr", outcomes[kind] || "",
    ...[kind, name, remark].map((value) => make("td", "", value))));
  const part = make("details", "grid", make("summary", "", `Against ${file}`),
    ...summaries.map((summary) => make("p", "muted", summary)),
    make("div", "wide", make("table", "changes", make("tbody", "", ...cells))));
  part.open = rows.length <= OPEN_ROWS;
  return part;
}

function fillGrids() {
  if (report.changes) byId("side-by-side").append(renderChanges(report.changes));
  byId("side-by-side").append(...(report.side_by_side ?? []).map(renderGrid));
}
