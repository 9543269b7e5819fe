/** One dead letter: what, why and since when; its payload when asked for; and the two things to do about it. */
import { useCallback, useEffect, useId, useRef, useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { DeadLetter, WholeDeadLetter } from '../api/types';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { ConfirmDialog } from './ConfirmDialog';

const words = strings.deadLetters;

interface RowProps {
  letter: DeadLetter;
  onReplaced: (letter: DeadLetter) => void;
  onRemoved: (id: string) => void;
  onToast: (toast: Toast) => void;
}

export function DeadLetterRow({ letter, onReplaced, onRemoved, onToast }: RowProps) {
  const [isOpen, setOpen] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const details = useId();
  const drop = useRef<HTMLButtonElement>(null);

  async function act(work: () => Promise<void>) {
    setBusy(true);
    try {
      await work();
    } catch (failure) {
      onToast({ words: words.changeFailed(describe(failure)) });
    } finally {
      setBusy(false);
    }
  }

  const replay = () =>
    act(async () => {
      onReplaced(await api.replayDeadLetter(letter.id));
      onToast({ words: words.replayed });
    });
  const forget = () =>
    act(async () => {
      await api.dropDeadLetter(letter.id);
      onToast({ words: words.dropped });
      onRemoved(letter.id);
    });

  return (
    <li className="admin-item">
      <div className="admin-item-head">
        <h2>{letter.consumer}</h2>
        <span className={`admin-state is-${letter.state}`}>{words.stateOf[letter.state]}</span>
      </div>
      <p className="admin-reason">
        <strong>{letter.reason_type}</strong> {letter.reason}
      </p>
      <p className="small muted">
        <code>{letter.subject}</code> · {words.deliveries(letter.deliveries)} ·{' '}
        <time dateTime={letter.parked_at}>{words.parkedAt(new Date(letter.parked_at).toLocaleString())}</time>
      </p>
      <div className="admin-actions">
        <button
          type="button"
          className="button"
          aria-expanded={isOpen}
          aria-controls={details}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? words.hidePayload : words.showPayload}
        </button>
        {letter.state !== 'handled' && (
          <button type="button" className="button" disabled={isBusy} onClick={() => void replay()}>
            {words.replay}
          </button>
        )}
        <button type="button" className="button" ref={drop} disabled={isBusy} onClick={() => setAsking(true)}>
          {words.drop}
        </button>
      </div>
      <div id={details}>{isOpen && <Payload id={letter.id} />}</div>
      {isAsking && (
        <ConfirmDialog
          title={words.dropTitle}
          words={words.dropWords(letter.consumer)}
          action={words.drop}
          onConfirm={() => void forget()}
          onClose={() => {
            setAsking(false);
            drop.current?.focus();
          }}
        />
      )}
    </li>
  );
}

function Payload({ id }: { id: string }) {
  const [whole, setWhole] = useState<WholeDeadLetter>();
  const [failure, setFailure] = useState<string>();
  const load = useCallback(() => {
    setFailure(undefined);
    api.deadLetter(id).then(setWhole, (wrong) => setFailure(describe(wrong)));
  }, [id]);
  useEffect(load, [load]);
  if (failure) {
    return (
      <div className="notice warn" role="alert">
        {failure}
        <button type="button" className="text-button" onClick={load}>
          {strings.retry}
        </button>
      </div>
    );
  }
  if (!whole) return <div className="skeleton admin-skeleton" aria-busy="true" role="status" />;
  const headers = Object.entries(whole.headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className="admin-payload" aria-label={words.payload} tabIndex={0}>
        {[...headers, '', readable(whole.payload)].join('\n')}
      </section>
      {whole.payload_is_cut && <p className="small muted">{words.cut(whole.payload_bytes)}</p>}
    </>
  );
}

/** JSON with a line for each field; anything else as it is. */
function readable(payload: string): string {
  try {
    return JSON.stringify(JSON.parse(payload), null, 2);
  } catch {
    return payload;
  }
}
