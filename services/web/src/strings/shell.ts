/** Words that every page shares. */

export const product = 'Retinue';
export const loading = 'Loading';
export const retry = 'Try again';
export const close = 'Close';
export const cancel = 'Cancel';
export const save = 'Save';
export const discard = 'Discard';
export const toStart = 'Go to the start page';

export const keys = {
  title: 'Keys',
  rows: [
    ['Enter', 'Send the message'],
    ['Shift + Enter', 'Break the line'],
    ['Esc', 'Stop the answer, or close what is open'],
    ['Ctrl/⌘ + K', 'Find anything: threads, agents, pages, actions'],
    ['Ctrl/⌘ + Shift + O', 'New thread'],
    ['Ctrl/⌘ + B', 'Show or hide the threads'],
    ['Ctrl/⌘ + J', 'Show or hide the workbench'],
    ['?', 'Show these keys'],
  ] as [string, string][],
};

export const errors = {
  unreachable: 'The server cannot be reached.',
  unexpected: 'Something on this page failed. Reload it to go on; nothing on the server is affected.',
  offline: 'You are offline. What you write is kept here.',
  offlinePage: 'You are offline. It will load when the network is back.',
  updated: 'Retinue has been updated.',
  updatedHint: 'Reload the page to go on; drafts are kept.',
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
};
