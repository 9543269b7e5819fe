/** Every word the page says, in one place: short, plain, in sentence case. */

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

export const strings = {
  product: 'Retinue',
  loading: 'Loading',
  retry: 'Try again',
  close: 'Close',
  cancel: 'Cancel',

  account: {
    signIn: 'Sign in',
    register: 'Create an account',
    createFirst: 'Create the first account',
    firstHint: 'Nobody has an account here yet. The first one becomes the administrator.',
    username: 'User name',
    password: 'Password',
    passwordHint: 'At least 10 characters.',
    invite: 'Invite code',
    inviteHint: 'Registration here is by invitation. Ask an administrator for a code.',
    setupCode: 'Set-up code',
    setupHint: 'It was printed when Retinue was started for the first time.',
    toRegister: 'No account yet? Create one',
    toSignIn: 'Have an account? Sign in',
    closed: 'This deployment takes no new accounts.',
    showPassword: 'Show password',
    hidePassword: 'Hide password',
    working: 'One moment',
    expired: 'Your session has ended. Sign in to go on where you were.',
    passwordTooShort: 'The password needs at least 10 characters.',
    menu: 'Account',
    signedInAs: (name: string) => `Signed in as ${name}`,
    admin: 'Administrator',
    logOut: 'Log out',
  },

  threads: {
    title: 'Threads',
    new: 'New thread',
    untitled: 'New thread',
    show: 'Show threads',
    hide: 'Hide threads',
    empty: 'No threads yet. Your first message starts one.',
    failed: 'The list of threads could not be loaded.',
    more: 'Show older threads',
    groups: { today: 'Today', yesterday: 'Yesterday', week: 'This week', month: 'This month', older: 'Older' },
    status: { waiting: 'Waiting', queued: 'About to start', running: 'Answering', failed: 'Failed' } as Record<
      string,
      string
    >,
    actions: (title: string) => `Actions for ${title}`,
    rename: 'Rename',
    delete: 'Delete',
    nameLabel: 'Name of the thread',
    deleted: (title: string) => `“${title}” is deleted.`,
    undo: 'Undo',
    changeFailed: (what: string) => `That did not work. ${what}`,
  },

  thread: {
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
  },

  composer: {
    label: 'Message',
    placeholder: 'Write a message',
    send: 'Send',
    stop: 'Stop',
    notSent: 'Not sent.',
    back: 'Your text is back in the field.',
  },

  foot: {
    sending: 'Sending…',
    waiting: 'Waiting: accepted, not started yet',
    inLine: (place: number) => `Waiting: ${ordinal(place)} in line`,
    thinking: 'Thinking…',
    using: (tool: string) => `${strings.tools.doing(tool)}…`,
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
  },

  reasoning: {
    live: 'Thinking…',
    done: 'Thought',
    took: (seconds: number) => `Thought for ${seconds < 1 ? 'less than 1' : Math.round(seconds)} s`,
  },

  tools: {
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
  },

  code: { copy: 'Copy', copied: 'Copied', wrap: 'Wrap', unwrap: 'Do not wrap', plain: 'text' },
  taskDone: 'Done',
  taskOpen: 'Not done',
  imageLeftOut: (alt: string) => `Image not loaded: ${alt || 'no description'}`,

  keys: {
    title: 'Keys',
    rows: [
      ['Enter', 'Send the message'],
      ['Shift + Enter', 'Break the line'],
      ['Esc', 'Stop the answer, or close what is open'],
      ['Ctrl/⌘ + Shift + O', 'New thread'],
      ['Ctrl/⌘ + B', 'Show or hide the threads'],
      ['?', 'Show these keys'],
    ] as [string, string][],
  },

  deadLetters: {
    title: 'Dead letters',
    hint: 'Events that a part of Retinue could not work on. Mend what broke, then send them again.',
    forAdmins: 'Dead letters are for administrators.',
    show: 'Show',
    states: [
      ['parked', 'Waiting for a decision'],
      ['replayed', 'Sent again'],
      ['handled', 'Handled'],
      ['', 'All'],
    ] as [string, string][],
    stateOf: { parked: 'Waiting', replayed: 'Sent again', handled: 'Handled' },
    reload: 'Look again',
    more: 'Show older ones',
    none: 'There are none.',
    noneWaiting: 'Nothing waits for a decision.',
    failed: 'The dead letters could not be loaded.',
    deliveries: (count: number) => (count === 1 ? '1 delivery' : `${count} deliveries`),
    parkedAt: (when: string) => `since ${when}`,
    showPayload: 'Show payload',
    hidePayload: 'Hide payload',
    payload: 'Headers and payload',
    cut: (bytes: number) => `The beginning of ${bytes.toLocaleString()} bytes; sending it again sends the whole.`,
    replay: 'Send again',
    replayed: 'Sent again. If it fails once more, it comes back here.',
    drop: 'Forget',
    dropTitle: 'Forget this event?',
    dropWords: (consumer: string) => `${consumer} will never work on it. This cannot be undone.`,
    dropped: 'The event is forgotten.',
    changeFailed: (what: string) => `That did not work. ${what}`,
  },

  errors: {
    unreachable: 'The server cannot be reached.',
    unexpected: 'Something on this page failed. Reload it to go on; nothing on the server is affected.',
    offline: 'You are offline. What you write is kept here.',
    reload: 'Reload',
    report: (id: string) => `To report this, name the id ${id}.`,
    byStatus: (status: number) =>
      status === 401
        ? 'You are not signed in.'
        : status === 403
          ? 'You may not do this.'
          : status === 404
            ? 'There is no such thing here.'
            : status === 413
              ? 'The message is too large.'
              : status === 429
                ? 'Too many requests. Wait a moment.'
                : `The server answered with an error (${status}).`,
    comeBack: (seconds: number) =>
      seconds < 120 ? `Try again in ${seconds} s.` : `Try again in ${Math.ceil(seconds / 60)} min.`,
  },
};
