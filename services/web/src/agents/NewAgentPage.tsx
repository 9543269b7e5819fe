/** A new agent: from a starter, or from nothing but a name. */
import { type FormEvent, useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { AgentWish, Starter } from '../api/shapes';
import { agentPath, navigate } from '../router';
import { Field } from '../shell/Field';
import { Glyph } from '../shell/Glyph';
import { Loaded, useLoad } from '../shell/load';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { refreshAgents } from './agents';
import { newSign } from './signs';

const words = strings.agents;

export function NewAgentPage({ onToast }: { onToast: (toast: Toast) => void }) {
  const starters = useLoad('starters', async () => (await api.starters()).items);
  const [isBusy, setBusy] = useState(false);

  async function create(wish: AgentWish) {
    setBusy(true);
    try {
      const agent = await api.createAgent(wish);
      void refreshAgents();
      onToast({ words: words.created(agent.name) });
      navigate(agentPath(agent.id));
    } catch (failure) {
      onToast({ words: words.changeFailed(describe(failure)) });
      setBusy(false);
    }
  }

  return (
    <div className="scroller">
      <div className="page">
        <section className="page-section" aria-labelledby="starters">
          <h2 id="starters">{words.starters}</h2>
          <p className="muted">{words.startersHint}</p>
          <Loaded of={starters} onRetry={starters.reload} failed={words.startersFailed}>
            {(items) => (
              <ul className="cards">
                {items.map((starter) => (
                  <li key={starter.key}>
                    <StarterCard starter={starter} isBusy={isBusy} onCreate={(wish) => void create(wish)} />
                  </li>
                ))}
              </ul>
            )}
          </Loaded>
        </section>
        <section className="page-section" aria-labelledby="blank">
          <h2 id="blank">{words.blank}</h2>
          <Blank isBusy={isBusy} onCreate={(wish) => void create(wish)} />
        </section>
      </div>
    </div>
  );
}

interface Creating {
  isBusy: boolean;
  onCreate: (wish: AgentWish) => void;
}

function StarterCard({ starter, isBusy, onCreate }: Creating & { starter: Starter }) {
  const { key: _, ...wish } = starter;
  return (
    <button type="button" className="card" disabled={isBusy} onClick={() => onCreate(wish)}>
      <Glyph seed={starter.glyph || starter.key} size={32} />
      <span className="card-text">
        <strong>{starter.name}</strong>
        <span className="small muted">{starter.role}</span>
      </span>
    </button>
  );
}

function Blank({ isBusy, onCreate }: Creating) {
  const [isTried, setTried] = useState(false);
  const [name, setName] = useState('');
  const [role, setRole] = useState('');
  const isMissing = isTried && !name.trim();

  function submit(event: FormEvent) {
    event.preventDefault();
    setTried(true);
    if (name.trim()) onCreate({ name: name.trim(), role: role.trim(), glyph: newSign() });
  }

  return (
    <form className="form" onSubmit={submit} noValidate>
      <Field label={words.name} error={isMissing ? words.nameNeeded : undefined}>
        {(control) => (
          <input
            {...control}
            type="text"
            maxLength={80}
            autoComplete="off"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label={words.role} hint={words.roleHint}>
        {(control) => (
          <input
            {...control}
            type="text"
            maxLength={300}
            autoComplete="off"
            value={role}
            onChange={(event) => setRole(event.target.value)}
          />
        )}
      </Field>
      <div className="form-actions">
        <button type="submit" className="button primary" disabled={isBusy}>
          {words.create}
        </button>
      </div>
    </form>
  );
}
