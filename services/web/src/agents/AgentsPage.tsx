/** All agents: who they are, and what can be done with each. */
import { useEffect, useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { Agent } from '../api/shapes';
import { agentPath, navigate, newAgentPath, newThreadPath } from '../router';
import { Glyph } from '../shell/Glyph';
import { onHint } from '../shell/hints';
import { Link } from '../shell/Link';
import { Loaded, useLoad } from '../shell/load';
import { PageState } from '../shell/PageState';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { refreshAgents, signOf } from './agents';

const words = strings.agents;

export function AgentsPage({ onToast }: { onToast: (toast: Toast) => void }) {
  const [isArchive, setArchive] = useState(false);
  const agents = useLoad(`agents/${isArchive}`, async () => (await api.agents(isArchive)).items);
  const { reload } = agents;
  useEffect(() => onHint((hint) => hint.kind === 'agents' && reload()), [reload]);

  async function bringBack(agent: Agent) {
    try {
      await api.changeAgent(agent.id, { archived: false });
      agents.change((items) => items.filter((item) => item.id !== agent.id));
      onToast({ words: words.restored(agent.name) });
      void refreshAgents();
    } catch (failure) {
      onToast({ words: words.changeFailed(describe(failure)) });
    }
  }

  return (
    <div className="scroller">
      <div className="page">
        <p className="muted">{words.hint}</p>
        <div className="page-bar">
          <Link className="button primary" to={newAgentPath}>
            {words.new}
          </Link>
          <button type="button" className="button" aria-pressed={isArchive} onClick={() => setArchive(!isArchive)}>
            {isArchive ? words.showActive : words.showArchived}
          </button>
        </div>
        <Loaded of={agents} onRetry={reload} failed={words.failed}>
          {(items) =>
            items.length === 0 ? (
              <PageState
                title={isArchive ? words.noneArchived : words.none}
                action={isArchive ? undefined : { label: words.new, act: () => navigate(newAgentPath) }}
              />
            ) : (
              <ul className="rows" aria-label={words.title}>
                {items.map((agent) => (
                  <AgentRow key={agent.id} agent={agent} onBringBack={() => void bringBack(agent)} />
                ))}
              </ul>
            )
          }
        </Loaded>
      </div>
    </div>
  );
}

function AgentRow({ agent, onBringBack }: { agent: Agent; onBringBack: () => void }) {
  return (
    <li className="row agent-row">
      <Glyph seed={signOf(agent)} size={40} />
      <div className="row-main">
        <h2 className="row-title">
          <Link to={agentPath(agent.id)}>{agent.name}</Link>
          {agent.is_default && <span className="chip">{words.isDefault}</span>}
        </h2>
        {agent.role && <p className="small">{agent.role}</p>}
        <p className="small muted">{agent.model ?? words.defaultModel}</p>
      </div>
      <span className="row-actions">
        {agent.archived ? (
          <button type="button" className="button small" onClick={onBringBack}>
            {words.bringBack}
            <span className="visually-hidden">: {agent.name}</span>
          </button>
        ) : (
          <Link className="button small" to={newThreadPath(agent.id)}>
            {words.talk}
            <span className="visually-hidden">: {agent.name}</span>
          </Link>
        )}
      </span>
    </li>
  );
}
