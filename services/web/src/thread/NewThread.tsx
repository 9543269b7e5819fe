/** The start page: the first message makes the thread. */
import type { UIMessage } from 'ai';
import { useRef, useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { User } from '../api/types';
import { navigate, threadPath } from '../router';
import { strings } from '../strings';
import { Composer, type ComposerHandle } from './Composer';
import { writeDraft } from './drafts';
import { Message } from './Message';
import { put } from './outbox';

/** The draft of the start page is kept under this name. */
const NEW = 'new';

export function NewThread({ user }: { user: User }) {
  const [failure, setFailure] = useState<string>();
  const [sending, setSending] = useState<UIMessage>();
  const composer = useRef<ComposerHandle>(null);

  async function send(id: string, text: string) {
    setSending({ id, role: 'user', parts: [{ type: 'text', text }] });
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
      setSending(undefined);
    }
  }

  return (
    <>
      {sending ? (
        <Sending message={sending} />
      ) : (
        <div className="welcome">
          <h2>{strings.thread.emptyTitle}</h2>
          <p className="muted">{strings.thread.emptyHint}</p>
        </div>
      )}
      <Composer
        user={user.id}
        thread={NEW}
        isRunning={false}
        isDisabled={sending !== undefined}
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

/** What the thread's page will look like in a moment. */
function Sending({ message }: { message: UIMessage }) {
  return (
    <div className="scroller">
      <div className="messages">
        <Message message={message} agent={undefined} moment={undefined} isLive={false} isLast />
        <div className="foot" role="status">
          <span className="foot-dot" />
          {strings.foot.sending}
        </div>
      </div>
    </div>
  );
}
