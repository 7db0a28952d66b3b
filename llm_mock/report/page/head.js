// The head of the page: the sums of the run.

function skippedChecks() {
  const checks = report.tests.flatMap((test) => test.checks ?? []);
  const skipped = checks.filter((check) => check.status === "skipped").length;
  return skipped ? `${skipped.toLocaleString("en")} of ${count(checks.length, "check")} skipped in a dry run` : "";
}

function fillMutations() {
  const section = byId("mutations");
  const found = report.mutations;
  if (!found) {
    section.remove();
    return;
  }
  const total = `The tests notice ${found.noticed.toLocaleString("en")} of ${count(found.changes, "change")}`;
  const share = found.percent === null ? "" : ` (${found.percent} %)`;
  const early = found.interrupted ? `. Interrupted ${found.interrupted}` : ".";
  byId("mutation-sum").textContent = total + share + early;
  const describe = ({ change, call }) =>
    call ? `${change} (call ${call.number}${call.place ? ` at ${call.place}` : ""})` : change;
  const row = (name, changes, reason) => {
    const noticed = changes.filter((change) => change.noticed).length;
    const missed = changes.filter((change) => !change.noticed).map(describe);
    const items = make("ul", "", ...missed.map((text) => make("li", "", text)));
    const cells = [name, `${noticed} of ${changes.length}`, reason || items];
    return make("tr", "", ...cells.map((cell) => make("td", "", cell)));
  };
  const rules = new Map();
  for (const rule of found.rules) rules.set(rule.rule, [...(rules.get(rule.rule) ?? []), rule]);
  byId("mutation-rows").append(
    ...found.tests.map((test) => row(test.id, test.changes, test.not_changed)),
    ...[...rules].map(([rule, changes]) => row(rule, changes, "")));
}

function fillHead() {
  const calls = groups.flatMap((group) => group.calls);
  const total = sums(calls, report.tests);
  byId("facts").textContent = [
    count(report.tests.length, "test"), count(calls.length, "call"), count(total.tokens, "token"), cost(total),
    seconds(report.duration_s), new Date(report.created).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }),
    `llm ${report.llm}`, skippedChecks(), ...(report.scores ?? []),
    (total.unpriced || total.judges) && !report.provider_prices ? "for the prices of the providers: pip install 'pytest-llm-mock[cost]'" : "",
  ].filter(Boolean).join(" · ");
  byId("outcomes").append(...Object.entries(report.outcomes).map(([outcome, number]) => {
    const label = `${SIGNS[outcome] || "·"} ${number.toLocaleString("en")} ${outcome}`;
    const choose = button(label, () => filterOutcome(outcome), outcome);
    choose.dataset.outcome = outcome;
    return make("li", "", choose);
  }));
  const cells = (...values) => make("tr", "", ...values.map((value) => make("td", "", value)));
  const number = (value) => value.toLocaleString("en");
  byId("totals").append(...report.models.map((model) => {
    const name = button(model.model_id, () => {
      inputs.model.value = model.model_id;
      refresh();
    }, "");
    const price = model.cost_usd === null ? "unknown" : `${dollars(model.cost_usd)}${model.unpriced ? " + unknown" : ""}`;
    return cells(name, ...[model.calls, model.errors, model.unconfigured, model.input_tokens, model.output_tokens].map(number), price);
  }));
  const agentRows = (agents) => agents.map((agent) => cells(
    `${agent.rank ? `${agent.rank}. ` : ""}${agent.agent}`, `${number(agent.passed)} of ${number(agent.tests)}`,
    agent.tests ? `${Math.round((100 * agent.passed) / agent.tests)} %` : "–",
    ...[agent.runs, agent.turns, agent.tool_calls, agent.input_tokens + agent.output_tokens].map(number),
    dollars(agent.cost_usd), seconds(agent.duration_s)));
  const board = byId("leaderboard");
  byId("agent-totals").append(...agentRows(report.agents ?? []));
  for (const [part, agents] of Object.entries(report.agents_by ?? {})) {
    const table = board.querySelector("table").cloneNode(true);
    table.querySelector("th").textContent = part[0].toUpperCase() + part.slice(1);
    const body = table.querySelector("tbody");
    body.id = `agents-by-${part}`;
    body.replaceChildren(...agentRows(agents));
    board.append(table);
  }
  if (!report.agents?.length) byId("agents").remove();
  fillMutations();
  byId("models").hidden = !report.models.length;
  byId("models").open = report.models.length <= 6 && !matchMedia("(max-width: 44rem)").matches;
}
