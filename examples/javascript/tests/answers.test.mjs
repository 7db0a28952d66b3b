import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Assistant } from "../assistant.mjs";
import { mockOf } from "../llm-mock.mjs";

const QUESTION = "Do I need a coat in Oslo?";

describe("answers", { concurrency: true }, () => {
  test("an answer is the text of the model", async (t) => {
    const mock = await mockOf(t);
    await mock.reply({ text: "Yes." });
    assert.equal(await new Assistant({ baseURL: mock.openaiURL }).answer(QUESTION), "Yes.");
    const [call] = await mock.calls();
    assert.equal(call.prompt, QUESTION);
    assert.equal(call.model_id, "gpt-4o-mini");
  });

  test("the same question has another answer in another test", async (t) => {
    const mock = await mockOf(t);
    await mock.reply({ text: "No." });
    assert.equal(await new Assistant({ baseURL: mock.openaiURL }).answer(QUESTION), "No.");
    assert.equal((await mock.calls()).length, 1);
  });

  test("the weather is looked up and handed to the model", async (t) => {
    const mock = await mockOf(t);
    await mock.add(
      { tool_calls: { name: "weather", arguments: { city: "Oslo" } } },
      { tool_result: "snow", text: "Take a coat." },
    );
    assert.equal(await new Assistant({ baseURL: mock.openaiURL }).answer(QUESTION), "Take a coat.");
    const [first, second] = await mock.calls();
    assert.deepEqual(first.tools.map((tool) => tool.name), ["weather"]);
    assert.deepEqual(second.kwargs.tool_results, [{ name: "weather", output: "snow" }]);
  });

  test("a city without a forecast is unknown to the model", async (t) => {
    const mock = await mockOf(t);
    await mock.add({ tool_calls: { name: "weather", arguments: { city: "Ur" } } }, { text: "I cannot say." });
    assert.equal(await new Assistant({ baseURL: mock.openaiURL }).answer("And in Ur?"), "I cannot say.");
    const [, second] = await mock.calls();
    assert.equal(second.kwargs.tool_results[0].output, "unknown");
  });

  test("the system prompt is sent", async (t) => {
    const mock = await mockOf(t);
    await mock.add({ system: "pirate", text: "Arr!" });
    const assistant = new Assistant({ baseURL: mock.openaiURL });
    assert.equal(await assistant.answer("Hello", { system: "You are a pirate." }), "Arr!");
  });

  test("an answer is streamed in the pieces of the model", async (t) => {
    const mock = await mockOf(t);
    await mock.reply({ chunks: ["Take ", "a ", "coat."] });
    const pieces = [];
    for await (const piece of new Assistant({ baseURL: mock.openaiURL }).stream(QUESTION)) pieces.push(piece);
    assert.deepEqual(pieces, ["Take ", "a ", "coat."]);
  });
});
