// Program of the check `javascript` and of transforms: reads a request as JSON from standard
// input, calls the code, and writes its result after a mark to standard output, which the code
// may print to as well.
'use strict';

const fs = require('fs');
const { createRequire } = require('module');
const net = require('net');
const path = require('path');
const { pathToFileURL } = require('url');

const request = JSON.parse(fs.readFileSync(0, 'utf8'));
let refused = false;

function refuseConnections() {
  // Clients of HTTP, `fetch` and WebSockets all connect here.
  net.Socket.prototype.connect = () => {
    refused = true;
    throw new Error('a check of a dry run opens no connection');
  };
}

function compile(body) {
  return new Function('output', 'context', 'process', body);
}

function compileLine(line) {
  const code = line.trim().replace(/[;\s]+$/, '');
  if (!/^(const|let|var)\s/.test(code)) {
    return compile(`return ${code}`);
  }
  // The value is that of the last statement. A semicolon may also be part of a text or of a
  // nested function: then the parts before and after it do not compile.
  for (let end = code.lastIndexOf(';'); end > 0; end = code.lastIndexOf(';', end - 1)) {
    try {
      return compile(`${code.slice(0, end)};\nreturn (${code.slice(end + 1)}\n)`);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return compile(code);
}

async function loadFunction(file, name) {
  const module = await import(pathToFileURL(file).href);
  const candidates = name
    ? [module[name], module.default?.[name]]
    : [module.default, module.default?.default];
  const found = candidates.find((candidate) => typeof candidate === 'function');
  if (!found) {
    const wanted = name ? `no function ${name}` : 'no function as its default export';
    throw new Error(`${path.basename(file)} exports ${wanted}`);
  }
  return found;
}

async function call() {
  const { code, file, name, output, context } = request;
  if (file) {
    return (await loadFunction(file, name))(output, context);
  }
  // Code that was written for promptfoo loads modules by process.mainModule.require.
  const mainModule = { require: createRequire(path.join(process.cwd(), 'check.cjs')) };
  const shim = Object.create(process, { mainModule: { value: mainModule } });
  const body = code.trimEnd();
  // Several lines return their value themselves.
  const run = body.includes('\n') ? compile(body) : compileLine(body);
  return run(output, context, shim);
}

function describe(value) {
  const isScore = (score) => typeof score === 'number' && Number.isFinite(score);
  if (typeof value === 'boolean') return { passed: value };
  if (isScore(value)) return { score: value };
  if (value !== null && typeof value === 'object') {
    const { pass, score, reason } = value;
    const isVerdict = typeof pass === 'boolean' && (score === undefined || isScore(score));
    if (isVerdict || (pass === undefined && isScore(score))) {
      return { passed: pass, score, reason: typeof reason === 'string' ? reason : '' };
    }
    return { problem: `returned the object ${JSON.stringify(value)}` };
  }
  const shown = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return { problem: `returned ${shown}` };
}

async function main() {
  if (request.refuse) refuseConnections();
  let result;
  try {
    const value = await call();
    result = request.transform ? { value } : describe(value);
  } catch (error) {
    result = { error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }
  // Timers and connections that are still open do not keep the process.
  const line = request.mark + JSON.stringify({ ...result, refused });
  process.stdout.write(line, () => process.exit(0));
}

main();
