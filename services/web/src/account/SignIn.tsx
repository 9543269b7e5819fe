/** Sign-in and register on one page. */
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { Config } from '../api/types';
import { Brand } from '../shell/Brand';
import { Eye } from '../shell/icons';
import { strings } from '../strings';
import { signedIn } from './session';

const words = strings.account;
const UNKNOWN: Config = { registration: 'open', needs_setup: false, version: '', user: null };
const LEAST_PASSWORD = 10;

export function SignIn({ invite, isExpired }: { invite: string; isExpired: boolean }) {
  const config = useConfig();
  const [chosen, setChosen] = useState<'in' | 'new' | undefined>(invite ? 'new' : undefined);
  if (!config) return <main className="sign-in" aria-busy="true" aria-label={strings.loading} />;
  // The first account can always be made: it becomes the administrator, who decides about others.
  const isClosed = config.registration === 'closed' && !config.needs_setup;
  const isNew = (chosen ?? (config.needs_setup ? 'new' : 'in')) === 'new' && !isClosed;
  return (
    <main className="sign-in">
      <div className="sign-in-card">
        <div className="sign-in-brand">
          <Brand size={32} />
          {strings.product}
        </div>
        {isExpired && (
          <p className="notice calm" role="status">
            {words.expired}
          </p>
        )}
        <AccountForm key={String(isNew)} config={config} isNew={isNew} invite={invite} />
        {isClosed ? (
          <p className="muted small switch">{words.closed}</p>
        ) : (
          <button type="button" className="text-button switch" onClick={() => setChosen(isNew ? 'in' : 'new')}>
            {isNew ? words.toSignIn : words.toRegister}
          </button>
        )}
      </div>
    </main>
  );
}

function useConfig(): Config | undefined {
  const [config, setConfig] = useState<Config>();
  useEffect(() => {
    // Signing in does not depend on the answer: without it the form offers everything, and the server decides.
    api.config().then(setConfig, () => setConfig(UNKNOWN));
  }, []);
  return config;
}

function AccountForm({ config, isNew, invite }: { config: Config; isNew: boolean; invite: string }) {
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  const failureId = useId();
  const wantsCode = isNew && config.registration === 'invite';

  useEffect(() => first.current?.focus(), []);

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const username = String(form.get('username')).trim();
    const password = String(form.get('password'));
    if (isNew && password.length < LEAST_PASSWORD) return setFailure(words.passwordTooShort);
    setBusy(true);
    setFailure(undefined);
    try {
      const code = String(form.get('invite') ?? '').trim();
      const { user } = isNew
        ? await api.register({ username, password, invite: code || null })
        : await api.login(username, password);
      signedIn(user);
    } catch (error) {
      setFailure(describe(error));
      setBusy(false);
    }
  }

  return (
    <form onSubmit={submit} aria-describedby={failure ? failureId : undefined}>
      <h1 className="form-title">{isNew ? (config.needs_setup ? words.createFirst : words.register) : words.signIn}</h1>
      {isNew && config.needs_setup && <p className="muted small">{words.firstHint}</p>}
      <Field name="username" label={words.username} autoComplete="username" inputRef={first} maxLength={40} />
      <PasswordField isNew={isNew} />
      {wantsCode && (
        <Field
          name="invite"
          label={config.needs_setup ? words.setupCode : words.invite}
          hint={config.needs_setup ? words.setupHint : words.inviteHint}
          autoComplete="off"
          defaultValue={invite}
        />
      )}
      {failure && (
        <p className="notice danger" role="alert" id={failureId}>
          {failure}
        </p>
      )}
      <button type="submit" className="button primary" disabled={isBusy}>
        {isBusy ? words.working : isNew ? words.register : words.signIn}
      </button>
    </form>
  );
}

interface FieldProps extends React.InputHTMLAttributes<HTMLInputElement> {
  name: string;
  label: string;
  hint?: string;
  inputRef?: React.Ref<HTMLInputElement>;
}

function Field({ name, label, hint, inputRef, ...input }: FieldProps) {
  const hintId = useId();
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        name={name}
        ref={inputRef}
        required
        autoCapitalize="none"
        spellCheck={false}
        aria-describedby={hint ? hintId : undefined}
        {...input}
      />
      {hint && (
        <span className="small muted" id={hintId}>
          {hint}
        </span>
      )}
    </div>
  );
}

function PasswordField({ isNew }: { isNew: boolean }) {
  const [isShown, setShown] = useState(false);
  const id = useId();
  const hintId = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{words.password}</label>
      <div className="password">
        <input
          id={id}
          name="password"
          type={isShown ? 'text' : 'password'}
          autoComplete={isNew ? 'new-password' : 'current-password'}
          aria-describedby={isNew ? hintId : undefined}
          required
        />
        <button
          type="button"
          className="icon-button"
          aria-label={isShown ? words.hidePassword : words.showPassword}
          aria-pressed={isShown}
          onClick={() => setShown(!isShown)}
        >
          <Eye isOff={isShown} />
        </button>
      </div>
      {isNew && (
        <span className="small muted" id={hintId}>
          {words.passwordHint}
        </span>
      )}
    </div>
  );
}
