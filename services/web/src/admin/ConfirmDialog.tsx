/** Asks before something is gone for good; Esc and a click on the way out mean no. */
import { useEffect, useId, useRef } from 'react';
import { strings } from '../strings';

interface ConfirmProps {
  title: string;
  words: string;
  action: string;
  onConfirm: () => void;
  onClose: () => void;
}

export function ConfirmDialog({ title, words, action, onConfirm, onClose }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={heading} onClose={onClose}>
      <div className="dialog-head">
        <h2 id={heading}>{title}</h2>
      </div>
      <p>{words}</p>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={() => dialog.current?.close()}>
          {strings.cancel}
        </button>
        <button
          type="button"
          className="button danger"
          onClick={() => {
            dialog.current?.close();
            onConfirm();
          }}
        >
          {action}
        </button>
      </div>
    </dialog>
  );
}
