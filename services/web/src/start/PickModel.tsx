/** The last step: which of the provider's models shall answer. */
import { type FormEvent, useEffect, useState } from 'react';
import { describe } from '../api/failure';
import { useModels } from '../settings/models';
import { Field } from '../shell/Field';
import { strings } from '../strings';
import { chooseModel } from './chooseModel';

const words = strings.start;

interface PickModelProps {
  /** Its name, which stands before those of its models. */
  provider: string;
  models: string[];
  onChosen: (model: string) => void;
}

export function PickModel({ provider, models, onChosen }: PickModelProps) {
  const [model, setModel] = useState(models[0] ?? '');
  const { models: known } = useModels();
  const preferred = known?.default.startsWith(`${provider}/`) ? known.default.slice(provider.length + 1) : undefined;
  useEffect(() => {
    // The server knows which of hundreds is a good one to begin with.
    if (preferred && models.includes(preferred)) setModel(preferred);
  }, [preferred, models]);
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);

  async function submit(event: FormEvent) {
    event.preventDefault();
    if (!model.trim()) return;
    setBusy(true);
    setFailure(undefined);
    try {
      onChosen(await chooseModel(`${provider}/${model.trim()}`));
    } catch (wrong) {
      setFailure(words.changeFailed(describe(wrong)));
      setBusy(false);
    }
  }

  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <h2>{words.pickModel}</h2>
      <p className="muted">{models.length > 0 ? words.pickHint : words.typeModel}</p>
      <Field label={words.model}>
        {(control) =>
          models.length > 0 ? (
            <select
              {...control}
              className="select wide"
              // biome-ignore lint/a11y/noAutofocus: it is what the step before led to
              autoFocus
              value={model}
              onChange={(event) => setModel(event.target.value)}
            >
              {models.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          ) : (
            <input
              {...control}
              type="text"
              autoComplete="off"
              spellCheck={false}
              // biome-ignore lint/a11y/noAutofocus: it is what the step before led to
              autoFocus
              value={model}
              onChange={(event) => setModel(event.target.value)}
            />
          )
        }
      </Field>
      {failure && (
        <p className="notice danger" role="alert">
          {failure}
        </p>
      )}
      <div className="form-actions">
        <button type="submit" className="button primary" disabled={isBusy || !model.trim()}>
          {words.useModel}
        </button>
      </div>
    </form>
  );
}
