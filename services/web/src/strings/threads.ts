/** Words of the list of threads. */

export const threads = {
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
};
