/** Where one writes: Enter sends, Shift+Enter breaks the line; the draft survives a reload. */
import { type KeyboardEvent, type ReactNode, useEffect, useImperativeHandle, useRef, useState } from 'react';
import { Send, StopSquare } from '../shell/icons';
import { strings } from '../strings';
import { type Draft, newMessageId, readDraft, writeDraft } from './drafts';
import { has as isOnItsWay } from './outbox';

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
  handle?: React.Ref<ComposerHandle>;
  onSend: (id: string, text: string) => void;
  onStop?: () => void;
}

export function Composer({
  user,
  thread,
  isRunning,
  isStopping,
  isDisabled,
  notice,
  handle,
  onSend,
  onStop,
}: ComposerProps) {
  const [draft, setDraft] = useState<Draft>(() => (isOnItsWay(thread) ? { text: '' } : readDraft(user, thread)));
  const field = useRef<HTMLTextAreaElement>(null);
  const canSend = draft.text.trim() !== '' && !isDisabled;

  useEffect(() => {
    if (!matchMedia('(pointer: coarse)').matches) field.current?.focus();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the field's height follows its text
  useEffect(() => grow(field.current), [draft.text]);

  useImperativeHandle(handle, () => ({
    giveBack(id, text) {
      setDraft((now) => {
        const isUntouched = now.text === '' || now.text === text;
        const next = isUntouched ? { text, sentAs: id } : { text: `${text}\n\n${now.text}` };
        writeDraft(user, thread, next);
        return next;
      });
      field.current?.focus();
    },
    accepted(id) {
      if (readDraft(user, thread).sentAs === id) writeDraft(user, thread, { text: '' });
      setDraft((now) => (now.sentAs === id ? { text: '' } : now));
    },
  }));

  function change(text: string) {
    // A changed text is another message; the same one keeps its id and can be taken only once.
    setDraft({ text });
    writeDraft(user, thread, { text });
  }

  function send() {
    if (!canSend) return;
    const id = draft.sentAs ?? newMessageId();
    writeDraft(user, thread, { text: draft.text, sentAs: id });
    setDraft({ text: '' });
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
          aria-label={words.label}
          placeholder={words.placeholder}
          value={draft.text}
          onChange={(event) => change(event.currentTarget.value)}
          onKeyDown={press}
        />
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
      </form>
    </div>
  );
}

/** For browsers without `field-sizing: content`. */
function grow(field: HTMLTextAreaElement | null): void {
  if (!field || CSS.supports('field-sizing', 'content')) return;
  field.style.height = 'auto';
  field.style.height = `${field.scrollHeight}px`;
}
