/** Which page a route shows, and what it is called. The thread is there at once, the others are fetched when opened. */
import type { User } from '../api/types';
import { navigate, type Route } from '../router';
import { strings } from '../strings';
import { NewThread } from '../thread/NewThread';
import { ThreadPage } from '../thread/ThreadPage';
import { lazyPage } from './lazy';
import { PageState } from './PageState';
import type { Toast } from './toast';

const AgentsPage = lazyPage(async () => (await import('../agents/AgentsPage')).AgentsPage);
const NewAgentPage = lazyPage(async () => (await import('../agents/NewAgentPage')).NewAgentPage);
const AgentPage = lazyPage(async () => (await import('../agents/AgentPage')).AgentPage);
const SeesPage = lazyPage(async () => (await import('../agents/SeesPage')).SeesPage);
const SettingsPage = lazyPage(async () => (await import('../settings/SettingsPage')).SettingsPage);
const StartPage = lazyPage(async () => (await import('../start/StartPage')).StartPage);
const UsagePage = lazyPage(async () => (await import('../usage/UsagePage')).UsagePage);
const ArchivePage = lazyPage(async () => (await import('../threads/ArchivePage')).ArchivePage);
const DeadLettersPage = lazyPage(async () => (await import('../admin/DeadLettersPage')).DeadLettersPage);

interface PageProps {
  user: User;
  route: Route;
  /** Of the thread that is shown. */
  agent: string | undefined;
  onToast: (toast: Toast) => void;
}

export function Page({ user, route, agent, onToast }: PageProps) {
  switch (route.page) {
    case 'new':
      return <NewThread key={route.agent ?? ''} user={user} agent={route.agent} />;
    case 'thread':
      return (
        <ThreadPage
          key={route.thread}
          user={user}
          thread={route.thread}
          agent={agent}
          message={route.message}
          onToast={onToast}
        />
      );
    case 'agents':
      return <AgentsPage onToast={onToast} />;
    case 'agent-new':
      return <NewAgentPage onToast={onToast} />;
    case 'agent':
      return <AgentPage key={route.agent} id={route.agent} onToast={onToast} />;
    case 'agent-sees':
      return <SeesPage id={route.agent} />;
    case 'settings':
      return <SettingsPage user={user} group={route.group} onToast={onToast} />;
    case 'start':
      return <StartPage user={user} onToast={onToast} />;
    case 'usage':
      return <UsagePage user={user} />;
    case 'archive':
      return <ArchivePage onToast={onToast} />;
    case 'dead-letters':
      return <DeadLettersPage user={user} onToast={onToast} />;
    default: {
      const action = { label: strings.thread.toNew, act: () => navigate('/') };
      return <PageState title={strings.errors.byStatus(404)} action={action} />;
    }
  }
}

export function titleOf(route: Route): string {
  const titles: Partial<Record<Route['page'], string>> = {
    new: strings.threads.new,
    agents: strings.agents.title,
    'agent-new': strings.agents.new,
    agent: strings.agents.one,
    'agent-sees': strings.agents.sees,
    settings: strings.settings.title,
    start: strings.start.title,
    usage: strings.usage.title,
    archive: strings.threads.archive,
    'dead-letters': strings.deadLetters.title,
  };
  return titles[route.page] ?? '';
}
