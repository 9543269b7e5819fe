/** Words of one thread: messages, the foot, the composer, tools. */

interface ToolWords {
  doing: string;
  done: string;
  /** What of the input is worth showing in the line. */
  detail: string[];
}

const TOOL_WORDS: Record<string, ToolWords> = {
  calculator: { doing: 'Calculating', done: 'Calculated', detail: ['expression'] },
  current_time: { doing: 'Looking up the time', done: 'Looked up the time', detail: ['timezone', 'zone', 'time_zone'] },
};

function withDetail(words: string, name: string, input: unknown): string {
  const fields = input && typeof input === 'object' ? (input as Record<string, unknown>) : {};
  const detail = TOOL_WORDS[name]?.detail.map((field) => fields[field]).find((value) => typeof value === 'string');
  return detail ? `${words}: ${detail}` : words;
}

function readable(name: string): string {
  return name.replaceAll('_', ' ');
}

function ordinal(place: number): string {
  const words = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth'];
  return words[place - 1] ?? `number ${place}`;
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** 262144 → "256 KB" */
function bytes(count: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB'];
  const step = count < 1024 ? 0 : Math.min(3, Math.floor(Math.log(count) / Math.log(1024)));
  return `${Math.round(count / 1024 ** step)} ${units[step]}`;
}

export const thread = {
  emptyTitle: 'What shall we do?',
  emptyHint: 'Write a message below. The answer goes on even when you close this page.',
  failed: 'This thread could not be loaded.',
  kept: 'Nothing is lost; what was written is kept on the server.',
  missing: 'There is no such thread here.',
  missingHint: 'It may have been deleted, or it belongs to somebody else.',
  toNew: 'Start a new thread',
  older: 'Show earlier messages',
  you: 'You',
  agent: 'Agent',
  showAll: (length: number) => `Show all ${length.toLocaleString()} characters`,
  newBelow: 'New text below',
  region: 'Conversation',
  messages: 'Messages',
};

export const composer = {
  label: 'Message',
  placeholder: 'Write a message',
  send: 'Send',
  stop: 'Stop',
  notSent: 'Not sent.',
  back: 'Your text is back in the field.',
};

export const foot = {
  sending: 'Sending…',
  waiting: 'Waiting: accepted, not started yet',
  inLine: (place: number) => `Waiting: ${ordinal(place)} in line`,
  thinking: 'Thinking…',
  using: (tool: string) => `${tools.doing(tool)}…`,
  reconnecting: 'Reconnecting… The answer goes on meanwhile.',
  offline: 'Offline. The answer goes on; it will show when the network is back.',
  resending: 'No answer from the server. Trying again…',
  stopping: 'Stopping…',
  pickedUp: 'Picked up by another runner',
  stopped: 'Stopped',
  failed: 'The answer ended early.',
  again: 'Send again',
  reportId: 'To report this, name the id',
  length: 'The answer reached its length limit.',
  stepLimit: 'The answer reached its limit of steps.',
};

export const reasoning = {
  live: 'Thinking…',
  done: 'Thought',
  took: (seconds: number) => `Thought for ${seconds < 1 ? 'less than 1' : Math.round(seconds)} s`,
};

export const tools = {
  doing: (name: string) => TOOL_WORDS[name]?.doing ?? `Using ${readable(name)}`,
  done: (name: string, input: unknown) => withDetail(TOOL_WORDS[name]?.done ?? `Used ${readable(name)}`, name, input),
  /** While it runs; what it is doing stands at the foot. */
  running: (name: string, input: unknown) => withDetail(capital(readable(name)), name, input),
  failed: (name: string) => `${capital(readable(name))} did not work`,
  unfinished: (name: string) => `${capital(readable(name))} was not finished`,
  failedNext: 'The agent was told and goes on from there.',
  several: (count: number) => `${count} tool calls`,
  input: 'Input',
  output: 'Output',
  error: 'Error',
  noOutput: 'None yet',
  cut: (shown: number, whole: number) => `The first ${bytes(shown)} of ${bytes(whole)} are shown.`,
  saveWhole: 'Save all of it',
  restIsLost: 'The rest could not be kept.',
  took: (seconds: number) => `${seconds.toFixed(1)} s`,
};

export const code = { copy: 'Copy', copied: 'Copied', wrap: 'Wrap', unwrap: 'Do not wrap', plain: 'text' };

export const taskDone = 'Done';
export const taskOpen = 'Not done';
export const imageLeftOut = (alt: string) => `Image not loaded: ${alt || 'no description'}`;
