// The search and the filters: which tests and calls fit, and what can be chosen.

const CALL_FILTERS = {
  "calls:error": ["with a call that failed", (call) => call.error !== null],
  "calls:default": ["with a call answered by default", (call) => !call.configured],
};
const inputs = { query: byId("query"), test: byId("test"), model: byId("model"), outcome: byId("outcome"), silent: byId("silent") };
const noCalls = groups.every((group) => !group.calls.length);
let pattern = null;
let hiddenWithoutCalls = 0;

function asPattern(text, flags) {
  const words = text.trim().split(/\s+/).filter(Boolean);
  return words.length ? new RegExp(words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("\\s+"), flags) : null;
}

function callFits(group, call) {
  if (inputs.model.value && call.model_id !== inputs.model.value) return false;
  const filter = CALL_FILTERS[inputs.outcome.value];
  if (filter && !filter[1](call)) return false;
  return !pattern || group.named || pattern.test(searchable(call));
}

function fits(group) {
  const test = inputs.test.value;
  if (test && group.anchor !== test && group.file !== test) return false;
  const outcome = inputs.outcome.value;
  if (outcome && !CALL_FILTERS[outcome] && group.outcome !== outcome) return false;
  const own = [group.id, group.message || "", ...strings([group.steps ?? [], group.checks ?? [], group.not_mocked ?? []])];
  group.named = Boolean(pattern) && own.some((text) => pattern.test(text));
  if (group.calls.some((call) => callFits(group, call))) return true;
  if (group.calls.length || inputs.model.value || CALL_FILTERS[outcome] || (pattern && !group.named)) return false;
  const shown = inputs.silent.checked || Boolean(outcome || test || group.steps) || isBad(group);
  if (!shown) hiddenWithoutCalls += 1;
  return shown;
}

function fillFilters() {
  inputs.model.append(option("", "All models"), ...report.models.map((model) => option(model.model_id, model.model_id)));
  inputs.outcome.append(option("", "All outcomes"), ...Object.keys(report.outcomes).map((outcome) => option(outcome, outcome)));
  if (report.outside_tests.length) inputs.outcome.append(option("outside", "outside tests"));
  inputs.outcome.append(...Object.entries(CALL_FILTERS).map(([value, [title]]) => option(value, title)));
  byId("silent-label").hidden = report.tests.every((test) => test.calls.length);
}

function fillTests() {
  const chosen = inputs.test.value;
  const file = anchors.get(chosen)?.file ?? chosen;
  const files = [...new Set(report.tests.map((test) => test.file))];
  inputs.test.replaceChildren(option("", "All tests"), ...files.map((name) => option(name, name)));
  if (file) {
    const members = make("optgroup", "", ...groups.filter((group) => group.file === file)
      .map((group) => option(group.anchor, group.anchor.slice(file.length + 2))));
    members.label = `Tests of ${file}`;
    inputs.test.append(members);
  }
  inputs.test.value = chosen;
}

function filterOutcome(outcome) {
  inputs.outcome.value = inputs.outcome.value === outcome ? "" : outcome;
  refresh();
}

function resetFilters(silent = false) {
  inputs.query.value = inputs.model.value = inputs.outcome.value = inputs.test.value = "";
  inputs.silent.checked = silent || noCalls;
  fillTests();
  refresh();
}
