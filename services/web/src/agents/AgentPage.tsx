/** One agent: what it is and may do, changed and saved together; put away, or made the default. */
import { type FormEvent, useEffect, useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { Agent, AgentChange } from '../api/shapes';
import { agentSeesPath, agentsPath, navigate, newThreadPath } from '../router';
import { Field } from '../shell/Field';
import { Glyph } from '../shell/Glyph';
import { Link } from '../shell/Link';
import { Loaded, useLoad } from '../shell/load';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { refreshAgents, signOf } from './agents';
import { Capabilities } from './Capabilities';
import { ModelFields } from './ModelFields';
import { newSign } from './signs';

const words = strings.agents;

interface AgentPageProps {
  id: string;
  onToast: (toast: Toast) => void;
}

export function AgentPage({ id, onToast }: AgentPageProps) {
  const agent = useLoad(`agent/${id}`, () => api.agent(id));
  const keep = (changed: Agent) => {
    agent.change(() => changed);
    void refreshAgents();
  };
  return (
    <div className="scroller">
      <div className="page">
        <Loaded of={agent} onRetry={agent.reload} failed={words.oneFailed} rows={5}>
          {(loaded) => (
            <>
              <Head agent={loaded} onChanged={keep} onToast={onToast} />
              <AgentForm agent={loaded} onChanged={keep} onToast={onToast} />
            </>
          )}
        </Loaded>
      </div>
    </div>
  );
}

interface PartProps {
  agent: Agent;
  onChanged: (agent: Agent) => void;
  onToast: (toast: Toast) => void;
}

function Head({ agent, onChanged, onToast }: PartProps) {
  const fail = (failure: unknown) => onToast({ words: words.changeFailed(describe(failure)) });

  async function putAway() {
    try {
      await api.archiveAgent(agent.id);
      void refreshAgents();
      navigate(agentsPath);
      const undo = () => {
        api.changeAgent(agent.id, { archived: false }).then(() => {
          void refreshAgents();
          navigate(`/agents/${encodeURIComponent(agent.id)}`);
        }, fail);
      };
      onToast({ words: words.archived(agent.name), action: { label: strings.threads.undo, act: undo } });
    } catch (failure) {
      fail(failure);
    }
  }

  async function bringBack() {
    try {
      onChanged(await api.changeAgent(agent.id, { archived: false }));
      onToast({ words: words.restored(agent.name) });
    } catch (failure) {
      fail(failure);
    }
  }

  async function makeDefault() {
    try {
      await api.makeDefaultAgent(agent.id);
      onChanged(await api.agent(agent.id));
      onToast({ words: words.madeDefault(agent.name) });
    } catch (failure) {
      fail(failure);
    }
  }

  return (
    <div className="agent-head">
      <Glyph seed={signOf(agent)} size={48} />
      <div className="row-main">
        <h2 className="row-title">
          {agent.name}
          {agent.is_default && <span className="chip">{words.isDefault}</span>}
          {agent.archived && <span className="chip">{words.isArchived}</span>}
        </h2>
        <Link className="small" to={agentSeesPath(agent.id)}>
          {words.sees}
        </Link>
      </div>
      <span className="row-actions">
        {agent.archived ? (
          <button type="button" className="button" onClick={() => void bringBack()}>
            {words.bringBack}
          </button>
        ) : (
          <Link className="button" to={newThreadPath(agent.id)}>
            {words.talk}
          </Link>
        )}
        {!agent.archived && !agent.is_default && (
          <>
            <button type="button" className="button" onClick={() => void makeDefault()}>
              {words.makeDefault}
            </button>
            <button type="button" className="button" onClick={() => void putAway()}>
              {words.archive}
            </button>
          </>
        )}
      </span>
    </div>
  );
}

type Draft = Pick<
  Agent,
  'name' | 'role' | 'standing_orders' | 'model' | 'effort' | 'fallback_models' | 'capabilities' | 'glyph' | 'max_steps'
>;

const draftOf = (agent: Agent): Draft => ({
  name: agent.name,
  role: agent.role,
  standing_orders: agent.standing_orders,
  model: agent.model,
  effort: agent.effort,
  fallback_models: agent.fallback_models,
  capabilities: agent.capabilities,
  glyph: signOf(agent),
  max_steps: agent.max_steps,
});

function AgentForm({ agent, onChanged, onToast }: PartProps) {
  const saved = draftOf(agent);
  const [draft, setDraft] = useState(unsaved.get(agent.id) ?? saved);
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const changes = Object.fromEntries(
    Object.entries(draft).filter(([name, value]) => !isSame(value, saved[name as keyof Draft])),
  ) as AgentChange;
  const isChanged = Object.keys(changes).length > 0;
  useUnsaved(agent.id, isChanged ? draft : undefined);

  async function submit(event: FormEvent) {
    event.preventDefault();
    if (!draft.name.trim()) return setFailure(words.nameNeeded);
    setBusy(true);
    setFailure(undefined);
    try {
      const changed = await api.changeAgent(agent.id, changes);
      setDraft(draftOf(changed));
      onChanged(changed);
      onToast({ words: words.saved });
    } catch (wrong) {
      setFailure(describe(wrong));
    } finally {
      setBusy(false);
    }
  }

  return (
    <form className="form" onSubmit={(event) => void submit(event)} noValidate>
      <div className="form-pair">
        <Field label={words.name} error={draft.name.trim() ? undefined : words.nameNeeded}>
          {(control) => (
            <input
              {...control}
              type="text"
              maxLength={80}
              autoComplete="off"
              value={draft.name}
              onChange={(event) => change({ name: event.target.value })}
            />
          )}
        </Field>
        <div className="field">
          <span className="field-label">{words.glyph}</span>
          <span className="glyph-choice">
            <Glyph seed={draft.glyph} size={40} />
            <button type="button" className="button" onClick={() => change({ glyph: newSign() })}>
              {words.newGlyph}
            </button>
          </span>
        </div>
      </div>
      <Field label={words.role} hint={words.roleHint}>
        {(control) => (
          <input
            {...control}
            type="text"
            maxLength={300}
            autoComplete="off"
            value={draft.role}
            onChange={(event) => change({ role: event.target.value })}
          />
        )}
      </Field>
      <Field label={words.orders} hint={words.ordersHint}>
        {(control) => (
          <textarea
            {...control}
            className="text-area"
            rows={8}
            value={draft.standing_orders}
            onChange={(event) => change({ standing_orders: event.target.value })}
          />
        )}
      </Field>
      <ModelFields model={draft.model} effort={draft.effort} fallbacks={draft.fallback_models} onChange={change} />
      <Capabilities value={draft.capabilities} onChange={(capabilities) => change({ capabilities })} />
      <Field label={words.steps} hint={words.stepsHint}>
        {(control) => (
          <input
            {...control}
            type="number"
            className="short"
            min={1}
            max={200}
            value={draft.max_steps}
            onChange={(event) => change({ max_steps: Number(event.target.value) })}
          />
        )}
      </Field>
      {failure && (
        <p className="notice danger" role="alert">
          {failure}
        </p>
      )}
      {isChanged && (
        <div className="save-bar">
          <span className="small muted">{words.unsaved}</span>
          <button type="button" className="button" disabled={isBusy} onClick={() => setDraft(saved)}>
            {strings.discard}
          </button>
          <button type="submit" className="button primary" disabled={isBusy}>
            {strings.save}
          </button>
        </div>
      )}
    </form>
  );
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** What was changed and not saved yet, by agent: it is there again when the page is. */
const unsaved = new Map<string, Draft>();

/** The browser asks before it closes the tab on something that was not saved. */
function useUnsaved(agent: string, draft: Draft | undefined): void {
  const isChanged = draft !== undefined;
  useEffect(() => {
    if (draft) unsaved.set(agent, draft);
    else unsaved.delete(agent);
  }, [agent, draft]);
  useEffect(() => {
    if (!isChanged) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [isChanged]);
}
