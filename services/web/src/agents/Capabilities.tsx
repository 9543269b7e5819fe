/** What an agent may do: everything that its channel has, or the ticked tools. */
import { useId } from 'react';
import { api } from '../api/client';
import type { ToolInfo } from '../api/shapes';
import { Loaded, useLoad } from '../shell/load';
import { strings } from '../strings';

const words = strings.agents;

interface CapabilitiesProps {
  /** None: everything. */
  value: string[] | null;
  onChange: (value: string[] | null) => void;
}

export function Capabilities({ value, onChange }: CapabilitiesProps) {
  const tools = useLoad('tools', async () => (await api.tools()).items);
  const name = useId();
  return (
    <fieldset className="field-set">
      <legend>{words.capabilities}</legend>
      <label className="choice">
        <input type="radio" name={name} checked={value === null} onChange={() => onChange(null)} />
        {words.capabilitiesAll}
      </label>
      <label className="choice">
        <input
          type="radio"
          name={name}
          checked={value !== null}
          onChange={() => onChange(tools.value?.map((tool) => tool.name) ?? [])}
        />
        {words.capabilitiesSome}
      </label>
      {value !== null && (
        <Loaded of={tools} onRetry={tools.reload} failed={words.capabilitiesFailed}>
          {(items) => (
            <ul className="tool-choices">
              {items.map((tool) => (
                <li key={tool.name}>
                  <ToolChoice
                    tool={tool}
                    isOn={value.includes(tool.name)}
                    onChange={(isOn) => onChange(ticked(items, value, tool.name, isOn))}
                  />
                </li>
              ))}
            </ul>
          )}
        </Loaded>
      )}
    </fieldset>
  );
}

/** In the order of the list, whatever was ticked first. */
function ticked(items: ToolInfo[], before: string[], name: string, isOn: boolean): string[] {
  return items.map((tool) => tool.name).filter((other) => (other === name ? isOn : before.includes(other)));
}

function ToolChoice({ tool, isOn, onChange }: { tool: ToolInfo; isOn: boolean; onChange: (isOn: boolean) => void }) {
  return (
    <label className="choice">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.target.checked)} />
      <span className="choice-text">
        <span>{tool.title}</span>
        <span className="small muted">
          {tool.summary} {words.tiers[tool.tier] && `${words.tiers[tool.tier]}.`}
        </span>
      </span>
    </label>
  );
}
