/** The keys, on `?`. */
import { useEffect, useRef } from 'react';
import { strings } from '../strings';
import { Cross } from './icons';

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="dialog" aria-label={strings.keys.title} onClose={onClose}>
      <div className="dialog-head">
        <h2>{strings.keys.title}</h2>
        <button
          type="button"
          className="icon-button"
          aria-label={strings.close}
          onClick={() => dialog.current?.close()}
        >
          <Cross />
        </button>
      </div>
      <dl className="keys">
        {strings.keys.rows.map(([keys, what]) => (
          <Row key={keys} keys={keys} what={what} />
        ))}
      </dl>
    </dialog>
  );
}

function Row({ keys, what }: { keys: string; what: string }) {
  return (
    <>
      <dt>
        <kbd>{keys}</kbd>
      </dt>
      <dd>{what}</dd>
    </>
  );
}
