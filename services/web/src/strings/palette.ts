/** Words of the palette. */

export const palette = {
  title: 'Find anything',
  label: 'Find a thread, an agent, a page or an action',
  results: 'What fits',
  none: 'Nothing fits. Try other words.',
  count: (count: number) => (count === 1 ? '1 entry' : `${count} entries`),
  toggleColumn: 'Show or hide the threads',
  edit: (agent: string) => `Edit ${agent}`,
  sees: (agent: string) => `What the model of ${agent} sees`,
  groups: { action: 'Action', page: 'Page', agent: 'Agent', thread: 'Thread' },
};
