// Texts and JSON: shortened, with what was searched for marked.

const SHOWN_CHARACTERS = 1500;
const SHORT_JSON = 70;

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
