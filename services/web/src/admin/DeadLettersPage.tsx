/** What consumers could not work on: read, sent again or forgotten, by administrators. */
import { useRef, useState } from 'react';
import type { DeadLetterState, User } from '../api/types';
import { navigate } from '../router';
import { PageState } from '../shell/PageState';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { DeadLetterRow } from './DeadLetterRow';
import { useDeadLetters } from './deadLetters';

const words = strings.deadLetters;

export function DeadLettersPage({ user, onToast }: { user: User; onToast: (toast: Toast) => void }) {
  if (!user.is_admin) {
    const action = { label: strings.thread.toNew, act: () => navigate('/') };
    return <PageState title={strings.errors.byStatus(403)} hint={words.forAdmins} action={action} />;
  }
  return <Letters onToast={onToast} />;
}

function Letters({ onToast }: { onToast: (toast: Toast) => void }) {
  const [state, setState] = useState<DeadLetterState | undefined>('parked');
  const letters = useDeadLetters(state);
  const filter = useRef<HTMLSelectElement>(null);
  const remove = (id: string) => {
    letters.remove(id);
    filter.current?.focus(); // the button that was pressed is gone
  };
  return (
    <div className="scroller">
      <div className="admin-page">
        <p className="muted">{words.hint}</p>
        <div className="admin-bar">
          <label className="small" htmlFor="dead-letters-state">
            {words.show}
          </label>
          <select
            id="dead-letters-state"
            ref={filter}
            className="select"
            value={state ?? ''}
            onChange={(event) => setState((event.target.value || undefined) as DeadLetterState | undefined)}
          >
            {words.states.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
          <button type="button" className="button" onClick={letters.reload}>
            {words.reload}
          </button>
        </div>
        {letters.failure && (
          <div className="notice warn" role="alert">
            {words.failed} {letters.failure}
            <button type="button" className="text-button" onClick={letters.reload}>
              {strings.retry}
            </button>
          </div>
        )}
        {!letters.isLoaded && !letters.failure && <Skeleton />}
        {letters.isLoaded && letters.items.length === 0 && (
          <p className="admin-empty" role="status">
            {state === 'parked' ? words.noneWaiting : words.none}
          </p>
        )}
        <ul className="admin-list" aria-label={words.title}>
          {letters.items.map((letter) => (
            <DeadLetterRow
              key={letter.id}
              letter={letter}
              onReplaced={letters.replace}
              onRemoved={remove}
              onToast={onToast}
            />
          ))}
        </ul>
        {letters.hasMore && (
          <button type="button" className="button" onClick={letters.loadMore}>
            {words.more}
          </button>
        )}
      </div>
    </div>
  );
}

function Skeleton() {
  return (
    <div className="admin-list" aria-busy="true" aria-label={strings.loading} role="status">
      {['first', 'second', 'third'].map((key) => (
        <div className="skeleton admin-skeleton" key={key} />
      ))}
    </div>
  );
}
