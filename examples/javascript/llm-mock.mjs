// The part of a server of `llm-mock serve` that belongs to one test. Copy this file into your project.

const SERVER = process.env.LLM_MOCK_URL ?? "http://127.0.0.1:8080";
const TOKEN = process.env.LLM_MOCK_CONTROL_TOKEN; // for a server in a container

export class LLMMock {
  constructor(name, server = SERVER) {
    this.url = `${server}/t/${name}`;
  }

  /** The base URL for OpenAI's SDK; that of Anthropic's is `${mock.url}/anthropic`. */
  get openaiURL() {
    return `${this.url}/openai/v1`;
  }

  /** Set replies, each as in a script of `llm-mock serve`. */
  async reply(...replies) {
    await this.#control("replies", { replies });
  }

  /** Set replies that are used once, in order; the test fails if one stays unused. */
  async add(...replies) {
    await this.reply(...replies.map((reply) => ({ times: 1, ...reply })));
  }

  /** Make the models misbehave, in each call or as many `times`. */
  async misbehave(name, times = null) {
    await this.#control("misbehave", { name, times });
  }

  async calls() {
    return (await this.#control("calls")).calls;
  }

  async verdict() {
    return await this.#control("verdict");
  }

  async reset() {
    await this.#control("reset", {});
  }

  async #control(name, body) {
    const method = body === undefined ? "GET" : "POST";
    const headers = TOKEN ? { authorization: `Bearer ${TOKEN}` } : {};
    const options = { method, headers, body: JSON.stringify(body) };
    const response = await fetch(`${this.url}/_llm_mock/${name}`, options);
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error.message);
    return answer;
  }
}

/** Return the mock of a test, from the context that `node:test` gives it; its verdict is asked for when the test ends. */
export async function mockOf(t) {
  const mock = new LLMMock(t.name.replace(/[^A-Za-z0-9]+/g, "-").slice(0, 100));
  await mock.reset();
  t.after(async () => {
    const { passed, message } = await mock.verdict();
    if (!passed) throw new Error(message);
  });
  return mock;
}
