/** The actions of a message: copying at hand, the rest in a menu. */
import type { UIMessage } from 'ai';
import { useRef, useState } from 'react';
import { Check, Dots, Sheets } from '../shell/icons';
import { Menu, type MenuItem } from '../shell/Menu';
import { strings } from '../strings';
import { useDeeds } from './actions';
import { copyPlain, copyWriting } from './copying';
import { factsOf, textOf } from './metadata';

const words = strings.messageActions;
/** In ms. */
const SAID_FOR = 2000;

interface MessageActionsProps {
  message: UIMessage;
  /** The newest answer did not end well. */
  canTryAgain: boolean;
}

export function MessageActions({ message, canTryAgain }: MessageActionsProps) {
  const box = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [said, say] = useSaid();
  const deeds = useDeeds();
  const text = textOf(message);
  const isOwn = message.role === 'user';
  const { turn } = factsOf(message);
  const article = () => box.current?.closest('article');

  async function copy() {
    const shown = article();
    const isDone = isOwn || !shown ? await copyPlain(text) : await copyWriting(shown);
    if (!isDone && shown) getSelection()?.selectAllChildren(shown);
    say(isDone ? words.copied : words.selected);
  }

  async function copyText(value: string) {
    say((await copyPlain(value)) ? words.copied : words.notCopied);
  }

  const items: (MenuItem | false)[] = [
    !isOwn && { label: words.copyMarkdown, act: () => void copyText(text) },
    { label: words.copyLink, act: () => void copyText(deeds.linkTo(message.id)) },
    !isOwn && { label: words.toBeginning, act: () => article()?.scrollIntoView({ block: 'start' }) },
    turn !== undefined && !isOwn && { label: words.inspect, act: () => deeds.inspect(turn) },
    canTryAgain && { label: words.tryAgain, act: deeds.again },
  ];
  return (
    <div className={isOpen ? 'message-actions is-open' : 'message-actions'} ref={box}>
      <span className="message-said" role="status">
        {said}
      </span>
      {text !== '' && (
        <button
          type="button"
          className="icon-button"
          aria-label={words.copy}
          title={words.copy}
          onClick={() => void copy()}
        >
          {said === words.copied ? <Check /> : <Sheets />}
        </button>
      )}
      <div className="menu-anchor">
        <button
          type="button"
          className="icon-button"
          aria-label={words.more}
          title={words.more}
          aria-haspopup="menu"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <Dots />
        </button>
        {isOpen && (
          <Menu
            label={words.more}
            className="below"
            items={items.filter((item) => item !== false)}
            onClose={() => setOpen(false)}
          />
        )}
      </div>
    </div>
  );
}

/** A word that is gone after a moment. */
function useSaid(): [string, (words: string) => void] {
  const [said, setSaid] = useState('');
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  return [
    said,
    (next) => {
      clearTimeout(timer.current);
      setSaid(next);
      timer.current = setTimeout(() => setSaid(''), SAID_FOR);
    },
  ];
}
