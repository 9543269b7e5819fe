/** A choice among the models of all providers. */
import { describe } from '../api/failure';
import { strings } from '../strings';
import { byProvider, refreshModels, useModels } from './models';

const words = strings.modelSelect;

interface ModelSelectProps {
  id: string;
  /** None: the default. */
  value: string | null;
  onChange: (model: string | null) => void;
  /** What is chosen with no model; without it, there is no such choice. */
  nothing?: string | undefined;
  describedBy?: string | undefined;
  without?: readonly string[];
  isDisabled?: boolean;
}

export function ModelSelect({ id, value, onChange, nothing, describedBy, without, isDisabled }: ModelSelectProps) {
  const { models, failure } = useModels();
  const items = models?.items.filter((model) => !without?.includes(model.id)) ?? [];
  const isListed = value === null || items.some((model) => model.id === value);
  return (
    <>
      <select
        id={id}
        className="select wide"
        value={value ?? ''}
        aria-describedby={describedBy}
        disabled={isDisabled}
        onChange={(event) => onChange(event.target.value || null)}
      >
        <option value="">{nothing ?? words.byDefault(models?.default ?? '')}</option>
        {!isListed && <option value={value ?? ''}>{models ? `${value} (${words.unlisted})` : value}</option>}
        {byProvider(items).map(([provider, group]) => (
          <optgroup key={provider} label={provider}>
            {group.map((model) => (
              <option key={model.id} value={model.id}>
                {model.name}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      {failure !== undefined && !models && (
        <span className="small muted">
          {words.failed} {describe(failure)}{' '}
          <button type="button" className="text-button" onClick={() => void refreshModels()}>
            {strings.retry}
          </button>
        </span>
      )}
    </>
  );
}
