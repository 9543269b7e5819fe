/** A model for Ollama by its name, with how far it is. */
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { describe } from '../api/failure';
import type { PullProgress } from '../api/shapes';
import { bytes } from '../shell/figures';
import { strings } from '../strings';
import { refreshModels } from './models';
import { pullModel, stopPull } from './pull';

const words = strings.providers;

interface PullFormProps {
  /** Its name. */
  provider: string;
  onDone: (model: string) => void;
}

export function PullForm({ provider, onDone }: PullFormProps) {
  const [model, setModel] = useState('');
  const [progress, setProgress] = useState<PullProgress>();
  const [said, setSaid] = useState<string>();
  const running = useRef<AbortController>(undefined);
  const id = useId();
  useEffect(() => () => running.current?.abort(), []);

  async function submit(event: FormEvent) {
    event.preventDefault();
    const name = model.trim();
    if (!name) return;
    const control = new AbortController();
    running.current = control;
    setSaid(undefined);
    setProgress({ status: '', completed: null, total: null });
    try {
      await pullModel({ provider, model: name }, setProgress, control.signal);
      setSaid(words.pullDone(name));
      setModel('');
      void refreshModels();
      onDone(name);
    } catch (failure) {
      setSaid(control.signal.aborted ? words.pullStopped : words.pullFailed(describe(failure)));
    } finally {
      setProgress(undefined);
    }
  }

  async function stop() {
    try {
      await stopPull({ provider, model: model.trim() });
      running.current?.abort();
    } catch (failure) {
      setSaid(words.changeFailed(describe(failure)));
    }
  }

  return (
    <form className="pull" onSubmit={(event) => void submit(event)}>
      <label className="field-label" htmlFor={id}>
        {words.pull}
      </label>
      <div className="inline-form">
        <input
          id={id}
          className="input"
          type="text"
          autoComplete="off"
          spellCheck={false}
          placeholder="llama3.2"
          disabled={progress !== undefined}
          value={model}
          onChange={(event) => setModel(event.target.value)}
        />
        {progress ? (
          <button type="button" className="button" onClick={() => void stop()}>
            {words.pullStop}
          </button>
        ) : (
          <button type="submit" className="button" disabled={!model.trim()}>
            {words.pullStart}
          </button>
        )}
      </div>
      {progress ? <Progress progress={progress} /> : <p className="small muted">{words.pullHint}</p>}
      {said && (
        <p className="notice calm" role="status">
          {said}
        </p>
      )}
    </form>
  );
}

function Progress({ progress }: { progress: PullProgress }) {
  const { status, completed, total } = progress;
  return (
    <div className="pull-progress small muted">
      <progress aria-label={words.pull} max={total ?? 1} value={total ? (completed ?? 0) : undefined} />
      <span>{total ? words.pullProgress(bytes(completed ?? 0), bytes(total)) : status}</span>
    </div>
  );
}
