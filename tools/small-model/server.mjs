// A small model on loopback that speaks OpenAI Chat Completions, for `spanlore eval uptake`.
//
//   node server.mjs --model FILE.gguf [--port 0] [--threads 1] [--context 2048] [--attended]
//                  [--template auto|chat|transcript]
//
// Prints `listening at http://127.0.0.1:PORT` when it is ready. One request at a time; greedy decoding, so the same
// request gives the same answer. `usage` counts the model's own tokens. No streaming.
//
// Templates. A model whose file has a chat template gets its own (`chat`). A base model has none and was never trained on
// turns, so it gets a plain transcript (`transcript`): a name and a text for each message, a tool call as the agent's
// words in back-ticks. The model goes on behind `Agent:`, to the end of its first line.

import {createServer} from "node:http";
import {parseArgs} from "node:util";
import {getLlama, LlamaChat, LlamaCompletion, LlamaLogLevel, resolveChatWrapper} from "node-llama-cpp";

const MAX_BODY_BYTES = 4 * 1024 * 1024;
const STOPS = ["\nUser:", "\nOutput:", "\nInstructions:", "\nAgent:"];
const NAMES = {system: "Instructions", developer: "Instructions", user: "User", tool: "Output"};

const {values: options} = parseArgs({
    options: {
        model: {type: "string"},
        port: {type: "string", default: "0"},
        // Threads wait for each other by spinning: on a busy machine one is faster than two, and the default (all of the
        // hardware's) was a hundred times slower.
        threads: {type: "string", default: "1"},
        context: {type: "string", default: "2048"},
        template: {type: "string", default: "auto"},
        // Whoever started it may be killed: with this the end of its input ends the server.
        attended: {type: "boolean", default: false}
    }
});
if (options.model === undefined || !["auto", "chat", "transcript"].includes(options.template)) {
    console.error("server.mjs: --model FILE.gguf is needed; --template is auto, chat or transcript");
    process.exit(2);
}

const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error, progressLogs: false,
    maxThreads: Number(options.threads)});
const model = await llama.loadModel({modelPath: options.model});
const context = await model.createContext({contextSize: Number(options.context), threads: Number(options.threads),
    swaFullCache: true}); // so that a beginning which was read before need not be read again
const sequence = context.getSequence();
const hasTemplate = Boolean(model.fileInfo.metadata?.tokenizer?.chat_template);
const template = options.template === "auto" ? (hasTemplate ? "chat" : "transcript") : options.template;
const answer = template === "chat" ? makeChat() : makeTranscript();

function textOf(content) {
    if (typeof content === "string") return content;
    return (content ?? []).map((part) => part.text ?? "").join("");
}

function commandsOf(message) {
    return (message.tool_calls ?? []).map((call) => {
        try {
            const given = JSON.parse(call.function.arguments);
            return String(given.command ?? given.file_path ?? call.function.arguments);
        } catch {
            return String(call.function.arguments);
        }
    });
}

function makeTranscript() {
    const completion = new LlamaCompletion({contextSequence: sequence});
    return async (messages, maxTokens) => {
        const lines = messages.map((message) => {
            if (message.role !== "assistant") return `${NAMES[message.role] ?? "User"}: ${textOf(message.content)}\n\n`;
            const commands = commandsOf(message).map((command) => `\`${command}\``);
            return `Agent: ${[textOf(message.content), ...commands].filter(Boolean).join(" ")}\n\n`;
        });
        const prompt = model.tokenize(`${lines.join("")}Agent:`);
        const bos = model.tokens.bos;
        const input = model.tokens.shouldPrependBosToken && bos != null ? [bos, ...prompt] : prompt;
        // One line: what a base model writes after it is a conversation of its own.
        const line = new AbortController();
        let said = "";
        const found = await completion.generateCompletionWithMeta(input, {
            maxTokens, temperature: 0, customStopTriggers: STOPS, disableContextShift: true,
            signal: line.signal, stopOnAbortSignal: true,
            onTextChunk(text) {
                said += text;
                if (said.trimStart().includes("\n")) line.abort();
            }
        });
        const text = found.response.trimStart().split("\n")[0].trim();
        return {text, inputTokens: input.length, stop: found.metadata.stopReason};
    };
}

