// The head of the page: the sums of the run.

function skippedChecks() {
  const checks = report.tests.flatMap((test) => test.checks ?? []);
  const skipped = checks.filter((check) => check.status === "skipped").length;
  return skipped ? `${skipped.toLocaleString("en")} of ${count(checks.length, "check")} skipped in a dry run` : "";
}

function fillHead() {
  const calls = groups.flatMap((group) => group.calls);
  const total = sums(calls);
  byId("facts").textContent = [
    count(report.tests.length, "test"), count(calls.length, "call"), count(total.tokens, "token"), cost(total),
    seconds(report.duration_s), new Date(report.created).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }),
    `llm ${report.llm}`, skippedChecks(), ...(report.scores ?? []),
    total.unpriced && !report.provider_prices ? "for the prices of the providers: pip install 'pytest-llm-mock[cost]'" : "",
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
  byId("models").hidden = !report.models.length;
  byId("models").open = report.models.length <= 6 && !matchMedia("(max-width: 44rem)").matches;
}
