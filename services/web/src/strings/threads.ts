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
  putAway: 'Archive',
  delete: 'Delete',
  nameLabel: 'Name of the thread',
  deleted: (title: string) => `“${title}” is deleted.`,
  archived: (title: string) => `“${title}” is in the archive.`,
  restored: (title: string) => `“${title}” is back in the list.`,
  archive: 'Archive',
  archiveHint: 'Threads that you have put away. They can still be searched.',
  archiveEmpty: 'The archive is empty. “Archive” in the menu of a thread puts it here.',
  archiveFailed: 'The archive could not be loaded.',
  bringBack: 'Bring back',
  undo: 'Undo',
  changeFailed: (what: string) => `That did not work. ${what}`,
};

export const search = {
  label: 'Search',
  clear: 'Clear the search',
  results: 'Found messages',
  looking: 'Searching…',
  none: 'Nothing was found. Try fewer or other words.',
  found: (count: number, hasMore: boolean) =>
    hasMore ? `The newest ${count} messages` : count === 1 ? '1 message' : `${count} messages`,
  more: 'Show more',
  failed: 'The search did not work.',
};
