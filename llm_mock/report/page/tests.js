// A test of the list: its head, and what is seen when it is open.

const TALKS_AT_ONCE = 25;
const SIGNS = { passed: "✓", failed: "✕", error: "!", skipped: "–", "not checked": "◌", xfailed: "✓", xpassed: "?", rerun: "↻", interrupted: "■", outside: "○" };

function renderTest(group) {
  const outside = group.outcome === "outside";
  const [name, ...rest] = outside ? [group.during, "Outside tests"] : group.id.split("::").reverse();
  const total = sums(group.calls, [group]);
  const sign = make("span", `sign ${group.outcome}`, SIGNS[group.outcome] || "·");
  sign.setAttribute("aria-hidden", "true");
  const head = make(
    "button", "", sign,
    make("span", "", make("span", "file", ...marked(rest.reverse().join(" › "))), make("span", "case", ...marked(name))),
    make("span", "numbers",
      outside ? null : make("b", group.outcome, group.outcome), outside ? "" : " · ", count(group.calls.length, "call"),
      total.errors ? ` (${total.errors} failed)` : "",
      make("br"),
      group.calls.length ? `${count(total.tokens, "token")} · ${cost(total)}` : "no model asked",
      group.reruns ? ` · ${count(group.reruns.length, "rerun")}` : "",
      group.repeats ? ` · ${group.repeats.passed} of ${group.repeats.runs} runs passed` : "",
      group.steps ? ` · ${count(group.steps.length, "step")}` : ""),
  );
  const body = make("div", "body");
  const item = make("li", "test", make("h2", "", head), body);
  head.type = "button";
  item.dataset.anchor = group.anchor;
  body.id = `body-${group.position}`;
  head.setAttribute("aria-controls", body.id);
  const show = (open) => {
    group.open = open;
    head.setAttribute("aria-expanded", String(open));
    body.hidden = !open;
    if (open && !body.hasChildNodes()) fillBody(group, body);
  };
  head.addEventListener("click", () => show(!group.open));
  show(group.open || allOpen);
  return item;
}

function fillBody(group, body) {
  const link = make("a", "link", "Link to this test");
  link.href = `#${encodeURIComponent(group.anchor)}`;
  body.append(make("div", "about",
    group.duration_s === null ? null : make("span", "", `took ${seconds(group.duration_s)}`),
    group.pass_rate ? make("span", "", `pass rate ${group.pass_rate}`) : null,
    group.score ? make("span", "", group.score) : null,
    group.cassette ? make("span", "", group.cassette) : null,
    group.worker ? make("span", "", `on ${group.worker}`) : null, link));
  if (group.message) body.append(renderReason(group));
  if (group.not_mocked) body.append(make("div", "reason quiet", textBlock(group.not_mocked.join("\n"), "text mono")));
  if (group.runs) body.append(make("ol", "steps", ...group.runs.map(renderRun)));
  if (group.checks) body.append(make("ol", "steps", ...group.checks.map((check) => renderCheck(check, group.runs))));
  const reruns = (group.reruns || []).map((run, position) => ({ ...run, run: position + 1 }));
  for (const run of [...reruns, ...(group.repeats?.failures ?? [])])
    body.append(make("div", "reason quiet", make("b", "", `Run ${run.run} failed after ${seconds(run.duration_s)}`),
      textBlock(run.message || "", "text mono")));
  if (group.steps) body.append(make("ol", "steps", ...group.steps.map(renderStep)));
  if (group.turns) body.append(make("section", "talk", make("h3", "", "Application"), ...group.turns.map(renderTurn)));
  const talks = talksOf(group.calls);
  const fitting = talks.filter((talk) => talk.some((call) => callFits(group, call)));
  appendInBatches(body, fitting, () => {
    const others = talks.filter((talk) => !fitting.includes(talk));
    if (!others.length || !fitting.length) return appendInBatches(body, others);
    const number = others.reduce((sum, talk) => sum + talk.length, 0);
    const more = button(`Show ${count(number, "call")} that ${number === 1 ? "does" : "do"} not fit the filters`, () => {
      more.remove();
      appendInBatches(body, others);
    });
    more.classList.add("spaced");
    body.append(more);
  });
}

function renderTurn(turn) {
  const answer = [turn.output ? textBlock(turn.output) : make("div", "muted", "(no output)")];
  if (turn.checked !== null) answer.push(make("div", "part", label("checked"), textBlock(turn.checked)));
  if (turn.error !== null) answer.push(make("div", "part problem", ...marked(turn.error)));
  return make("article", "call",
    renderMessage("user", [textBlock(turn.prompt)]), renderMessage("application", answer, turn.error ? "answer broken" : "answer"));
}

function renderReason(group) {
  const reason = make("div", `reason${isBad(group) ? "" : " quiet"}`, textBlock(group.message, "text mono"));
  if (group.traceback) {
    const [place] = group.traceback.trimEnd().split("\n").slice(-1);
    reason.append(make("div", "muted mono", ...marked(place)),
      folded("Traceback", () => [make("pre", "code", ...marked(group.traceback))]));
  }
  return reason;
}

function renderRun(run, position) {
  const tokens = run.input_tokens + run.output_tokens;
  return make("li", "",
    make("div", "", signOf(run.status), " ", make("b", "", `Run ${position + 1} of `, ...marked(run.agent)),
      ` · ${count(run.turns, "turn")} · ${count(run.tool_calls.length, "tool call")} · ${count(tokens, "token")}`),
    make("div", "muted", ...marked(run.error ?? run.output)));
}

function renderCheck(check, runs = []) {
  const run = check.run && runs.length > 1 ? `run ${check.run}: ` : "";
  return make("li", "", signOf(check.status), " ", run, ...marked(check.message));
}

function signOf(outcome) {
  const sign = make("span", `sign ${outcome}`, SIGNS[outcome] || "·");
  sign.role = "img";
  sign.ariaLabel = outcome;
  return sign;
}

const STEP_OUTCOMES = { pass: "passed", fail: "failed", skip: "skipped" };

function renderStep(step) {
  const output = step.tool_output;
  return make("li", "",
    make("div", "", signOf(STEP_OUTCOMES[step.status] || ""), " ", make("b", "", ...marked(step.name))),
    step.details ? make("div", "muted", ...marked(step.details)) : null,
    output === null || output === undefined ? null : json(output));
}

function appendInBatches(body, talks, atEnd = () => {}) {
  body.append(...talks.slice(0, TALKS_AT_ONCE).map(renderTalk));
  const rest = talks.slice(TALKS_AT_ONCE);
  if (!rest.length) return atEnd();
  const more = button(`Show more calls (${rest.reduce((sum, talk) => sum + talk.length, 0).toLocaleString("en")})`, () => {
    const focused = document.activeElement === more;
    const last = more.previousElementSibling;
    more.remove();
    appendInBatches(body, rest, atEnd);
    if (focused && last && last.nextElementSibling) last.nextElementSibling.querySelector("summary, button")?.focus();
  });
  body.append(more);
}
