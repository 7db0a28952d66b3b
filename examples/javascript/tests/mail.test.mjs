import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Assistant } from "../assistant.mjs";
import { mockOf } from "../llm-mock.mjs";

const MAIL = "My invoice is wrong, call me today!";
const TOPIC = { topic: "invoice", urgent: true };

describe("mail", { concurrency: true }, () => {
  test("a mail has the topic that the model gives", async (t) => {
    const mock = await mockOf(t);
    await mock.reply({ schema: "Topic", data: TOPIC });
    assert.deepEqual(await new Assistant({ baseURL: mock.openaiURL }).sort(MAIL), TOPIC);
  });

  test("JSON in a fence is read", async (t) => {
    const mock = await mockOf(t);
    await mock.reply({ data: TOPIC });
    await mock.misbehave("fenced-json");
    assert.deepEqual(await new Assistant({ baseURL: mock.openaiURL }).sort(MAIL), TOPIC);
    const [call] = await mock.calls();
    assert.match(call.response, /^```json\n/);
  });

  test("a rate limit is waited for", async (t) => {
    const mock = await mockOf(t);
    await mock.add({ error: "rate-limit" }, { data: TOPIC });
    assert.deepEqual(await new Assistant({ baseURL: mock.openaiURL }).sort(MAIL), TOPIC);
    assert.equal((await mock.calls()).length, 2);
  });

  test("three rate limits are too many", async (t) => {
    const mock = await mockOf(t);
    await mock.misbehave("rate-limit");
    await assert.rejects(new Assistant({ baseURL: mock.openaiURL }).sort(MAIL), /Rate limit/);
    assert.equal((await mock.calls()).length, 3);
  });
});
