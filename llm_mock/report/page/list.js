// The list of the tests that fit.

const TESTS_AT_ONCE = 60;
let listed = [];
let rendered = 0;
let allOpen = false;
let pause;

function refresh() {
  clearTimeout(pause);
  pattern = asPattern(inputs.query.value, "i");
  hiddenWithoutCalls = 0;
  listed = groups.filter(fits);
  rendered = 0;
  byId("tests").replaceChildren();
  const tests = listed.filter((group) => group.outcome !== "outside").length;
  const calls = listed.reduce((sum, group) => sum + group.calls.filter((call) => callFits(group, call)).length, 0);
  const hidden = hiddenWithoutCalls ? `; ${count(hiddenWithoutCalls, "test")} ran without calls` : "";
  byId("count").textContent = `${count(tests, "test")}, ${count(calls, "call")}${hidden}`;
  for (const chosen of document.querySelectorAll("#outcomes button"))
    chosen.setAttribute("aria-pressed", String(chosen.dataset.outcome === inputs.outcome.value));
  byId("nothing").hidden = listed.length > 0;
  renderMore();
}

function renderMore(until = rendered + (allOpen ? TESTS_AT_ONCE / 6 : TESTS_AT_ONCE)) {
  const next = listed.slice(rendered, until);
  rendered += next.length;
  byId("tests").append(...next.map(renderTest));
  byId("more").hidden = rendered >= listed.length;
}

function showLinked() {
  let group;
  try {
    group = anchors.get(decodeURIComponent(location.hash.slice(1)));
  } catch { /* not one of our links */ }
  if (!group) return;
  if (!listed.includes(group)) resetFilters(group.calls.length === 0);
  const position = listed.indexOf(group);
  if (position >= rendered) renderMore(position + TESTS_AT_ONCE);
  const item = document.querySelector("#tests").children[position];
  const head = item.querySelector("button");
  if (head.getAttribute("aria-expanded") === "false") head.click();
  head.focus({ preventScroll: true });
  item.scrollIntoView({ block: "start" });
}
