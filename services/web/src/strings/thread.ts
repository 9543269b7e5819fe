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
  web_fetch: { doing: 'Reading a page', done: 'Read', detail: ['url'] },
  web_search: { doing: 'Searching the web', done: 'Searched the web', detail: ['query', 'q'] },
};

function withDetail(words: string, name: string, input: unknown): string {
  const fields = input && typeof input === 'object' ? (input as Record<string, unknown>) : {};
  const detail = TOOL_WORDS[name]?.detail.map((field) => fields[field]).find((value) => typeof value === 'string');
  return detail ? `${words}: ${shortened(detail as string)}` : words;
}

/** Of an address the site and the path. */
function shortened(detail: string): string {
  return detail.replace(/^https?:\/\/(www\.)?/, '').replace(/\/$/, '');
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
  showLess: 'Show less',
  newBelow: 'New text below',
  region: 'Conversation',
  messages: 'Messages',
  olderFailed: 'Earlier messages could not be loaded.',
  lookingBack: 'You are looking at earlier messages.',
  newer: 'Show later messages',
  toNewest: 'To the newest',
  notThere: 'That message is not in this thread any more.',
};

export const messageActions = {
  copy: 'Copy',
  copied: 'Copied',
  selected: 'Selected, to be copied by key',
  notCopied: 'This browser does not allow copying here',
  more: 'More actions',
  copyMarkdown: 'Copy as Markdown',
  copyLink: 'Copy link',
  toBeginning: 'Go to its beginning',
  inspect: 'Inspect the run',
  tryAgain: 'Try again',
};

export const sources = {
  title: 'Sources',
  more: (count: number) => `${count} more`,
};

export const files = {
  unnamed: 'File',
  about: (type: string, size: number) => `${type}, ${bytes(size)}`,
  save: 'Save',
};

export const choice = {
  title: 'Model',
  /** No choice of one's own: the agent's, or else the default. */
  automatic: (model: string) => `${model} (as set)`,
  overridden: (model: string) => `An administrator has set ${model} for everybody.`,
  noTools: 'no tools',
  effort: 'Effort',
  effortOf: (level: string | undefined) => (level ? `Effort: ${level} (as set)` : 'Effort: as usual'),
  effortLevel: (level: string) => `Effort: ${level}`,
  failed: (what: string) => `The choice was not kept. ${what}`,
};

export const workbench = {
  title: 'Workbench',
  open: 'Show the workbench',
  close: 'Hide the workbench',
  width: 'Width of the workbench',
};

export const inspector = {
  title: 'Run',
  empty: 'Nothing has run in this thread yet.',
  failed: 'This run could not be loaded.',
  newer: 'Next run',
  older: 'Run before',
  place: (at: number, of: number) => `${at} of ${of}`,
  status: {
    waiting: 'Waiting',
    queued: 'About to start',
    running: 'Running',
    finished: 'Finished',
    stopped: 'Stopped',
    failed: 'Failed',
  } as Record<string, string>,
  endedBy: {
    length: 'at the length limit',
    step_limit: 'at the limit of steps',
    budget: 'at the budget',
    replaced: 'replaced by a later message',
    user: 'by you',
    stopped: 'by you',
  } as Record<string, string>,
  rows: {
    state: 'State',
    model: 'Model',
    begun: 'Began',
    took: 'Took',
    firstToken: 'First token after',
    input: 'Tokens in',
    output: 'Tokens out',
    cost: 'Cost',
    recoveries: 'Picked up',
  },
  waited: (time: string) => `waited ${time} before`,
  cached: (count: string) => `${count} from the cache`,
  reasoned: (count: string) => `${count} to think`,
  estimated: 'estimated',
  unknownCost: 'not known: the model has no listed price',
  unknownToo: (count: number) =>
    count === 1 ? 'without one call of unknown price' : `without ${count} calls of unknown price`,
  recovered: (count: number) => (count === 1 ? 'once, by another runner' : `${count} times, by other runners`),
  step: (number: number) => `Step ${number}`,
  attempt: (number: number) => `Model call ${number}`,
  call: 'Model call',
  served: (model: string) => `answered by ${model}`,
  firstAfter: (time: string) => `first token after ${time}`,
  tokens: (input: string, output: string) => `${input} in, ${output} out`,
  attemptState: {
    open: 'under way',
    done: 'answered',
    failed: 'failed',
    interrupted: 'lost with its runner',
  } as Record<string, string>,
  because: (code: string) => `failed: ${readable(code)}`,
  callState: { asked: 'asked for', started: 'under way', done: 'done' } as Record<string, string>,
  hosted: 'run by the provider',
  sizes: (input: number, output: number | null) =>
    output === null ? `${bytes(input)} in` : `${bytes(input)} in, ${bytes(output)} out`,
  beside: 'Beside the answer',
  purpose: { title: 'Title of the thread' } as Record<string, string>,
  saw: 'What the model saw',
  sawHint: 'At the first step of this run: its instructions, the messages, the tools.',
  sawNothing: 'It was not kept for this run.',
  instructions: 'Instructions',
  conversation: 'Messages',
  olderMessages: (count: number) =>
    count === 1 ? 'One earlier message, and then:' : `${count} earlier messages, and then:`,
  tools: 'Tools',
  characters: (count: number) => `${count.toLocaleString()} characters`,
  roles: { system: 'System', user: 'You', assistant: 'Agent', tool: 'Tool' } as Record<string, string>,
  id: 'Id of the run',
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
  orphaned: 'Its runner is gone. Another one picks it up.',
  quiet: 'No new text for a moment. If its runner is gone, another one goes on.',
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
  named: (name: string) => capital(readable(name)),
  doing: (name: string) => TOOL_WORDS[name]?.doing ?? `Using ${readable(name)}`,
  done: (name: string, input: unknown) => withDetail(TOOL_WORDS[name]?.done ?? `Used ${readable(name)}`, name, input),
  /** While it runs; what it is doing stands at the foot. */
  running: (name: string, input: unknown) => withDetail(capital(readable(name)), name, input),
  failed: (name: string, input: unknown) => withDetail(`${capital(readable(name))} did not work`, name, input),
  unfinished: (name: string) => `${capital(readable(name))} was not finished`,
  failedNext: 'The agent was told and goes on from there.',
  several: (count: number) => `${count} tool calls`,
  severalFailed: (count: number) => `${count} did not work`,
  input: 'Input',
  output: 'Output',
  error: 'Error',
  noOutput: 'None yet',
  cut: (shown: number, whole: number) => `The first ${bytes(shown)} of ${bytes(whole)} are shown.`,
  saveWhole: 'Save all of it',
  restIsLost: 'The rest could not be kept.',
  took: (seconds: number) => `${seconds.toFixed(1)} s`,
};

export const code = {
  copy: 'Copy',
  copied: 'Copied',
  wrap: 'Wrap',
  unwrap: 'Do not wrap',
  plain: 'text',
  spoken: 'Code.',
};

export const taskDone = 'Done';
export const taskOpen = 'Not done';
export const imageLeftOut = (alt: string) => `Image not loaded: ${alt || 'no description'}`;
