// The JavaScript SDKs, each asked in the same few ways: `node … NAME WAY…` prints what it makes of each answer, as JSON.
// They find the server by their environment, or by what is given here where they look for none.
globalThis.AI_SDK_LOG_WARNINGS = false // they go to the standard output
const { MISTRAL_BASE_URL, GOOGLE_GEMINI_BASE_URL, GEMINI_API_KEY } = process.env
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }
const weather = { name: 'weather', description: 'Says the weather.', parameters: schema }
const messages = [{ role: 'user', content: 'Hello' }]
const format = { name: 'Place', schema, strict: true }

const texts = async (events, textOf) => {
    const found = []
    for await (const event of events) if (textOf(event)) found.push(textOf(event))
    return found
}

async function openai() {
    const { default: OpenAI } = await import('openai')
    const ask = more => new OpenAI({ maxRetries: 0 }).chat.completions.create({ model: 'm', messages, ...more })
    const tools = [{ type: 'function', function: weather }]
    return {
        text: async () => (await ask()).choices[0].message.content,
        stream: async () => texts(await ask({ stream: true }), chunk => chunk.choices[0]?.delta.content),
        tool: async () => (await ask({ tools })).choices[0].message.tool_calls
            .map(call => [call.function.name, JSON.parse(call.function.arguments)])[0],
        structured: async () => JSON.parse((await ask({ response_format: { type: 'json_schema', json_schema: format } }))
            .choices[0].message.content),
    }
}

async function openaiResponses() {
    const { default: OpenAI } = await import('openai')
    const ask = more => new OpenAI({ maxRetries: 0 }).responses.create({ model: 'm', input: 'Hello', ...more })
    return {
        text: async () => (await ask()).output_text,
        stream: async () => texts(await ask({ stream: true }), event =>
            event.type === 'response.output_text.delta' && event.delta),
        tool: async () => (await ask({ tools: [{ type: 'function', strict: true, ...weather }] })).output
            .map(call => [call.name, JSON.parse(call.arguments)])[0],
        structured: async () => JSON.parse((await ask({ text: { format: { type: 'json_schema', ...format } } }))
            .output_text),
    }
}

async function anthropic() {
    const { default: Anthropic } = await import('@anthropic-ai/sdk')
    const asked = { model: 'm', max_tokens: 99, messages }
    const client = new Anthropic({ maxRetries: 0 })
    const ask = more => client.messages.create({ ...asked, ...more })
    const { parameters, ...tool } = weather
    return {
        text: async () => (await ask()).content[0].text,
        stream: async () => texts(client.messages.stream(asked), event => event.delta?.text),
        tool: async () => (await ask({ tools: [{ ...tool, input_schema: schema }] })).content
            .map(call => [call.name, call.input])[0],
        structured: async () => JSON.parse((await ask({ output_config: { format: { type: 'json_schema', schema } } }))
            .content[0].text),
    }
}

async function google() {
    const { GoogleGenAI } = await import('@google/genai')
    const { models } = new GoogleGenAI({ apiKey: GEMINI_API_KEY })
    const asked = config => ({ model: 'm', contents: 'Hello', config })
    const { parameters: parametersJsonSchema, ...tool } = weather
    return {
        text: async () => (await models.generateContent(asked())).text,
        stream: async () => texts(await models.generateContentStream(asked()), chunk => chunk.text),
        tool: async () => (await models.generateContent(
            asked({ tools: [{ functionDeclarations: [{ ...tool, parametersJsonSchema }] }] }),
        )).functionCalls.map(call => [call.name, call.args])[0],
        structured: async () => JSON.parse((await models.generateContent(
            asked({ responseMimeType: 'application/json', responseJsonSchema: schema }),
        )).text),
    }
}

async function mistral() {
    const { Mistral } = await import('@mistralai/mistralai')
    const { chat } = new Mistral({ serverURL: MISTRAL_BASE_URL.replace(/\/v1$/, ''), apiKey: 'any' })
    const ask = more => chat.complete({ model: 'm', messages, ...more })
    const tools = [{ type: 'function', function: weather }]
    return {
        text: async () => (await ask()).choices[0].message.content,
        stream: async () => texts(await chat.stream({ model: 'm', messages }), event =>
            event.data.choices[0]?.delta.content),
        tool: async () => (await ask({ tools })).choices[0].message.toolCalls
            .map(call => [call.function.name, JSON.parse(call.function.arguments)])[0],
        structured: async () => JSON.parse((await ask({
            responseFormat: { type: 'json_schema', jsonSchema: { name: 'Place', schemaDefinition: schema } },
        })).choices[0].message.content),
    }
}

/** Vercel's AI SDK, with a model of one of its providers. */
async function ai(model) {
    const { Output, generateText, jsonSchema, streamText, tool } = await import('ai')
    const asked = { model, prompt: 'Hello', maxRetries: 0 }
    const tools = { weather: tool({ description: weather.description, inputSchema: jsonSchema(schema) }) }
    return {
        text: async () => (await generateText(asked)).text,
        stream: async () => texts(streamText(asked).textStream, text => text),
        tool: async () => (await generateText({ ...asked, tools })).toolCalls
            .map(call => [call.toolName, call.input])[0],
        structured: async () => (await generateText({ ...asked, output: Output.object({ schema: jsonSchema(schema) }) }))
            .output,
    }
}

const SDKS = {
    openai,
    openaiResponses,
    anthropic,
    google,
    mistral,
    aiOpenai: async () => ai((await import('@ai-sdk/openai')).openai('m')),
    aiOpenaiChat: async () => ai((await import('@ai-sdk/openai')).openai.chat('m')),
    aiAnthropic: async () => ai((await import('@ai-sdk/anthropic')).anthropic('m')),
    aiGoogle: async () => {
        const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
        return ai(createGoogleGenerativeAI({ baseURL: `${GOOGLE_GEMINI_BASE_URL}/v1beta`, apiKey: 'any' })('m'))
    },
    aiMistral: async () => {
        const { createMistral } = await import('@ai-sdk/mistral')
        return ai(createMistral({ baseURL: MISTRAL_BASE_URL })('m'))
    },
}

const [name, ...asked] = process.argv.slice(1)
const ways = await SDKS[name]()
for (const way of asked) {
    const made = await ways[way]().catch(error => (
        { error: error.constructor.name, status: error.status ?? error.statusCode }
    ))
    console.log(JSON.stringify(made))
}
