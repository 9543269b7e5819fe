/** The start page: the first message makes the thread. */
import { useRef, useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { User } from '../api/types';
import { navigate, threadPath } from '../router';
import { strings } from '../strings';
import { Composer, type ComposerHandle } from './Composer';
import { writeDraft } from './drafts';
import { put } from './outbox';

/** The draft of the start page is kept under this name. */
const NEW = 'new';

export function NewThread({ user }: { user: User }) {
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const composer = useRef<ComposerHandle>(null);

  async function send(id: string, text: string) {
    setBusy(true);
    setFailure(undefined);
    try {
      const { id: thread } = await api.createThread();
      // From here on the text belongs to the thread.
      writeDraft(user.id, thread, { text, sentAs: id });
      writeDraft(user.id, NEW, { text: '' });
      put(thread, { id, text });
      navigate(threadPath(thread));
    } catch (error) {
      setFailure(describe(error));
      composer.current?.giveBack(id, text);
      setBusy(false);
    }
  }

  return (
    <>
      <div className="welcome">
        <h2>{strings.thread.emptyTitle}</h2>
        <p className="muted">{strings.thread.emptyHint}</p>
      </div>
      <Composer
        user={user.id}
        thread={NEW}
        isRunning={false}
        isDisabled={isBusy}
        handle={composer}
        onSend={(id, text) => void send(id, text)}
        notice={
          failure && (
            <p className="notice danger" role="alert">
              {strings.composer.notSent} {failure} {strings.composer.back}
            </p>
          )
        }
      />
    </>
  );
}
