/** Tokens for programs: made, shown once, revoked. */
import { type FormEvent, useId, useRef, useState } from 'react';
import { ConfirmDialog } from '../admin/ConfirmDialog';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { NewToken, Token } from '../api/types';
import { CopyButton } from '../shell/clipboard';
import { Loaded, useLoad } from '../shell/load';
import { ago, exact } from '../shell/time';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';

const words = strings.tokens;

export function Tokens({ onToast }: { onToast: (toast: Toast) => void }) {
  const tokens = useLoad('tokens', async () => (await api.tokens()).items);
  const [made, setMade] = useState<NewToken>();
  const [revoking, setRevoking] = useState<Token>();
  const fail = (failure: unknown) => onToast({ words: words.changeFailed(describe(failure)) });

  async function create(name: string) {
    try {
      const token = await api.createToken(name);
      setMade(token);
      tokens.change((items) => [...items, token]);
      return true;
    } catch (failure) {
      fail(failure);
      return false;
    }
  }

  async function revoke(token: Token) {
    try {
      await api.revokeToken(token.id);
      tokens.change((items) => items.filter((item) => item.id !== token.id));
      if (made?.id === token.id) setMade(undefined);
      onToast({ words: words.revoked(token.name) });
    } catch (failure) {
      fail(failure);
    }
  }

  return (
    <section className="page-section" aria-labelledby="tokens">
      <h2 id="tokens">{words.title}</h2>
      <p className="muted">{words.hint}</p>
      <Loaded of={tokens} onRetry={tokens.reload} failed={words.failed} rows={1}>
        {(items) => (
          <ul className="rows" aria-label={words.title}>
            {items.length === 0 && <li className="muted">{words.none}</li>}
            {items.map((token) => (
              <li className="row" key={token.id}>
                <div className="row-main">
                  <h3 className="row-title">{token.name}</h3>
                  <p className="small muted" title={token.used_at ? exact(token.used_at) : undefined}>
                    {token.scopes.join(', ')} · {token.used_at ? words.used(ago(token.used_at)) : words.unused}
                  </p>
                </div>
                <button type="button" className="button small" onClick={() => setRevoking(token)}>
                  {words.revoke}
                  <span className="visually-hidden">: {token.name}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {made && <Shown token={made} />}
      <NewName onCreate={create} />
      {revoking && (
        <ConfirmDialog
          title={words.revokeTitle(revoking.name)}
          words={words.revokeWords}
          action={words.revoke}
          onConfirm={() => void revoke(revoking)}
          onClose={() => setRevoking(undefined)}
        />
      )}
    </section>
  );
}

function Shown({ token }: { token: NewToken }) {
  const text = useRef<HTMLElement>(null);
  return (
    <div className="notice good" role="status">
      {words.created}
      <code className="token" ref={text}>
        {token.token}
      </code>
      <CopyButton of={text} className="button small" />
    </div>
  );
}

function NewName({ onCreate }: { onCreate: (name: string) => Promise<boolean> }) {
  const [name, setName] = useState('');
  const id = useId();
  async function submit(event: FormEvent) {
    event.preventDefault();
    if (name.trim() && (await onCreate(name.trim()))) setName('');
  }
  return (
    <form className="inline-form" onSubmit={(event) => void submit(event)}>
      <label htmlFor={id} className="visually-hidden">
        {words.name}
      </label>
      <input
        id={id}
        className="input"
        type="text"
        maxLength={100}
        autoComplete="off"
        placeholder={words.name}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <button type="submit" className="button" disabled={!name.trim()}>
        {words.create}
      </button>
    </form>
  );
}
