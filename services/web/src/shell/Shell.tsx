/** The workroom: threads at the left (over the thread on a phone), the thread in the middle. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { AccountMenu } from '../account/AccountMenu';
import { AgentNav } from '../agents/AgentNav';
import { useAgents } from '../agents/agents';
import type { User } from '../api/types';
import { type Command, useCommands } from '../palette/commands';
import { Palette } from '../palette/Palette';
import { navigate, type Route } from '../router';
import { strings } from '../strings';
import { SearchField } from '../threads/SearchField';
import { ThreadList } from '../threads/ThreadList';
import { useThread, useThreads } from '../threads/threads';
import { Brand } from './Brand';
import { ErrorBoundary } from './ErrorBoundary';
import { readHints } from './hints';
import { Column, Plus } from './icons';
import { KeysDialog } from './KeysDialog';
import { usePageKeys } from './keys';
import { WhileLoading } from './lazy';
import { Page, titleOf } from './pages';
import { useToast } from './toast';

export function Shell({ user, route }: { user: User; route: Route }) {
  const isPhone = useIsPhone();
  const [isColumnOpen, setColumnOpen] = useState(!isPhone);
  const [hasKeys, setKeys] = useState(false);
  const [hasPalette, setPalette] = useState(false);
  const main = useRef<HTMLElement>(null);
  const threads = useThreads();
  const { toast, show } = useToast();
  const path = pathOf(route);

  useEffect(readHints, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: on a phone every page that was chosen closes the list
  useEffect(() => setColumnOpen(!isPhone), [isPhone, path]);

  const newThread = useCallback(() => {
    navigate('/');
    setColumnOpen(!isPhone);
    requestAnimationFrame(() => document.querySelector('textarea')?.focus());
  }, [isPhone]);
  const choose = () => setColumnOpen(!isPhone);
  const toggleColumn = () => setColumnOpen(!isColumnOpen);
  const showKeys = () => setKeys(true);
  usePageKeys({ newThread, toggleColumn, showKeys, showPalette: () => setPalette(!hasPalette) });
  useCommands(ownCommands({ newThread, toggleColumn, showKeys }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: what had the focus may have gone with the last page
  useEffect(() => {
    if (document.activeElement === document.body) main.current?.focus({ preventScroll: true });
  }, [path]);
  useEffect(() => closeOnEscape(isPhone && isColumnOpen, () => setColumnOpen(false)), [isPhone, isColumnOpen]);

  const current = useThread(route.page === 'thread' ? route.thread : undefined);
  const named = current && (current.title ?? current.preview ?? strings.threads.untitled);
  const { items: agents } = useAgents();
  const edited = route.page === 'agent' ? agents.find((agent) => agent.id === route.agent)?.name : undefined;
  const title = named ?? edited ?? titleOf(route);
  const newFor = route.page === 'new' ? (route.agent ?? agents.find((agent) => agent.is_default)?.id) : undefined;
  const opener =
    isColumnOpen && !isPhone ? null : (
      <>
        <button
          type="button"
          className="icon-button"
          aria-label={strings.threads.show}
          aria-expanded={false}
          onClick={toggleColumn}
        >
          <Column />
        </button>
        <button type="button" className="icon-button" aria-label={strings.threads.new} onClick={newThread}>
          <Plus />
        </button>
      </>
    );

  useEffect(() => {
    document.title = title ? `${title} · ${strings.product}` : strings.product;
  }, [title]);

  return (
    <div className={isColumnOpen ? 'shell' : 'shell is-closed'}>
      {isColumnOpen && isPhone && (
        <button type="button" className="scrim" aria-label={strings.threads.hide} onClick={toggleColumn} />
      )}
      {isColumnOpen && (
        <nav className="column" aria-label={strings.threads.title}>
          <div className="bar">
            <span className="brand">
              <Brand size={24} />
              {strings.product}
            </span>
            <button type="button" className="icon-button" aria-label={strings.threads.new} onClick={newThread}>
              <Plus />
            </button>
            <button
              type="button"
              className="icon-button"
              aria-label={strings.threads.hide}
              aria-expanded
              onClick={toggleColumn}
            >
              <Column />
            </button>
          </div>
          <SearchField onChoose={choose}>
            <div className="thread-list">
              <AgentNav current={newFor} onChoose={choose} />
              <ThreadList threads={threads} current={current?.id} onChoose={choose} onToast={show} />
            </div>
          </SearchField>
          <div className="column-foot">
            <AccountMenu user={user} onKeys={showKeys} onFailure={(words) => show({ words })} />
          </div>
        </nav>
      )}
      <main className="main" ref={main} tabIndex={-1} inert={isColumnOpen && isPhone}>
        <div className="bar">
          {opener}
          {title && <h1 className="bar-title">{title}</h1>}
          {/* The page that is shown puts its own buttons here. */}
          <div className="bar-actions" id="bar-actions" />
        </div>
        <ErrorBoundary key={path}>
          <WhileLoading>
            <Page user={user} route={route} agent={current?.agent_id} onToast={show} />
          </WhileLoading>
        </ErrorBoundary>
      </main>
      {hasKeys && <KeysDialog onClose={() => setKeys(false)} />}
      {hasPalette && <Palette user={user} onClose={() => setPalette(false)} />}
      {toast}
    </div>
  );
}

/** What is another page, for whatever belongs to one page only. */
function pathOf(route: Route): string {
  if (route.page === 'thread') return route.thread;
  if (route.page === 'settings') return `settings/${route.group}`;
  return 'agent' in route ? `${route.page}/${route.agent ?? ''}` : route.page;
}

function ownCommands(does: { newThread: () => void; toggleColumn: () => void; showKeys: () => void }): Command[] {
  return [
    { id: 'new-thread', label: strings.threads.new, keys: 'Ctrl/⌘ + Shift + O', act: does.newThread },
    { id: 'toggle-column', label: strings.palette.toggleColumn, keys: 'Ctrl/⌘ + B', act: does.toggleColumn },
    { id: 'keys', label: strings.keys.title, keys: '?', act: does.showKeys },
  ];
}

function useIsPhone(): boolean {
  const [isPhone, setPhone] = useState(() => matchMedia('(max-width: 760px)').matches);
  useEffect(() => {
    const query = matchMedia('(max-width: 760px)');
    const change = () => setPhone(query.matches);
    query.addEventListener('change', change);
    return () => query.removeEventListener('change', change);
  }, []);
  return isPhone;
}

/** Esc closes what lies on top first; only then may it stop an answer. */
function closeOnEscape(isOpen: boolean, close: () => void): (() => void) | undefined {
  if (!isOpen) return undefined;
  const press = (event: KeyboardEvent) => {
    const isInside = event.target instanceof Element && event.target.closest('dialog, [role=menu], input');
    if (event.key !== 'Escape' || event.defaultPrevented || isInside) return;
    event.preventDefault();
    close();
  };
  document.addEventListener('keydown', press, { capture: true });
  return () => document.removeEventListener('keydown', press, { capture: true });
}
