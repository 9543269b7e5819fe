/** The column's short list of agents: each begins a new thread. */
import { agentsPath, newThreadPath } from '../router';
import { Glyph } from '../shell/Glyph';
import { Link } from '../shell/Link';
import { strings } from '../strings';
import { signOf, useAgents } from './agents';

const words = strings.agents;
/** More are one step further. */
const SHOWN = 5;

export function AgentNav({ current, onChoose }: { current: string | undefined; onChoose: () => void }) {
  const { items } = useAgents();
  return (
    <section aria-label={words.title} className="agent-nav">
      <h2>{words.title}</h2>
      <ul>
        {items.slice(0, SHOWN).map((agent) => (
          <li className={agent.id === current ? 'thread-row is-current' : 'thread-row'} key={agent.id}>
            <Link
              className="thread-link"
              to={agent.is_default ? '/' : newThreadPath(agent.id)}
              aria-current={agent.id === current ? 'page' : undefined}
              title={words.threadWith(agent.name)}
              onFollow={onChoose}
            >
              <Glyph seed={signOf(agent)} size={20} />
              <span className="thread-name">{agent.name}</span>
            </Link>
          </li>
        ))}
      </ul>
      <Link to={agentsPath} onFollow={onChoose} className="column-note column-link small muted">
        {words.all}
      </Link>
    </section>
  );
}
