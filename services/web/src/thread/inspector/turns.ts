/** The turns of the messages on the page, and when one of them is to be looked at again. */
import { isToolUIPart, type UIMessage } from 'ai';
import type { FollowState } from '../../transport/follow';
import { factsOf } from '../metadata';

/** Oldest first; the running one is last, also before it has said anything. */
export function turnsOf(messages: UIMessage[], running: string | undefined): string[] {
  const found = new Set<string>();
  for (const message of messages) {
    const { turn } = factsOf(message);
    if (turn) found.add(turn);
  }
  if (running) found.add(running);
  return [...found];
}

/** Changes when the turn has moved on: a step, a tool, its end. */
export function stampOf(messages: UIMessage[], turn: string | undefined, follow: FollowState | undefined): string {
  const message = messages.findLast((one) => factsOf(one).turn === turn);
  const moves = message?.parts.filter((part) => part.type === 'step-start' || isToolUIPart(part)) ?? [];
  const states = moves.map((part) => (isToolUIPart(part) ? part.state : 'step'));
  const phase = follow?.turn === turn ? `${follow?.phase} ${follow?.isPickedUp}` : '';
  return `${turn} ${factsOf(message).status} ${phase} ${states.join(',')}`;
}
