/** What the palette offers. */

import { logOut } from '../account/session';
import { signOf, useAgents } from '../agents/agents';
import type { User } from '../api/types';
import {
  agentPath,
  agentSeesPath,
  agentsPath,
  archivePath,
  deadLettersPath,
  newAgentPath,
  newThreadPath,
  settingsPath,
  startPath,
  threadPath,
  usagePath,
} from '../router';
import { strings } from '../strings';
import { titleOf } from '../threads/putAway';
import { useSearch } from '../threads/search';
import { useThreads } from '../threads/threads';
import { useAllCommands } from './commands';

const words = strings.palette;

export interface Entry {
  id: string;
  label: string;
  group: string;
  sign?: string | undefined;
  keys?: string | undefined;
  /** Where it leads, or what it does. */
  to?: string;
  act?: () => void;
  /** The server found it by what was typed, be the letters in the label or not. */
  isFound?: boolean;
}

/** Below this, everything would be found. */
const LEAST_SEARCH = 3;

export function useEntries(user: User, typed: string): Entry[] {
  const threads = useThreads().items;
  const agents = useAgents().items;
  const commands = useAllCommands();
  const { hits } = useSearch(typed.length >= LEAST_SEARCH ? typed : '');
  const listed = new Set(threads.map((thread) => thread.id));
  const found = hits.filter(
    (hit, index) =>
      !listed.has(hit.thread.id) && hits.findIndex((other) => other.thread.id === hit.thread.id) === index,
  );
  return [
    ...commands.map((command): Entry => ({ ...command, id: `command/${command.id}`, group: words.groups.action })),
    ...pages(user),
    ...agents.flatMap((agent): Entry[] => [
      {
        id: `agent/${agent.id}`,
        label: strings.agents.threadWith(agent.name),
        group: words.groups.agent,
        sign: signOf(agent),
        to: newThreadPath(agent.id),
      },
      {
        id: `agent-edit/${agent.id}`,
        label: words.edit(agent.name),
        group: words.groups.agent,
        sign: signOf(agent),
        to: agentPath(agent.id),
      },
      {
        id: `agent-sees/${agent.id}`,
        label: words.sees(agent.name),
        group: words.groups.agent,
        sign: signOf(agent),
        to: agentSeesPath(agent.id),
      },
    ]),
    ...threads.map(
      (thread): Entry => ({
        id: `thread/${thread.id}`,
        label: titleOf(thread),
        group: words.groups.thread,
        to: threadPath(thread.id),
      }),
    ),
    ...found.map(
      (hit): Entry => ({
        id: `found/${hit.message_id}`,
        label: titleOf(hit.thread),
        group: words.groups.thread,
        to: threadPath(hit.thread.id, hit.message_id),
        isFound: true,
      }),
    ),
  ];
}

function pages(user: User): Entry[] {
  const ways: [string, string][] = [
    [strings.agents.title, agentsPath],
    [strings.agents.new, newAgentPath],
    [strings.settings.title, settingsPath()],
    [strings.settings.account, settingsPath('account')],
    [strings.settings.providers, settingsPath('providers')],
    [strings.start.title, startPath],
    [strings.usage.title, usagePath],
    [strings.threads.archive, archivePath],
    ...(user.is_admin ? ([[strings.deadLetters.title, deadLettersPath]] as [string, string][]) : []),
  ];
  return [
    ...ways.map(([label, to]): Entry => ({ id: `page${to}`, label, group: words.groups.page, to })),
    {
      id: 'log-out',
      label: strings.account.logOut,
      group: words.groups.action,
      act: () => void logOut(),
    },
  ];
}
