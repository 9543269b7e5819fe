/** Words of the usage page. */

export const usage = {
  title: 'Usage',
  by: 'By',
  ways: { day: 'Day', agent: 'Agent', model: 'Model', thread: 'Thread', user: 'Person' },
  period: 'Period',
  periods: { '7': 'Last 7 days', '30': 'Last 30 days', '90': 'Last 90 days', own: 'From … to …' },
  from: 'From',
  to: 'To',
  everyone: 'Everyone’s',
  show: 'Show',
  measures: { tokens: 'Tokens', cost: 'Cost', turns: 'Turns' },
  csv: 'Download as CSV',
  failed: 'The usage could not be loaded.',
  none: 'Nothing was used in this time.',
  zone: (zone: string) => `Days are those of ${zone}.`,
  plot: (measure: string, by: string) => `${measure} by ${by}; the table below has the figures`,
  table: 'Figures',
  columns: {
    label: { day: 'Day', agent: 'Agent', model: 'Model', thread: 'Thread', user: 'Person' },
    turns: 'Turns',
    input: 'Input',
    cached: 'of it cached',
    output: 'Output',
    reasoning: 'of it thinking',
    cost: 'Cost',
  },
  total: 'Together',
  unknown: (count: number) =>
    count === 1
      ? 'The price of 1 model call is not known; it is not in the sum.'
      : `The prices of ${count.toLocaleString()} model calls are not known; they are not in the sum.`,
  unknownCost: 'not known',
  atLeast: (cost: string) => `at least ${cost}`,
  leftOut: (count: number) => `${count.toLocaleString()} more are not listed; they are in the sum.`,
  unnamed: 'Without a name',
};
