/** The start page: the first message makes the thread. */
import type { UIMessage } from 'ai';
import { useRef, useState } from 'react';
import { signOf, useAgents } from '../agents/agents';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { User } from '../api/types';
import { navigate, threadPath } from '../router';
import { strings } from '../strings';
import { Composer, type ComposerHandle } from './Composer';
import { writeDraft } from './drafts';
import { Message } from './Message';
import { type Choice, ModelChoice } from './ModelChoice';
import { put } from './outbox';
import { NO_CHOICE } from './useChoice';

/** The draft of the start page is kept under this name. */
const NEW = 'new';

interface NewThreadProps {
  user: User;
  /** Whom it is for; none: the default agent. */
  agent?: string | undefined;
}

export function NewThread({ user, agent }: NewThreadProps) {
  const [failure, setFailure] = useState<string>();
  const [sending, setSending] = useState<UIMessage>();
  const [choice, setChoice] = useState<Choice>(NO_CHOICE);
  const composer = useRef<ComposerHandle>(null);
  const agents = useAgents().items;
  const own = agents.find((one) => (agent === undefined ? one.is_default : one.id === agent));

  async function send(id: string, text: string) {
    setSending({ id, role: 'user', parts: [{ type: 'text', text }] });
    setFailure(undefined);
    try {
      const { id: thread } = await api.createThread(agent);
      if (choice.model !== null || choice.effort !== null) await api.changeThread(thread, choice);
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
        <Sending message={sending} sign={own ? signOf(own) : strings.product} />
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
        onCleared={() => setFailure(undefined)}
        choice={
          <ModelChoice choice={choice} agent={own?.id} onChange={(change) => setChoice({ ...choice, ...change })} />
        }
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
function Sending({ message, sign }: { message: UIMessage; sign: string }) {
  return (
    <div className="scroller">
      <div className="messages">
        <Message message={message} sign={sign} moment={undefined} isLive={false} isLast isPast={false} />
        <div className="foot" role="status">
          <span className="foot-dot" />
          {strings.foot.sending}
        </div>
      </div>
    </div>
  );
}
