// The report that the page carries: its tests, the groups of calls outside tests, and what can be searched in them.

const source = byId("report");
const report = JSON.parse(source.textContent);
source.remove();

const BAD = ["failed", "error", "interrupted"];
const OPEN_FAILURES = 10;

const isBad = (test) => BAD.includes(test.outcome);
const groups = [
  ...report.tests.filter(isBad),
  ...report.outside_tests.map((group) => ({
    id: `Outside tests: ${group.during}`, during: group.during,
    file: "", outcome: "outside", message: null, duration_s: null, worker: group.worker, calls: group.calls,
  })),
  ...report.tests.filter((test) => !isBad(test)),
];
const anchors = new Map();
groups.forEach((group, position) => {
  let anchor = group.id;
  for (let again = 2; anchors.has(anchor); again += 1) anchor = `${group.id} (${again})`;
  anchors.set(anchor, group);
  Object.assign(group, { anchor, position, open: isBad(group) && position < OPEN_FAILURES });
});

function* strings(value) {
  if (typeof value === "string") yield value;
  else if (value !== null && typeof value === "object") for (const item of Object.values(value)) yield* strings(item);
}

function searchable(call) {
  call.searched ??= [
    ...strings([call.model_id, call.resolved_model, call.messages, call.options, call.response, call.error]),
    ...strings([call.schema && call.schema.name, call.tools.map((tool) => tool.name)]),
  ].join("\0");
  return call.searched;
}
