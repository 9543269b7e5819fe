/** Connecting a provider: its kind, its key or address; it is asked before anything is saved. */
import { type FormEvent, useId, useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { NewProvider, Provider, ProviderKind, ProviderScope, ProviderTest } from '../api/shapes';
import { Field } from '../shell/Field';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { refreshModels } from './models';

const words = strings.providers;

interface ProviderFormProps {
  kinds: ProviderKind[];
  scope: ProviderScope;
  onToast: (toast: Toast) => void;
  onAdded: (provider: Provider, tested: ProviderTest) => void;
}

/** Tests what was given, and adds it if it works. */
export function ProviderForm({ kinds, scope, onAdded, onToast }: ProviderFormProps) {
  const [chosen, setChosen] = useState<string>();
  const [key, setKey] = useState('');
  const [address, setAddress] = useState('');
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const group = useId();
  const kind = kinds.find((one) => one.kind === chosen) ?? kinds[0];
  if (!kind) return null;

  const isReady = (!kind.needs_key || key.trim()) && (!kind.needs_address || address.trim());

  async function submit(event: FormEvent) {
    event.preventDefault();
    if (!kind || !isReady) return;
    const given = {
      kind: kind.kind,
      ...(key.trim() && { key: key.trim() }),
      ...(kind.needs_address && { base_url: address.trim() }),
    };
    setBusy(true);
    setFailure(undefined);
    try {
      const tested = await api.testProvider(given);
      if (!tested.ok) return setFailure(words.doesNot(tested.error ?? ''));
      const wish: NewProvider = { ...given, scope };
      const added = await api.addProvider(wish);
      void refreshModels();
      setKey('');
      setAddress('');
      onToast({ words: words.added(added.name) });
      onAdded(added, tested);
    } catch (wrong) {
      setFailure(words.doesNot(describe(wrong)));
    } finally {
      setBusy(false);
    }
  }

  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <fieldset className="segments">
        <legend className="visually-hidden">{words.kind}</legend>
        {kinds.map((one) => (
          <label key={one.kind} className="segment">
            <input
              type="radio"
              name={group}
              checked={one.kind === kind.kind}
              onChange={() => {
                setChosen(one.kind);
                setFailure(undefined);
              }}
            />
            {one.title}
          </label>
        ))}
      </fieldset>
      {kind.needs_address && (
        <Field label={words.address} hint={words.addressHints[kind.kind]}>
          {(control) => (
            <input
              {...control}
              type="url"
              autoComplete="off"
              spellCheck={false}
              required
              value={address}
              onChange={(event) => setAddress(event.target.value)}
            />
          )}
        </Field>
      )}
      <Field
        label={kind.needs_key ? words.key : words.keyOptional}
        hint={
          kind.key_page && (
            <a href={kind.key_page} target="_blank" rel="noopener noreferrer">
              {words.keyPage}
            </a>
          )
        }
      >
        {(control) => (
          <input
            {...control}
            type="password"
            autoComplete="off"
            spellCheck={false}
            required={kind.needs_key}
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        )}
      </Field>
      {failure && (
        <p className="notice danger" role="alert">
          {failure}
        </p>
      )}
      <div className="form-actions">
        <button type="submit" className="button primary" disabled={isBusy || !isReady}>
          {isBusy ? words.connecting : words.connect}
        </button>
      </div>
    </form>
  );
}
