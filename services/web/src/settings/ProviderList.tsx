/** Providers that are connected: tested, given another key, removed. */
import { type FormEvent, useState } from 'react';
import { ConfirmDialog } from '../admin/ConfirmDialog';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { Provider } from '../api/shapes';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { refreshModels } from './models';
import { PullForm } from './PullForm';

const words = strings.providers;

interface ProviderListProps {
  items: Provider[];
  /** May change those that serve everyone. */
  isAdmin: boolean;
  onChanged: () => void;
  onToast: (toast: Toast) => void;
}

export function ProviderList({ items, ...rest }: ProviderListProps) {
  if (items.length === 0) return null;
  return (
    <ul className="rows" aria-label={words.list}>
      {items.map((provider) => (
        <ProviderRow key={provider.id ?? provider.name} provider={provider} {...rest} />
      ))}
    </ul>
  );
}

function ProviderRow({
  provider,
  isAdmin,
  onChanged,
  onToast,
}: { provider: Provider } & Omit<ProviderListProps, 'items'>) {
  const [said, setSaid] = useState<{ words: string; isGood: boolean }>();
  const [doing, setDoing] = useState<'test' | 'key' | 'remove'>();
  const [isAsking, setAsking] = useState(false);
  const { id } = provider;
  const isOurs = id !== null && (provider.scope === 'user' || isAdmin);

  async function test() {
    if (id === null) return;
    setDoing('test');
    setSaid(undefined);
    try {
      const answer = await api.testProvider({ id });
      setSaid(
        answer.ok
          ? { words: words.works(answer.models.length, answer.took_ms), isGood: true }
          : { words: words.doesNot(answer.error ?? ''), isGood: false },
      );
    } catch (failure) {
      setSaid({ words: words.doesNot(describe(failure)), isGood: false });
    } finally {
      setDoing(undefined);
    }
  }

  async function remove() {
    if (id === null) return;
    setDoing('remove');
    try {
      await api.removeProvider(id);
      onToast({ words: words.removed(provider.name) });
      void refreshModels();
      onChanged();
    } catch (failure) {
      onToast({ words: words.changeFailed(describe(failure)) });
      setDoing(undefined);
    }
  }

  async function replaceKey(key: string) {
    if (id === null) return;
    try {
      await api.changeProvider(id, { key });
      onToast({ words: words.keyReplaced });
      setDoing(undefined);
      onChanged();
    } catch (failure) {
      setSaid({ words: words.changeFailed(describe(failure)), isGood: false });
    }
  }

  return (
    <li className="provider">
      <div className="provider-head">
        <h3 className="row-title">
          {provider.name}
          <span className="chip">
            {provider.source === 'environment'
              ? words.fromEnvironment
              : provider.scope === 'user'
                ? words.own
                : words.everyones}
          </span>
        </h3>
        {isOurs && (
          <span className="row-actions">
            <button type="button" className="button small" disabled={doing === 'test'} onClick={() => void test()}>
              {doing === 'test' ? words.testing : words.test}
              <span className="visually-hidden"> {provider.name}</span>
            </button>
            <button
              type="button"
              className="button small"
              onClick={() => setDoing(doing === 'key' ? undefined : 'key')}
            >
              {words.replaceKey}
              <span className="visually-hidden"> {provider.name}</span>
            </button>
            <button
              type="button"
              className="button small"
              disabled={doing === 'remove'}
              onClick={() => setAsking(true)}
            >
              {words.remove}
              <span className="visually-hidden"> {provider.name}</span>
            </button>
          </span>
        )}
      </div>
      <p className="small muted">
        {[
          provider.base_url,
          provider.key ?? words.noKey,
          provider.models === null ? undefined : words.models(provider.models),
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
      {provider.error && !said && <p className="notice warn">{provider.error}</p>}
      {said && (
        <p className={said.isGood ? 'notice good' : 'notice warn'} role="status">
          {said.words}
        </p>
      )}
      {doing === 'key' && <NewKey onSave={(key) => void replaceKey(key)} onCancel={() => setDoing(undefined)} />}
      {provider.kind === 'ollama' && isOurs && <PullForm provider={provider.name} onDone={onChanged} />}
      {isAsking && (
        <ConfirmDialog
          title={words.removeTitle(provider.name)}
          words={words.removeWords}
          action={words.remove}
          onConfirm={() => void remove()}
          onClose={() => setAsking(false)}
        />
      )}
    </li>
  );
}

function NewKey({ onSave, onCancel }: { onSave: (key: string) => void; onCancel: () => void }) {
  const [key, setKey] = useState('');
  function submit(event: FormEvent) {
    event.preventDefault();
    if (key.trim()) onSave(key.trim());
  }
  return (
    <form className="inline-form" onSubmit={submit}>
      <input
        className="input"
        type="password"
        autoComplete="off"
        aria-label={words.key}
        placeholder={words.key}
        // biome-ignore lint/a11y/noAutofocus: the field appears because the person asked to type here
        autoFocus
        value={key}
        onChange={(event) => setKey(event.target.value)}
      />
      <button type="submit" className="button" disabled={!key.trim()}>
        {strings.save}
      </button>
      <button type="button" className="button" onClick={onCancel}>
        {strings.cancel}
      </button>
    </form>
  );
}
