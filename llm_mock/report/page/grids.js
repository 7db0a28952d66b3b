// Cases by variants: what stands side by side, each cell a link to its test. And what changed against a baseline.

const OPEN_ROWS = 40;
const NO_ANSWER = "–";

function renderGrid(grid) {
  const row = (tag, ...values) => make("tr", "", ...values.map((value) => make(tag, "", value)));
  const head = row("th", "Case", ...grid.variants);
  head.querySelectorAll("th").forEach((cell) => { cell.scope = "col"; });
  const rows = grid.rows.map(([name, ids], position) => renderRow(name, ids, grid.different[position]));
  const body = make("tbody", "", ...rows);
  const sums = make("tfoot", "", ...grid.sums.map(([label, texts]) => row("td", label, ...texts)));
  const table = make("div", "wide", make("table", "", make("thead", "", head), body, sums));
  const part = make("details", "grid", make("summary", "", `${grid.suite}: side by side`),
    renderDifferenceFilter(grid, rows), table);
  part.open = grid.rows.length <= OPEN_ROWS;
  return part;
}

function renderDifferenceFilter(grid, rows) {
  const number = grid.different.filter(Boolean).length;
  const box = make("input");
  box.type = "checkbox";
  box.disabled = !number;
  box.addEventListener("change", () => {
    rows.forEach((row, position) => { row.hidden = box.checked && !grid.different[position]; });
  });
  return make("label", "differ", box, ` only where they differ (${number} of ${count(rows.length, "case")})`);
}

function renderRow(name, ids, differs) {
  const tests = ids.map((id) => anchors.get(id));
  const first = tests.find((test) => test && test.answer !== undefined && test.answer !== null);
  const head = make("th", "", name);
  head.scope = "row";
  return make("tr", differs ? "differs" : "", head, ...tests.map((test) => make("td", "", ...renderCell(test, first))));
}

function renderCell(test, first) {
  if (!test) return [NO_ANSWER];
  const answer = test.answer ?? null;
  const facts = [seconds(test.duration_s), test.cost_usd ? dollars(test.cost_usd) : null, test.score];
  const bad = (test.checks || []).filter((check) => check.status !== "passed");
  return [
    make("div", "", linkToTest(test), " ", make("span", "muted", facts.filter(Boolean).join(" · "))),
    answer === null ? null : renderDifference(answer, test === first ? answer : first.answer),
    test.message ? make("div", "problem", test.message) : null,
    bad.length ? make("ul", "checks", ...bad.map((check) => renderCheck(check))) : null,
  ].filter(Boolean);
}

// The words between the common start and the common end are marked.
function renderDifference(answer, other) {
  const words = answer.split(/(\s+)/);
  const others = other.split(/(\s+)/);
  let start = 0;
  while (start < words.length && words[start] === others[start]) start += 1;
  let end = 0;
  while (end < Math.min(words.length, others.length) - start && words.at(-1 - end) === others.at(-1 - end)) end += 1;
  const middle = words.slice(start, words.length - end).join("");
  if (!middle) return textBlock(answer, "text small");
  const nodes = [words.slice(0, start).join(""), make("ins", "", middle), words.slice(words.length - end).join("")];
  if (answer.length <= SHOWN_CHARACTERS) return make("div", "text small", ...nodes);
  return shortened(answer, make("div", "text small"), (text) => (text === answer ? nodes : [text]));
}

function linkToTest(test) {
  const link = make("a", test.outcome, `${SIGNS[test.outcome] || "·"} ${test.outcome}`);
  link.href = `#${encodeURIComponent(test.anchor)}`;
  return link;
}

function renderChanges({ file, suites }) {
  const outcomes = { broke: "failed", fell: "failed", unchecked: "failed", mended: "passed" };
  const row = ([kind, ...texts]) => make("tr", outcomes[kind] || "", ...[kind, ...texts].map((value) => make("td", "", value)));
  const part = make("details", "grid", make("summary", "", `Against ${file}`), ...suites.flatMap(({ summary, changes }) => [
    make("p", "muted", summary),
    changes.length ? make("div", "wide", make("table", "changes", make("tbody", "", ...changes.map(row)))) : null,
  ]));
  part.open = suites.reduce((sum, { changes }) => sum + changes.length, 0) <= OPEN_ROWS;
  return part;
}

function fillGrids() {
  if (report.changes) byId("side-by-side").append(renderChanges(report.changes));
  byId("side-by-side").append(...(report.side_by_side ?? []).map(renderGrid));
}
