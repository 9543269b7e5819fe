// An unmodified AI SDK client, driven by JSON lines: one command per line in, one answer per line out.
//
// A window is a chat as a page has it: DefaultChatTransport, AbstractChat and the least possible state behind it.
//   {id, do: "open", window, sdk: "6"|"7", base, chat, token?, messages?}   a page is loaded, perhaps with history
//   {id, do: "send", window, text}          the user sends; answered when the request is on its way
//   {id, do: "resume", window}              what useChat({resume: true}) does after a reload; likewise
//   {id, do: "wait", window, status?, text?, seconds?}   until the status is this and the last message's text holds that
//   {id, do: "state", window}               {status, error, messages}
//   {id, do: "stop", window}                asks the server to end the answer: POST <base>/api/chat/<chat>/stop
//   {id, do: "close", window}               the page goes away: its connection is dropped
// Answers are {id, ok: …} or {id, error: "…"}.
import { createInterface } from 'node:readline';
import * as ai6 from 'ai6';
import * as ai7 from 'ai7';

const sdks = { 6: ai6, 7: ai7 };
const windows = new Map();

class State {
  #values = { status: 'ready', error: undefined, messages: [] };
  watchers = new Set();

  constructor(messages) {
    this.#values.messages = messages;
  }
  get status() { return this.#values.status; }
  get error() { return this.#values.error; }
  get messages() { return this.#values.messages; }
  set status(value) { this.#set('status', value); }
  set error(value) { this.#set('error', value); }
  set messages(value) { this.#set('messages', value); }
  pushMessage = message => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => { this.messages = this.messages.with(index, this.snapshot(message)); };
  snapshot = structuredClone;

  #set(name, value) {
    this.#values[name] = value;
    for (const watcher of this.watchers) watcher();
  }
}

const authorization = window => (window.token ? { authorization: `Bearer ${window.token}` } : {});

function open({ window: name, sdk, base, chat: id, token, messages = [] }) {
  const { AbstractChat, DefaultChatTransport } = sdks[sdk];
  const state = new State(messages);
  const transport = new DefaultChatTransport({ api: `${base}/api/chat`, headers: authorization({ token }) });
  class Chat extends AbstractChat {}
  windows.set(name, { chat: new Chat({ id, state, transport }), state, base, id, token });
  return 'open';
}

function report({ state }) {
  return { status: state.status, error: state.error?.message ?? null, messages: state.messages };
}

function textOf(message) {
  return (message?.parts ?? []).filter(part => part.type === 'text').map(part => part.text).join('');
}

function wait(window, { status, text, seconds = 10 }) {
  const { state } = window;
  const reached = () =>
    (status === undefined || state.status === status) &&
    (text === undefined || textOf(state.messages.at(-1)).includes(text));
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      state.watchers.delete(look);
    };
    // Looks after the change is whole: the SDK sets the status a moment before the error that goes with it.
    const look = () => setImmediate(() => {
      if (reached()) {
        end();
        resolve(report(window));
      }
    });
    const timer = setTimeout(() => {
      end();
      reject(new Error(`not within ${seconds} s: ${JSON.stringify(report(window))}`));
    }, seconds * 1000);
    state.watchers.add(look);
    look();
  });
}

// Answers once the request is on its way (or over), so that a wait for `ready` does not see the state before it.
function begun({ state }, request) {
  const before = state.status;
  return new Promise(resolve => {
    const look = () => {
      if (state.status !== before) end();
    };
    const end = () => {
      state.watchers.delete(look);
      resolve('begun');
    };
    state.watchers.add(look);
    request().finally(end); // failures become the chat's status and error
  });
}

async function stop(window) {
  const url = `${window.base}/api/chat/${encodeURIComponent(window.id)}/stop`;
  const response = await fetch(url, { method: 'POST', headers: authorization(window) });
  return { status: response.status, body: await response.text() };
}

async function run(command) {
  if (command.do === 'open') return open(command);
  const window = windows.get(command.window);
  if (window === undefined) throw new Error(`no window ${command.window}`);
  switch (command.do) {
    case 'send':
      return begun(window, () => window.chat.sendMessage({ text: command.text }));
    case 'resume':
      return begun(window, () => window.chat.resumeStream());
    case 'wait':
      return wait(window, command);
    case 'state':
      return report(window);
    case 'stop':
      return stop(window);
    case 'close':
      await window.chat.stop();
      windows.delete(command.window);
      return 'closed';
    default:
      throw new Error(`no command ${command.do}`);
  }
}

function answer(line) {
  process.stdout.write(JSON.stringify(line) + '\n');
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  run(command).then(
    ok => answer({ id: command.id, ok }),
    error => answer({ id: command.id, error: error.message }),
  );
}
process.exit(0); // whoever drives us is gone: open streams do not matter any more
