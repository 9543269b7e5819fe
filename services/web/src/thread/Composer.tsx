/** Where one writes: Enter sends, Shift+Enter breaks the line; the draft survives a reload. */
import { type KeyboardEvent, type ReactNode, useEffect, useImperativeHandle, useRef } from 'react';
import { Send, StopSquare } from '../shell/icons';
import { strings } from '../strings';
import { newMessageId, readDraft, writeDraft } from './drafts';
import { has as isOnItsWay } from './outbox';
import { LONG, useTyping } from './typing';

const words = strings.composer;

export interface ComposerHandle {
  /** Puts a text that was not accepted back, before whatever has been typed since. */
  giveBack: (id: string, text: string) => void;
  /** Forgets the draft that was sent under this id, if it is still the one that is kept. */
  accepted: (id: string) => void;
}

interface ComposerProps {
  user: string;
  thread: string;
  isRunning: boolean;
  isStopping?: boolean;
  isDisabled?: boolean;
  notice?: ReactNode;
  /** What stands below the text: the choice of the model. */
  choice?: ReactNode;
  handle?: React.Ref<ComposerHandle>;
  onSend: (id: string, text: string) => void;
  onStop?: () => void;
  /** The field was emptied by hand. */
  onCleared?: () => void;
}

export function Composer(props: ComposerProps) {
  const { user, thread, isRunning, isStopping, isDisabled, notice, choice, handle, onSend, onStop, onCleared } = props;
  const { draft, put, show, keepNow } = useTyping(user, thread, isOnItsWay(thread));
  const field = useRef<HTMLTextAreaElement>(null);
  const isLong = draft.text.length > LONG;
  const canSend = !isDisabled && /\S/.test(draft.text);

  useEffect(() => {
    if (!matchMedia('(pointer: coarse)').matches) field.current?.focus();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the field's height follows its text
  useEffect(() => grow(field.current, isLong), [draft.text]);

  useImperativeHandle(handle, () => ({
    giveBack(id, text) {
      put((now) => {
        const isUntouched = now.text === '' || now.text === text;
        return isUntouched ? { text, sentAs: id } : { text: `${text}\n\n${now.text}` };
      });
      field.current?.focus();
    },
    accepted(id) {
      if (readDraft(user, thread).sentAs === id) writeDraft(user, thread, { text: '' });
      show((now) => (now.sentAs === id ? { text: '' } : now));
    },
  }));

  function change(text: string) {
    // A changed text is another message; the same one keeps its id and can be taken only once.
    put({ text });
    if (text === '') onCleared?.();
  }

  function send() {
    if (!canSend) return;
    const id = draft.sentAs ?? newMessageId();
    keepNow({ text: draft.text, sentAs: id });
    show({ text: '' });
    onSend(id, draft.text);
  }

  function press(event: KeyboardEvent) {
    // While an input method composes a word, Enter belongs to it.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  }

  return (
    <div className="dock">
      {notice}
      <form
        className="composer"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <textarea
          ref={field}
          rows={1}
          className={isLong ? 'is-long' : undefined}
          spellCheck={isLong ? false : undefined}
          aria-label={words.label}
          placeholder={words.placeholder}
          value={draft.text}
          onChange={(event) => change(event.currentTarget.value)}
          onKeyDown={press}
          onPaste={(event) => {
            // Before it is in the field: to fit the field to a long text takes longer than to paste it.
            if (event.clipboardData.getData('text/plain').length > LONG) event.currentTarget.classList.add('is-long');
          }}
        />
        <div className="composer-foot">
          {choice}
          <span className="composer-gap" />
          {isRunning && (
            <button
              type="button"
              className="icon-button stop"
              aria-label={words.stop}
              title={words.stop}
              disabled={isStopping}
              onClick={onStop}
            >
              <StopSquare />
            </button>
          )}
          {(!isRunning || canSend) && (
            <button
              type="submit"
              className="icon-button send"
              aria-label={words.send}
              title={words.send}
              disabled={!canSend}
            >
              <Send />
            </button>
          )}
        </div>
      </form>
    </div>
  );
}

/** For browsers without `field-sizing: content`. A long text has the greatest height anyway, and is not measured. */
function grow(field: HTMLTextAreaElement | null, isLong: boolean): void {
  if (!field || CSS.supports('field-sizing', 'content')) return;
  field.style.height = '';
  if (!isLong) field.style.height = `${field.scrollHeight}px`;
}
