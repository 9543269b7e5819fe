/** Which model an agent asks, how hard it thinks, and whom it asks instead. */
import { useId } from 'react';
import { ModelSelect } from '../settings/ModelSelect';
import { useModels } from '../settings/models';
import { Field } from '../shell/Field';
import { ArrowDown, ArrowUp, Cross } from '../shell/icons';
import { strings } from '../strings';

const words = strings.agents;
/** As many as the server takes. */
const MOST_FALLBACKS = 5;

interface ModelFieldsProps {
  model: string | null;
  effort: string | null;
  fallbacks: string[];
  onChange: (part: { model?: string | null; effort?: string | null; fallback_models?: string[] }) => void;
}

export function ModelFields({ model, effort, fallbacks, onChange }: ModelFieldsProps) {
  const { models } = useModels();
  const asked = models?.items.find((item) => item.id === (model ?? models.default));
  const efforts = asked?.efforts ?? [];
  return (
    <>
      <div className="form-pair">
        <Field label={words.model} hint={words.modelHint}>
          {(control) => (
            <ModelSelect
              id={control.id}
              describedBy={control['aria-describedby']}
              value={model}
              onChange={(chosen) => onChange({ model: chosen })}
            />
          )}
        </Field>
        {(efforts.length > 0 || effort) && (
          <Field label={words.effort} hint={words.effortHint}>
            {(control) => (
              <select
                {...control}
                className="select wide"
                value={effort ?? ''}
                onChange={(event) => onChange({ effort: event.target.value || null })}
              >
                <option value="">{words.effortDefault}</option>
                {effort && !efforts.includes(effort) && <option value={effort}>{effort}</option>}
                {efforts.map((level) => (
                  <option key={level} value={level}>
                    {level}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
      </div>
      <Fallbacks
        models={fallbacks}
        not={[...fallbacks, ...(model ? [model] : [])]}
        onChange={(fallback_models) => onChange({ fallback_models })}
      />
    </>
  );
}

function Fallbacks({
  models,
  not,
  onChange,
}: {
  models: string[];
  not: string[];
  onChange: (models: string[]) => void;
}) {
  const id = useId();
  const swap = (from: number, to: number) =>
    onChange(
      models.map((model, at) => (at === from ? (models[to] ?? model) : at === to ? (models[from] ?? model) : model)),
    );
  return (
    <fieldset className="field-set">
      <legend>{words.fallbacks}</legend>
      <p className="small muted">{words.fallbacksHint}</p>
      {models.length > 0 && (
        <ol className="fallbacks">
          {models.map((model, at) => (
            <li key={model}>
              <span className="fallback-name">{model}</span>
              <button
                type="button"
                className="icon-button"
                aria-label={words.up(model)}
                disabled={at === 0}
                onClick={() => swap(at, at - 1)}
              >
                <ArrowUp />
              </button>
              <button
                type="button"
                className="icon-button"
                aria-label={words.down(model)}
                disabled={at === models.length - 1}
                onClick={() => swap(at, at + 1)}
              >
                <ArrowDown />
              </button>
              <button
                type="button"
                className="icon-button"
                aria-label={words.remove(model)}
                onClick={() => onChange(models.filter((other) => other !== model))}
              >
                <Cross />
              </button>
            </li>
          ))}
        </ol>
      )}
      {models.length < MOST_FALLBACKS && (
        <div className="field">
          <label htmlFor={id} className="visually-hidden">
            {words.addFallback}
          </label>
          <ModelSelect
            id={id}
            value={null}
            nothing={words.addFallback}
            without={not}
            onChange={(model) => model && onChange([...models, model])}
          />
        </div>
      )}
    </fieldset>
  );
}
