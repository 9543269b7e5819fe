import { expect, test } from 'vitest';
import { agentPath, agentSeesPath, newThreadPath, parseRoute, settingsPath, threadPath } from '../src/router';

const at = (path: string) => {
  const [pathname = '/', search = ''] = path.split(/(?=\?)/);
  return parseRoute(pathname, search);
};

test.each([
  ['/', { page: 'new' }],
  [newThreadPath('a 1'), { page: 'new', agent: 'a 1' }],
  [threadPath('t/1'), { page: 'thread', thread: 't/1' }],
  [threadPath('t1', 'm1'), { page: 'thread', thread: 't1', message: 'm1' }],
  ['/t/t1/', { page: 'thread', thread: 't1' }],
  ['/agents', { page: 'agents' }],
  ['/agents/new', { page: 'agent-new' }],
  [agentPath('x'), { page: 'agent', agent: 'x' }],
  [agentSeesPath('x'), { page: 'agent-sees', agent: 'x' }],
  [settingsPath(), { page: 'settings', group: '' }],
  [settingsPath('providers'), { page: 'settings', group: 'providers' }],
  ['/admin/dead-letters', { page: 'dead-letters' }],
  ['/start', { page: 'start' }],
])('%s', (path, route) => {
  expect(at(path)).toEqual(expect.objectContaining(route));
});

test.each(['/nothing', '/t', '/t/a/b', '/agents/a/b', '/settings/a/b', '/t/%ff', '/agents//sees', '/start/x'])(
  '%s is nowhere',
  (path) => {
    expect(at(path)).toEqual({ page: 'missing' });
  },
);

test.each([
  ['/sign-in?next=/t/1', '/t/1'],
  ['/sign-in?next=//evil.example', '/'],
  ['/sign-in?next=https://evil.example', '/'],
  ['/sign-in?next=/sign-in', '/'],
  ['/register', '/'],
])('%s leads to %s', (path, next) => {
  expect(at(path)).toEqual({ page: 'sign-in', next, invite: '' });
});
