"use strict";
// Everything that comes from tests and models is put into the page as text, never as markup.
(() => {
  const TESTS_AT_ONCE = 60;
  const TALKS_AT_ONCE = 25;
  const SHOWN_CHARACTERS = 1500;
  const SHOWN_CHUNKS = 300;
  const SHORT_JSON = 70;
  const SIGNS = { passed: "✓", failed: "✕", error: "!", skipped: "–", xfailed: "✓", xpassed: "?", rerun: "↻", outside: "○" };
  const CALL_FILTERS = {
    "calls:error": ["with a call that failed", (call) => call.error !== null],
    "calls:default": ["with a call answered by default", (call) => !call.configured],
  };

  const byId = (id) => document.getElementById(id);
  const source = byId("report");
  const report = JSON.parse(source.textContent);
  source.remove();

  // Making elements

  function make(tag, className, ...children) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  function button(label, action, className = "plain") {
    const element = make("button", className, label);
    element.type = "button";
    element.addEventListener("click", action);
    return element;
  }

  function option(value, label) {
    const element = make("option", "", label);
    element.value = value;
    return element;
  }

  // Numbers

  const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

  function dollars(amount) {
    if (amount === null) return "unknown";
    if (amount === 0) return "$0";
    const places = Math.max(2, 1 - Math.floor(Math.log10(amount)));
    return `$${amount.toFixed(Math.min(places, 20))}`;
  }

  function seconds(duration) {
    if (duration >= 60) return `${Math.floor(duration / 60)} min ${Math.round(duration % 60)} s`;
    return duration >= 1 ? `${duration.toFixed(1)} s` : `${Math.max(1, Math.round(duration * 1000))} ms`;
  }

  function sums(calls) {
    const total = { tokens: 0, cost: null, unpriced: 0, errors: 0 };
    for (const call of calls) {
      total.tokens += (call.usage.input_tokens || 0) + (call.usage.output_tokens || 0);
      total.errors += call.error === null ? 0 : 1;
      if (call.cost_usd === null) total.unpriced += 1;
      else total.cost = (total.cost || 0) + call.cost_usd;
    }
    return total;
  }

  function cost(total) {
    if (total.cost === null) return "cost unknown";
    return dollars(total.cost) + (total.unpriced ? ` and ${count(total.unpriced, "call")} of unknown cost` : "");
  }

  // The tests, and the groups of calls outside tests

  const groups = [
    ...report.outside_tests.map((group) => ({
      id: `Outside tests: ${group.during}`, during: group.during,
      file: "", outcome: "outside", message: null, duration_s: null, worker: group.worker, calls: group.calls,
    })),
    ...report.tests,
  ];
  const anchors = new Map();
  groups.forEach((group, position) => {
    let anchor = group.id;
    for (let again = 2; anchors.has(anchor); again += 1) anchor = `${group.id} (${again})`;
    anchors.set(anchor, group);
    Object.assign(group, { anchor, position, open: false });
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

  // What is listed

  const noCalls = groups.every((group) => !group.calls.length);
  const inputs = { query: byId("query"), test: byId("test"), model: byId("model"), outcome: byId("outcome"), silent: byId("silent") };
  let pattern = null;
  let listed = [];
  let rendered = 0;
  let allOpen = false;

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
    const own = [group.id, group.message || "", ...strings(group.steps ?? [])];
    group.named = Boolean(pattern) && own.some((text) => pattern.test(text));
    if (group.calls.some((call) => callFits(group, call))) return true;
    if (group.calls.length || inputs.model.value || CALL_FILTERS[outcome] || (pattern && !group.named)) return false;
    return inputs.silent.checked || Boolean(outcome || test || group.steps) || ["failed", "error"].includes(group.outcome);
  }

  let pause;

  function refresh() {
    clearTimeout(pause);
    pattern = asPattern(inputs.query.value, "i");
    listed = groups.filter(fits);
    rendered = 0;
    byId("tests").replaceChildren();
    const tests = listed.filter((group) => group.outcome !== "outside").length;
    const calls = listed.reduce((sum, group) => sum + group.calls.filter((call) => callFits(group, call)).length, 0);
    byId("count").textContent = `${count(tests, "test")}, ${count(calls, "call")}`;
    byId("nothing").hidden = listed.length > 0;
    renderMore();
  }

  function renderMore(until = rendered + (allOpen ? TESTS_AT_ONCE / 6 : TESTS_AT_ONCE)) {
    const next = listed.slice(rendered, until);
    rendered += next.length;
    byId("tests").append(...next.map(renderTest));
    byId("more").hidden = rendered >= listed.length;
  }

  // One test

  function renderTest(group) {
    const outside = group.outcome === "outside";
    const [name, ...rest] = outside ? [group.during, "Outside tests"] : group.id.split("::").reverse();
    const total = sums(group.calls);
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
      group.worker ? make("span", "", `on ${group.worker}`) : null, link));
    if (group.message) {
      const bad = ["failed", "error"].includes(group.outcome);
      body.append(make("div", `reason${bad ? "" : " quiet"}`, textBlock(group.message, "text small")));
    }
    if (group.steps) body.append(make("ol", "steps", ...group.steps.map(renderStep)));
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

  const STEP_OUTCOMES = { pass: "passed", fail: "failed", skip: "skipped" };

  function renderStep(step) {
    const outcome = STEP_OUTCOMES[step.status] || "";
    const sign = make("span", `sign ${outcome}`, SIGNS[outcome] || "·");
    sign.role = "img";
    sign.ariaLabel = outcome;
    const output = step.tool_output;
    return make("li", "",
      make("div", "", sign, " ", make("b", "", ...marked(step.name))),
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

  // Conversations

  function talksOf(calls) {
    const talks = new Map();
    calls.forEach((call, position) => {
      const key = call.conversation === null ? position : call.conversation;
      if (!talks.has(key)) talks.set(key, []);
      talks.get(key).push(call);
    });
    return [...talks.values()];
  }

  function renderTalk(calls) {
    const models = [...new Set(calls.map((call) => call.model_id))];
    const total = sums(calls);
    const about = calls.length > 1 ? [`conversation of ${calls.length} calls`, count(total.tokens, "token"), cost(total)] : [];
    return make("section", "talk",
      make("h3", "", make("span", "model", ...marked(models.join(", "))), make("span", "muted", about.join(" · "))),
      ...calls.map((call) => renderCall(call, models.length > 1)));
  }

  function renderCall(call, namesModel) {
    const messages = call.messages.map((message) => renderMessage(message.role, message.parts.map(renderPart)));
    return make("article", "call", ...messages, renderAnswer(call), renderMeta(call, namesModel));
  }

  const ROLES = { system: "System", user: "User", assistant: "Assistant", tool: "Tool" };

  function renderMessage(role, parts, className = "") {
    return make("div", `message ${className}`, make("div", "role", ROLES[role] || role), make("div", "", ...parts));
  }

  const label = (kind, name) => make("div", "label", `${kind} `, name ? make("code", "", ...marked(name)) : null);

  function renderPart(part) {
    switch (part.type) {
      case "tool_call":
        return make("div", "part", label("calls the tool", part.name), json(part.arguments));
      case "tool_result":
        return make("div", "part",
          label("result of", part.name),
          part.exception ? make("div", "problem", ...marked(part.exception)) : null,
          textBlock(typeof part.output === "string" ? part.output : JSON.stringify(part.output)),
          ...(part.attachments || []).map(renderAttachment));
      case "reasoning":
        return make("div", "part thought", textBlock(part.text));
      case "attachment":
        return renderAttachment(part.attachment);
      default:
        return make("div", "part", textBlock(part.text ?? JSON.stringify(part)));
    }
  }

  function renderAttachment(attachment) {
    const facts = [attachment.type || "unknown type", attachment.path || attachment.url];
    if (attachment.bytes !== undefined) facts.push(count(attachment.bytes, "byte"));
    if (attachment.sha256) facts.push(`sha256 ${attachment.sha256.slice(0, 12)}…`);
    return make("div", "part label", ...marked(`attachment: ${facts.filter(Boolean).join(", ")}`));
  }

  function renderAnswer(call) {
    const response = call.response || {};
    const parts = [];
    if (response.reasoning) parts.push(make("div", "part thought", label("reasoning"), textBlock(response.reasoning)));
    if (response.text) parts.push(make("div", "part", textBlock(response.text)));
    for (const made of response.tool_calls || []) parts.push(renderPart({ ...made, type: "tool_call" }));
    for (const attachment of response.attachments || []) parts.push(renderAttachment(attachment));
    if (call.error) {
      const raised = [call.error.type, call.error.message].filter(Boolean);
      const said = raised[0] === raised[1] ? raised[0] : raised.join(": ");
      parts.push(make("div", "part problem", ...marked(`${parts.length ? "then raised " : "raised "}${said}`)));
    }
    if (!parts.length) parts.push(make("div", "muted", call.response ? "(an empty answer)" : "(no answer was read)"));
    return renderMessage("assistant", parts, call.error ? "answer broken" : "answer");
  }

  function renderMeta(call, namesModel) {
    const { input_tokens: sent, output_tokens: received, details } = call.usage;
    const response = call.response || {};
    const facts = [`call ${call.number}`, namesModel ? call.model_id : null];
    if (call.resolved_model) facts.push(`answered by ${call.resolved_model}`);
    if (sent !== null || received !== null) facts.push(`${sent ?? "?"} tokens in, ${received ?? "?"} out`);
    facts.push(call.cost_usd === null ? "cost unknown" : dollars(call.cost_usd));
    if (response.duration_ms !== undefined) facts.push(seconds(response.duration_ms / 1000));
    facts.push(call.timestamp.slice(11, 19));
    const meta = make("div", "meta", ...facts.filter(Boolean).map((fact) => make("span", "", ...marked(fact))));
    if (!call.configured) meta.append(make("span", "default", "answered by default"));
    if (call.not_described) meta.append(make("span", "problem", `not shown: ${call.not_described}`));
    if (call.schema) meta.append(folded(`schema ${call.schema.name}`, () => [json(call.schema.json ?? call.schema.name)]));
    if (call.tools.length) {
      meta.append(folded(count(call.tools.length, "tool"), () => call.tools.map((tool) => make("div", "part",
        make("div", "label", make("code", "", ...marked(tool.name)), tool.description ? `  ${tool.description}` : ""),
        tool.input_schema ? json(tool.input_schema) : null))));
    }
    if (Object.keys(call.options).length) meta.append(folded("options", () => [json(call.options)]));
    if (response.chunks) meta.append(folded(count(response.chunks.length, "chunk"), () => [renderChunks(response.chunks)]));
    if (details) meta.append(folded("usage", () => [json(details)]));
    if (response.raw !== undefined) meta.append(folded("raw answer", () => [json(response.raw)]));
    return meta;
  }

  function folded(title, fill) {
    const element = make("details", "", make("summary", "", ...marked(title)));
    element.addEventListener("toggle", () => {
      if (element.open && element.childElementCount === 1) element.append(make("div", "part", ...fill()));
    });
    return element;
  }

  function renderChunks(chunks) {
    const shown = chunks.slice(0, SHOWN_CHUNKS).map((chunk) => {
      const text = typeof chunk === "string" ? chunk : chunk.chunk ?? "";
      const kind = typeof chunk === "string" || chunk.type === "text" ? "" : `${chunk.type}: `;
      return make("span", "chunk", `${kind}${text}`);
    });
    const rest = chunks.length - shown.length;
    return make("div", "text small", ...shown.flatMap((chunk) => [chunk, " "]), rest > 0 ? `… and ${rest} more` : "");
  }

  // Texts

  function marked(text) {
    const found = asPattern(inputs.query.value, "gi");
    if (!found || !text) return [text];
    const nodes = [];
    let end = 0;
    for (const match of text.matchAll(found)) {
      nodes.push(text.slice(end, match.index), make("mark", "", match[0]));
      end = match.index + match[0].length;
    }
    return [...nodes, text.slice(end)];
  }

  function textBlock(text, className = "text") {
    const start = text.trimStart()[0];
    if (start === "{" || start === "[") {
      try {
        return json(JSON.parse(text));
      } catch { /* it only looks like JSON */ }
    }
    return shortened(text, make("div", className), marked);
  }

  function json(value) {
    if (typeof value === "string") return shortened(value, make("pre", "code"), marked);
    return shortened(pretty(value, ""), make("pre", "code"), colored);
  }

  function pretty(value, indent) {
    const line = JSON.stringify(value, null, 1).replace(/\n\s*/g, " ");
    if (line.length + indent.length <= SHORT_JSON || value === null || typeof value !== "object") return line;
    const inner = `${indent}  `;
    const [open, close] = Array.isArray(value) ? "[]" : "{}";
    const items = Object.entries(value).map(([key, item]) =>
      `${inner}${open === "[" ? "" : `${JSON.stringify(key)}: `}${pretty(item, inner)}`);
    return `${open}\n${items.join(",\n")}\n${indent}${close}`;
  }

  function colored(text) {
    const nodes = [];
    let end = 0;
    for (const token of text.matchAll(/"(?:[^"\\]|\\.)*"/g)) {
      if (text[token.index + token[0].length] !== ":") continue;
      nodes.push(...marked(text.slice(end, token.index)), make("span", "key", ...marked(token[0])));
      end = token.index + token[0].length;
    }
    return [...nodes, ...marked(text.slice(end))];
  }

  function shortened(text, element, nodes) {
    if (text.length <= SHOWN_CHARACTERS * 1.3 || (pattern && pattern.test(text.slice(SHOWN_CHARACTERS)))) {
      element.append(...nodes(text));
      return element;
    }
    element.append(...nodes(text.slice(0, SHOWN_CHARACTERS)), "…");
    const more = button(`Show all ${text.length.toLocaleString("en")} characters`, () => {
      element.replaceChildren(...nodes(text));
      more.remove();
    });
    return make("div", "", element, more);
  }

  // The head of the page

  function fillHead() {
    const calls = groups.flatMap((group) => group.calls);
    const total = sums(calls);
    byId("facts").textContent = [
      count(report.tests.length, "test"), count(calls.length, "call"), count(total.tokens, "token"), cost(total),
      seconds(report.duration_s), new Date(report.created).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }),
      `llm ${report.llm}`,
    ].join(" · ");
    byId("outcomes").append(...Object.entries(report.outcomes).map(([outcome, number]) =>
      make("li", outcome, `${SIGNS[outcome] || "·"} ${number.toLocaleString("en")} ${outcome}`)));
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
    byId("agent-totals").append(...(report.agents ?? []).map((agent) => cells(
      agent.agent, `${number(agent.passed)} of ${number(agent.tests)}`,
      agent.tests ? `${Math.round((100 * agent.passed) / agent.tests)} %` : "–",
      ...[agent.runs, agent.turns, agent.tool_calls, agent.input_tokens + agent.output_tokens].map(number),
      dollars(agent.cost_usd), seconds(agent.duration_s))));
    if (!report.agents?.length) byId("agents").remove();
    byId("models").hidden = !report.models.length;
    byId("models").open = report.models.length <= 6 && !matchMedia("(max-width: 44rem)").matches;
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

  // Keys, links, scrolling

  const heads = () => [...document.querySelectorAll("#tests > li > h2 > button")];

  function move(step) {
    let all = heads();
    const here = document.activeElement?.closest("#tests > li");
    let position = here ? all.findIndex((head) => here.contains(head)) + step : step > 0 ? 0 : -1;
    if (position >= all.length && rendered < listed.length) {
      renderMore();
      all = heads();
    }
    position = Math.min(Math.max(position, 0), all.length - 1);
    all[position]?.focus();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inField = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape" && inputs.query.value) {
      inputs.query.value = "";
      refresh();
    } else if (inField) {
      if (event.key === "Enter" || (event.key === "ArrowDown" && event.target === inputs.query)) {
        if (event.target === inputs.query) {
          event.preventDefault();
          refresh();
          move(1);
        }
      } else if (event.key === "Escape") event.target.blur();
      return;
    } else if (event.key === "/") inputs.query.focus();
    else if (event.key === "j" || (event.key === "ArrowDown" && event.target.matches?.("#tests h2 > button"))) move(1);
    else if (event.key === "k" || (event.key === "ArrowUp" && event.target.matches?.("#tests h2 > button"))) move(-1);
    else return;
    event.preventDefault();
  });

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

  function resetFilters(silent = false) {
    inputs.query.value = inputs.model.value = inputs.outcome.value = inputs.test.value = "";
    inputs.silent.checked = silent || noCalls;
    fillTests();
    refresh();
  }

  inputs.query.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(refresh, 150);
  });
  for (const name of ["model", "outcome", "silent"]) inputs[name].addEventListener("change", refresh);
  inputs.test.addEventListener("change", () => {
    fillTests();
    refresh();
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("reset").addEventListener("click", () => resetFilters());
  byId("more").addEventListener("click", () => renderMore());
  byId("toggle-all").addEventListener("click", (event) => {
    allOpen = !allOpen;
    groups.forEach((group) => { group.open = allOpen; });
    event.target.textContent = allOpen ? "Close all" : "Open all";
    refresh();
  });
  new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting) && rendered < listed.length) renderMore();
  }, { rootMargin: "600px" }).observe(byId("more"));
  addEventListener("hashchange", showLinked);

  fillHead();
  fillFilters();
  resetFilters();
  showLinked();
  document.documentElement.dataset.ready = "true";
})();
