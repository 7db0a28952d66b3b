// An assistant that knows the weather, and sorts mail. It asks OpenAI's Chat Completions with `fetch` alone.

const FORECASTS = { Bern: "sunny", Oslo: "snow" };
const TOOL = {
  type: "function",
  function: {
    name: "weather",
    description: "Return the weather of a city.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const TOPIC = {
  type: "object",
  properties: { topic: { type: "string" }, urgent: { type: "boolean" } },
  required: ["topic", "urgent"],
  additionalProperties: false,
};
const ATTEMPTS = 3;

export class Assistant {
  constructor({ baseURL = process.env.OPENAI_BASE_URL, apiKey = process.env.OPENAI_API_KEY ?? "none" } = {}) {
    this.url = `${baseURL}/chat/completions`;
    this.headers = { "content-type": "application/json", authorization: `Bearer ${apiKey}` };
  }

  /** Answer a question; the model may look up the weather. */
  async answer(question, { system } = {}) {
    const messages = system ? [{ role: "system", content: system }] : [];
    messages.push({ role: "user", content: question });
    for (let turn = 0; turn < 5; turn++) {
      const message = await this.#complete({ messages, tools: [TOOL] });
      if (!message.tool_calls) return message.content;
      messages.push(message);
      for (const call of message.tool_calls) {
        const { city } = JSON.parse(call.function.arguments);
        messages.push({ role: "tool", tool_call_id: call.id, content: FORECASTS[city] ?? "unknown" });
      }
    }
    throw new Error("The model does not stop to call tools.");
  }

  /** Return the topic of a mail, and whether it is urgent. */
  async sort(mail) {
    const message = await this.#complete({
      messages: [{ role: "user", content: `Which topic has this mail?\n${mail}` }],
      response_format: { type: "json_schema", json_schema: { name: "Topic", schema: TOPIC, strict: true } },
    });
    // Some models put their JSON into a fence.
    return JSON.parse(message.content.replace(/^```\w*\n|\n```$/g, ""));
  }

  /** Yield an answer piece by piece. */
  async *stream(question) {
    const response = await this.#send({ messages: [{ role: "user", content: question }], stream: true });
    let rest = "";
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      const events = (rest + text).split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const data = event.replace(/^data: /, "");
        const piece = data === "[DONE]" ? null : JSON.parse(data).choices[0]?.delta.content;
        if (piece) yield piece;
      }
    }
  }

  async #complete(body) {
    const response = await this.#send(body);
    return (await response.json()).choices[0].message;
  }

  async #send(body) {
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(this.url, {
        method: "POST",
        headers: this.headers,
        body: JSON.stringify({ model: "gpt-4o-mini", ...body }),
      });
      if (response.ok) return response;
      const message = (await response.json()).error.message;
      if (response.status !== 429 || attempt === ATTEMPTS) throw new Error(message);
      await new Promise((resolve) => setTimeout(resolve, Number(response.headers.get("retry-after-ms") ?? 1000)));
    }
  }
}