function makeChat() {
    const wrapper = resolveChatWrapper(model);
    const chat = new LlamaChat({contextSequence: sequence, chatWrapper: wrapper});
    return async (messages, maxTokens) => {
        const history = [];
        for (const message of messages) {
            if (message.role === "system" || message.role === "developer")
                history.push({type: "system", text: textOf(message.content)});
            else if (message.role === "assistant")
                history.push({type: "model", response: [
                    [textOf(message.content), ...commandsOf(message)].filter(Boolean).join("\n")
                ]});
            else if (message.role === "tool")
                history.push({type: "user", text: `Output of the command:\n${textOf(message.content)}`});
            else history.push({type: "user", text: textOf(message.content)});
        }
        history.push({type: "model", response: []});
        const {contextText} = wrapper.generateContextState({chatHistory: history});
        const inputTokens = contextText.tokenize(model.tokenizer).length;
        const found = await chat.generateResponse(history, {maxTokens, temperature: 0});
        return {text: found.response.trim(), inputTokens, stop: found.metadata.stopReason};
    };
}

function completionOf(request, found) {
    const outputTokens = model.tokenize(found.text).length;
    return {
        id: `chatcmpl-${crypto.randomUUID()}`,
        object: "chat.completion",
        created: Math.floor(Date.now() / 1000),
        model: request.model,
        choices: [{
            index: 0,
            message: {role: "assistant", content: found.text},
            finish_reason: found.stop === "maxTokens" ? "length" : "stop",
            logprobs: null
        }],
        usage: {
            prompt_tokens: found.inputTokens,
            completion_tokens: outputTokens,
            total_tokens: found.inputTokens + outputTokens
        }
    };
}

function send(response, status, document) {
    response.writeHead(status, {"content-type": "application/json"});
    response.end(JSON.stringify(document));
}

async function read(request) {
    const parts = [];
    let size = 0;
    for await (const part of request) {
        size += part.length;
        if (size > MAX_BODY_BYTES) throw new Error("the body is too large");
        parts.push(part);
    }
    return JSON.parse(Buffer.concat(parts).toString());
}

async function serve(request, response) {
    const path = request.url.split("?")[0];
    if (request.method === "GET" && path === "/v1/models")
        return send(response, 200, {object: "list", data: [{id: model.filename ?? "model", object: "model", template}]});
    if (request.method !== "POST" || path !== "/v1/chat/completions")
        return send(response, 404, {error: {message: "only POST /v1/chat/completions and GET /v1/models are here"}});
    const asked = await read(request);
    if (!Array.isArray(asked.messages) || asked.messages.length === 0 || asked.stream)
        return send(response, 400, {error: {message: "messages are needed, and stream is not offered"}});
    const found = await answer(asked.messages, asked.max_completion_tokens ?? asked.max_tokens ?? 40);
    return send(response, 200, completionOf(asked, found));
}

let last = Promise.resolve();
const server = createServer((request, response) => {
    last = last.then(() => serve(request, response)).catch((error) => {
        console.error(error);
        if (!response.headersSent) send(response, 500, {error: {message: String(error.message ?? error)}});
        else response.end();
    });
});
if (options.attended) process.stdin.on("end", () => process.exit(0)).resume();
for (const name of ["SIGINT", "SIGTERM"]) process.on(name, () => process.exit(0));
server.listen(Number(options.port), "127.0.0.1", () => {
    console.log(`listening at http://127.0.0.1:${server.address().port}`);
    console.error(`${template} template, ${options.threads} threads`);
});
