/** One setting: what it is for, its value and where that comes from; changed, or reset to what it was before. */
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { Setting, SettingValue } from '../api/shapes';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { ModelSelect } from './ModelSelect';
import { refreshModels, useModels } from './models';

const words = strings.settings;

interface SettingRowProps {
  setting: Setting;
  onChanged: () => void;
  onToast: (toast: Toast) => void;
  /** Beside the control. */
  children?: ReactNode;
}

export function SettingRow({ setting, onChanged, onToast, children }: SettingRowProps) {
  const id = useId();
  const hint = useId();
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string>();

  async function save(value: SettingValue) {
    setBusy(true);
    setFailure(undefined);
    try {
      await api.changeSettings({ [setting.name]: value });
      onToast({ words: value === null ? words.wasReset : setting.restart ? words.savedRestart : words.saved });
      if (setting.kind === 'model') void refreshModels();
      onChanged();
    } catch (wrong) {
      setFailure(describe(wrong));
    } finally {
      setBusy(false);
    }
  }

  const control: ControlProps = { setting, id, hint, isBusy, onSave: (value) => void save(value) };
  return (
    <li className="setting">
      <label className="setting-name" htmlFor={id}>
        {labelOf(setting)}
      </label>
      <p className="small muted" id={hint}>
        {sentence(setting)}
      </p>
      <div className="setting-control">
        {setting.editable ? (
          <Control {...control} key={String(setting.value)} />
        ) : (
          <output id={id} className="setting-fixed" aria-describedby={hint}>
            {shown(setting, setting.value)}
          </output>
        )}
        {children}
      </div>
      {failure && (
        <p className="notice danger" role="alert">
          {failure}
        </p>
      )}
      <p className="setting-foot small muted">
        <span className={`chip is-${setting.source}`}>{words.sources[setting.source]}</span>
        {setting.env && <code>{setting.env}</code>}
        {setting.source === 'saved' && (
          <>
            <button
              type="button"
              className="text-button"
              disabled={isBusy}
              aria-label={words.resetTo(labelOf(setting))}
              onClick={() => void save(null)}
            >
              {words.reset}
            </button>
            <span>{words.byDefault(shown(setting, setting.default))}</span>
          </>
        )}
        {setting.restart && setting.editable && <span>{words.restart}</span>}
        {!setting.editable && setting.source === 'environment' && <span>{words.fromEnvironment(setting.env)}</span>}
      </p>
    </li>
  );
}

interface ControlProps {
  setting: Setting;
  id: string;
  hint: string;
  isBusy: boolean;
  onSave: (value: SettingValue) => void;
}

function Control(props: ControlProps) {
  const { setting, id, hint, isBusy, onSave } = props;
  switch (setting.kind) {
    case 'boolean':
      return (
        <label className="choice">
          <input
            id={id}
            type="checkbox"
            role="switch"
            aria-checked={setting.value === true}
            className="switch"
            aria-describedby={hint}
            disabled={isBusy}
            checked={setting.value === true}
            onChange={(event) => onSave(event.target.checked)}
          />
          <span aria-hidden="true">{setting.value === true ? words.on : words.off}</span>
        </label>
      );
    case 'choice':
      return (
        <select
          id={id}
          className="select"
          aria-describedby={hint}
          disabled={isBusy}
          value={String(setting.value ?? '')}
          onChange={(event) => onSave(event.target.value)}
        >
          {setting.choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      );
    case 'model':
      return <ModelControl {...props} />;
    case 'secret':
      return <Secret {...props} />;
    default:
      return <TextControl {...props} />;
  }
}

/** `model_cheap` does the role `cheap`; `model_override` is for nobody until it is set. */
function ModelControl({ setting, id, hint, isBusy, onSave }: ControlProps) {
  const { models } = useModels();
  const role = /^model_(\w+)$/.exec(setting.name)?.[1];
  const stands = role === undefined ? models?.default : models?.roles[role]?.model;
  return (
    <ModelSelect
      id={id}
      describedBy={hint}
      isDisabled={isBusy}
      nothing={stands ? strings.modelSelect.byDefault(stands) : words.noModel}
      value={typeof setting.value === 'string' && setting.value ? setting.value : null}
      onChange={onSave}
    />
  );
}

function TextControl({ setting, id, hint, isBusy, onSave }: ControlProps) {
  const before = String(setting.value ?? '');
  const [text, setText] = useState(before);
  const isNumber = setting.kind === 'number';
  const isChanged = text.trim() !== before && !(isNumber && text.trim() === '');
  function submit(event: FormEvent) {
    event.preventDefault();
    if (isChanged) onSave(isNumber ? Number(text) : text.trim());
  }
  return (
    <form className="inline-form" onSubmit={submit}>
      <input
        id={id}
        className={isNumber ? 'input short' : 'input'}
        type={isNumber ? 'number' : 'text'}
        step="any"
        aria-describedby={hint}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {isChanged && (
        <button type="submit" className="button" disabled={isBusy}>
          {strings.save}
        </button>
      )}
    </form>
  );
}

/** A secret never comes back: there is its end to know it by, a new one to put in its place, and its removal. */
function Secret({ setting, id, hint, isBusy, onSave }: ControlProps) {
  const [isReplacing, setReplacing] = useState(false);
  const [text, setText] = useState('');
  const isSet = setting.value !== null && setting.value !== '';
  if (!isReplacing) {
    return (
      <div className="inline-form">
        <output className="setting-fixed">{shown(setting, setting.value)}</output>
        <button id={id} type="button" className="button" aria-describedby={hint} onClick={() => setReplacing(true)}>
          {isSet ? words.replace : words.set}
        </button>
        {isSet && setting.source === 'saved' && (
          <button type="button" className="button" disabled={isBusy} onClick={() => onSave(null)}>
            {words.remove}
          </button>
        )}
      </div>
    );
  }
  return (
    <form
      className="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (text) onSave(text);
        setReplacing(false);
        setText('');
      }}
    >
      <input
        id={id}
        className="input"
        type="password"
        autoComplete="off"
        aria-describedby={hint}
        placeholder={words.newValue}
        // biome-ignore lint/a11y/noAutofocus: the field appears because the person asked to type here
        autoFocus
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="button" disabled={isBusy || !text}>
        {strings.save}
      </button>
      <button type="button" className="button" onClick={() => setReplacing(false)}>
        {strings.cancel}
      </button>
    </form>
  );
}

/** `model_cheap` → “Model cheap”; `user.search_city` → “Search city”. */
export function labelOf(setting: Setting): string {
  const parts = setting.name
    .replace(/^user\./, '')
    .toLowerCase()
    .split(/[_.-]+/);
  const name = parts.map((part) => words.spelled[part] ?? part).join(' ');
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** “Longest standing orders of an agent (characters)” */
function sentence({ description, unit }: Setting): string {
  const words = description.charAt(0).toUpperCase() + description.slice(1);
  return unit && !words.includes(unit) ? `${words} (${unit})` : words;
}

function shown(setting: Setting, value: SettingValue): string {
  if (setting.kind === 'secret') {
    if (!value) return words.secretNone;
    return typeof value === 'string' && !/^[*•…]+$/.test(value) ? value : words.secretSet; // the rest is masked already
  }
  if (typeof value === 'boolean') return value ? words.on : words.off;
  return value === null || value === '' ? words.nothing : String(value);
}
