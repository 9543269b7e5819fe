/** The workroom: threads at the left (over the thread on a phone), the thread in the middle. */
import { useCallback, useEffect, useState } from 'react';
import { AccountMenu } from '../account/AccountMenu';
import { DeadLettersPage } from '../admin/DeadLettersPage';
import type { User } from '../api/types';
import { navigate, type Route } from '../router';
import { strings } from '../strings';
import { NewThread } from '../thread/NewThread';
import { ThreadPage } from '../thread/ThreadPage';
import { ThreadList } from '../threads/ThreadList';
import { useThread, useThreads } from '../threads/threads';
import { Brand } from './Brand';
import { Column, Plus } from './icons';
import { KeysDialog } from './KeysDialog';
import { usePageKeys } from './keys';
import { PageState } from './PageState';
import { type Toast, useToast } from './toast';

export function Shell({ user, route }: { user: User; route: Route }) {
  const isPhone = useIsPhone();
  const [isColumnOpen, setColumnOpen] = useState(!isPhone);
  const [hasKeys, setKeys] = useState(false);
  const threads = useThreads();
  const { toast, show } = useToast();
  const path = route.page === 'thread' ? route.thread : route.page;

  // biome-ignore lint/correctness/useExhaustiveDependencies: on a phone every page that was chosen closes the list
  useEffect(() => setColumnOpen(!isPhone), [isPhone, path]);

  const newThread = useCallback(() => {
    navigate('/');
    setColumnOpen(!isPhone);
    requestAnimationFrame(() => document.querySelector('textarea')?.focus());
  }, [isPhone]);
  const toggleColumn = () => setColumnOpen(!isColumnOpen);
  usePageKeys({ newThread, toggleColumn, showKeys: () => setKeys(true) });
  useEffect(() => closeOnEscape(isPhone && isColumnOpen, () => setColumnOpen(false)), [isPhone, isColumnOpen]);

  const current = useThread(route.page === 'thread' ? route.thread : undefined);
  const named = current && (current.title ?? current.preview ?? strings.threads.untitled);
  const title = named ?? titleOf(route);
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
          <ThreadList threads={threads} current={current?.id} onChoose={() => setColumnOpen(!isPhone)} onToast={show} />
          <div className="column-foot">
            <AccountMenu user={user} onKeys={() => setKeys(true)} onFailure={(words) => show({ words })} />
          </div>
        </nav>
      )}
      <main className="main" inert={isColumnOpen && isPhone}>
        <div className="bar">
          {opener}
          {title && <h1 className="bar-title">{title}</h1>}
        </div>
        <Page user={user} route={route} agent={current?.agent_id} onToast={show} />
      </main>
      {hasKeys && <KeysDialog onClose={() => setKeys(false)} />}
      {toast}
    </div>
  );
}

function titleOf(route: Route): string {
  if (route.page === 'new') return strings.threads.new;
  return route.page === 'dead-letters' ? strings.deadLetters.title : '';
}

interface PageProps {
  user: User;
  route: Route;
  agent: string | undefined;
  onToast: (toast: Toast) => void;
}

function Page({ user, route, agent, onToast }: PageProps) {
  if (route.page === 'new') return <NewThread user={user} />;
  if (route.page === 'thread') return <ThreadPage key={route.thread} user={user} thread={route.thread} agent={agent} />;
  if (route.page === 'dead-letters') return <DeadLettersPage user={user} onToast={onToast} />;
  const action = { label: strings.thread.toNew, act: () => navigate('/') };
  return <PageState title={strings.errors.byStatus(404)} action={action} />;
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
