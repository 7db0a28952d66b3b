// Calls, and the conversations that they belong to.

const SHOWN_CHUNKS = 300;

const talksOf = (calls) => [...Map.groupBy(calls, (call) => call.conversation ?? call).values()];

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

const ROLES = { system: "System", user: "User", assistant: "Assistant", tool: "Tool", application: "Output" };

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
  if (response.checked) parts.push(make("div", "part", label("checked"), textBlock(response.checked)));
  for (const made of response.tool_calls || []) {
    parts.push(renderPart({ ...made, type: "tool_call" }));
    // What an application sent back; the report of a test run has it in the next call.
    if (typeof made.result === "string") parts.push(renderPart({ type: "tool_result", name: made.name, output: made.result }));
  }
  for (const attachment of response.attachments || []) parts.push(renderAttachment(attachment));
  if (call.error && call.error.message === null) {
    parts.push(make("div", "part problem", "failed, see above"));
  } else if (call.error) {
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
