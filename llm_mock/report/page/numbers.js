// Numbers as people read them, and the sums of calls.

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

function sums(calls, judged = []) {
  const total = { tokens: 0, cost: null, unpriced: 0, errors: 0, judges: false };
  for (const call of calls) {
    total.tokens += (call.usage.input_tokens || 0) + (call.usage.output_tokens || 0);
    total.errors += call.error === null ? 0 : 1;
    if (call.cost_usd === null) total.unpriced += 1;
    else total.cost = (total.cost || 0) + call.cost_usd;
  }
  for (const { judges } of judged) {
    if (!judges) continue;
    total.tokens += judges.tokens;
    if (judges.cost_usd === null) total.judges = true;
    else total.cost = (total.cost || 0) + judges.cost_usd;
  }
  return total;
}

function cost(total) {
  if (total.cost === null) return "cost unknown";
  const unknown = [total.unpriced ? count(total.unpriced, "call") : "", total.judges ? "judges" : ""].filter(Boolean).join(" and ");
  return dollars(total.cost) + (unknown ? ` and ${unknown} of unknown cost` : "");
}
