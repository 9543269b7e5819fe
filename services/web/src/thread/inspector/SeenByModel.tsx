/** What the model was shown at the first step, opened only when somebody asks. */
import { useEffect, useState } from 'react';
import { api } from '../../api/client';
import { ApiError, describe } from '../../api/failure';
import type { Seen } from '../../api/shapes';
import { Chevron } from '../../shell/icons';
import { strings } from '../../strings';
import { Lines } from '../CodeBlock';

const words = strings.inspector;

export function SeenByModel({ turn }: { turn: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="line-details run-seen" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Chevron />
        <span className="line-words">{words.saw}</span>
      </summary>
      <div className="line-body">{isOpen && <Whole turn={turn} />}</div>
    </details>
  );
}

function Whole({ turn }: { turn: string }) {
  const [seen, setSeen] = useState<Seen>();
  const [failure, setFailure] = useState<unknown>();
  useEffect(() => {
    let isCurrent = true;
    api.turnPrompt(turn).then(
      (answer) => isCurrent && setSeen(answer),
      (reason) => isCurrent && setFailure(reason),
    );
    return () => {
      isCurrent = false;
    };
  }, [turn]);
  if (failure instanceof ApiError && failure.status === 404) return <p className="muted">{words.sawNothing}</p>;
  if (failure !== undefined) return <p role="alert">{describe(failure)}</p>;
  if (!seen) return <div className="skeleton inspector-skeleton" />;
  return (
    <>
      <p className="muted">{words.sawHint}</p>
      <h4>{words.instructions}</h4>
      {seen.blocks.map((block) => (
        <Passage key={block.name} name={block.name} text={block.text} />
      ))}
      <h4>{words.conversation}</h4>
      {seen.older > 0 && <p className="muted">{words.olderMessages(seen.older)}</p>}
      {seen.messages.map((message, index) => (
        // They never move.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <Passage key={index} name={words.roles[message.role] ?? message.role} text={inFull(message)} />
      ))}
      {seen.tools.length > 0 && <h4>{words.tools}</h4>}
      {seen.tools.map((tool) => (
        <Passage key={tool.name} name={tool.name} text={tool.description} />
      ))}
    </>
  );
}

function inFull({ text, calls, results }: Seen['messages'][number]): string {
  const others = [...calls, ...results].map((part) => JSON.stringify(part, null, 2));
  return [text, ...others].filter(Boolean).join('\n\n');
}

/** A line with the name and the size, opening to the text. */
function Passage({ name, text }: { name: string; text: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="line-details" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Chevron />
        <span className="line-words">{name}</span>
        <span className="line-time">{words.characters(text.length)}</span>
      </summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <pre className="tool-value" tabIndex={0}>
          <Lines text={text} />
        </pre>
      )}
    </details>
  );
}
