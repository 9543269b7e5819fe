/** Which model answers in a thread, and how hard it thinks: two small fields at the composer. */
import type { ReactNode } from 'react';
import { useAgent } from '../agents/agents';
import { byProvider, useModels } from '../settings/models';
import { Chevron } from '../shell/icons';
import { strings } from '../strings';

const words = strings.choice;

export interface Choice {
  model: string | null;
  effort: string | null;
}

interface ModelChoiceProps {
  choice: Choice;
  agent: string | undefined;
  onChange: (change: Partial<Choice>) => void;
}

export function ModelChoice({ choice, agent, onChange }: ModelChoiceProps) {
  const { models } = useModels();
  const own = useAgent(agent);
  if (!models) return null;
  if (models.override) {
    return (
      <span className="model-fixed small muted" title={words.overridden(models.override)}>
        {shortName(models.override)}
      </span>
    );
  }
  const automatic = own?.model ?? models.default;
  if (models.items.length === 0) return null;
  const asked = models.items.find((model) => model.id === (choice.model ?? automatic));
  const isListed = choice.model === null || models.items.some((model) => model.id === choice.model);
  const efforts = asked?.efforts ?? [];
  return (
    <>
      <Field label={words.title} value={choice.model} onChange={(model) => onChange({ model })}>
        <option value="">{words.automatic(nameOf(models.items, automatic))}</option>
        {!isListed && <option value={choice.model ?? ''}>{choice.model}</option>}
        {byProvider(models.items).map(([provider, group]) => (
          <optgroup key={provider} label={provider}>
            {group.map((model) => (
              <option key={model.id} value={model.id}>
                {model.tools ? model.name : `${model.name} (${words.noTools})`}
              </option>
            ))}
          </optgroup>
        ))}
      </Field>
      {(efforts.length > 0 || choice.effort) && (
        <Field label={words.effort} value={choice.effort} onChange={(effort) => onChange({ effort })}>
          <option value="">{words.effortOf(own?.effort ?? undefined)}</option>
          {choice.effort && !efforts.includes(choice.effort) && <option value={choice.effort}>{choice.effort}</option>}
          {efforts.map((level) => (
            <option key={level} value={level}>
              {words.effortLevel(level)}
            </option>
          ))}
        </Field>
      )}
    </>
  );
}

interface FieldProps {
  label: string;
  value: string | null;
  onChange: (value: string | null) => void;
  children: ReactNode;
}

/** The browser's own list, as small as a word. */
function Field({ label, value, onChange, children }: FieldProps) {
  return (
    <span className="model-choice">
      <select aria-label={label} value={value ?? ''} onChange={(event) => onChange(event.target.value || null)}>
        {children}
      </select>
      <Chevron />
    </span>
  );
}

function nameOf(items: { id: string; name: string }[], id: string): string {
  return items.find((model) => model.id === id)?.name ?? shortName(id);
}

const shortName = (id: string) => id.slice(id.indexOf('/') + 1);
