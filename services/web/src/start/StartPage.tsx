/** From nothing to a working model: what runs on this computer, a key or an address, or the demo. */
import { useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { FoundServer, Start } from '../api/shapes';
import type { User } from '../api/types';
import { navigate } from '../router';
import { refreshModels } from '../settings/models';
import { ProviderForm } from '../settings/ProviderForm';
import { PullForm } from '../settings/PullForm';
import { Field } from '../shell/Field';
import { Loaded, useLoad } from '../shell/load';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { chooseModel } from './chooseModel';
import { PickModel } from './PickModel';
import { passStart } from './passed';

const words = strings.start;

interface StartPageProps {
  user: User;
  onToast: (toast: Toast) => void;
}

export function StartPage({ user, onToast }: StartPageProps) {
  const start = useLoad('start', api.start);
  return (
    <div className="scroller">
      <div className="page">
        <Loaded of={start} onRetry={start.reload} failed={words.failed}>
          {(loaded) => <Ways start={loaded} user={user} onToast={onToast} />}
        </Loaded>
      </div>
    </div>
  );
}

interface WaysProps extends StartPageProps {
  start: Start;
}

/** A provider that answered, and the models that it offers. */
interface Connected {
  name: string;
  models: string[];
}

function Ways({ start, user, onToast }: WaysProps) {
  const [connected, setConnected] = useState<Connected>();
  const hasModel = start.has_model && !start.is_demo;

  function goOn() {
    passStart(user.id);
    navigate('/');
  }

  function chosen(model: string) {
    void refreshModels();
    onToast({ words: words.ready(model) });
    goOn();
  }

  if (connected) return <PickModel provider={connected.name} models={connected.models} onChosen={chosen} />;
  return (
    <>
      {hasModel ? (
        <div className="notice good">
          {words.has(start.default)}
          <button type="button" className="text-button" onClick={goOn}>
            {words.toChat}
          </button>
        </div>
      ) : (
        <p className="muted">{start.is_admin ? words.hint : words.notAdmin}</p>
      )}
      {start.is_admin && (
        <>
          <section className="page-section" aria-labelledby="start-found">
            <h2 id="start-found">{words.found}</h2>
            <p className="muted">{start.found.length > 0 ? words.foundHint : words.foundNone}</p>
            <ul className="rows">
              {start.found.map((server) => (
                <FoundRow key={server.base_url} server={server} onConnected={setConnected} onChosen={chosen} />
              ))}
            </ul>
          </section>
          <section className="page-section" aria-labelledby="start-key">
            <h2 id="start-key">{words.withKey}</h2>
            <p className="muted">{words.withKeyHint}</p>
            <KeyWay onToast={onToast} onConnected={(provider, models) => setConnected({ name: provider, models })} />
          </section>
        </>
      )}
      {!hasModel && (
        <section className="page-section" aria-labelledby="start-demo">
          <h2 id="start-demo">{words.demo}</h2>
          <p className="muted">{words.demoHint}</p>
          <div className="form-actions">
            <button type="button" className="button" onClick={goOn}>
              {words.goOn}
            </button>
          </div>
          {start.is_admin && <p className="small muted">{words.later}</p>}
        </section>
      )}
    </>
  );
}

interface KeyWayProps {
  onConnected: (provider: string, models: string[]) => void;
  onToast: (toast: Toast) => void;
}

function KeyWay({ onConnected, onToast }: KeyWayProps) {
  const providers = useLoad('start-kinds', api.providers);
  return (
    <Loaded of={providers} onRetry={providers.reload} failed={strings.providers.failed} rows={1}>
      {({ kinds }) => (
        <ProviderForm
          kinds={kinds}
          scope="deployment"
          onToast={onToast}
          onAdded={(added, tested) => onConnected(added.name, tested.models)}
        />
      )}
    </Loaded>
  );
}

interface FoundRowProps {
  server: FoundServer;
  onConnected: (connected: Connected) => void;
  onChosen: (model: string) => void;
}

/** One click connects it with the model that is shown. */
function FoundRow({ server, onConnected, onChosen }: FoundRowProps) {
  const [model, setModel] = useState(server.models[0] ?? '');
  const [added, setAdded] = useState<string>();
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);

  async function add(): Promise<string | undefined> {
    setBusy(true);
    setFailure(undefined);
    try {
      const provider = await api.addProvider({ kind: server.kind, base_url: server.base_url, scope: 'deployment' });
      setAdded(provider.name);
      return provider.name;
    } catch (wrong) {
      setFailure(words.changeFailed(describe(wrong)));
      return undefined;
    } finally {
      setBusy(false);
    }
  }

  async function use() {
    const provider = added ?? (await add());
    if (!provider) return;
    try {
      onChosen(await chooseModel(`${provider}/${model}`));
    } catch (wrong) {
      setFailure(words.changeFailed(describe(wrong)));
    }
  }

  return (
    <li className="provider">
      <div className="provider-head">
        <h3 className="row-title">{server.title}</h3>
        <span className="small muted">{server.base_url}</span>
      </div>
      {server.models.length > 0 ? (
        <div className="found-choice">
          <Field label={words.model}>
            {(control) => (
              <select
                {...control}
                className="select wide"
                value={model}
                onChange={(event) => setModel(event.target.value)}
              >
                {server.models.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            )}
          </Field>
          <button type="button" className="button primary" disabled={isBusy} onClick={() => void use()}>
            {words.use(server.title)}
          </button>
        </div>
      ) : (
        <p className="muted">{words.noModels}</p>
      )}
      {server.kind === 'ollama' &&
        server.models.length === 0 &&
        (added ? (
          <PullForm provider={added} onDone={(done) => onConnected({ name: added, models: [done] })} />
        ) : (
          <button type="button" className="button" disabled={isBusy} onClick={() => void add()}>
            {strings.providers.pull}
          </button>
        ))}
      {failure && (
        <p className="notice danger" role="alert">
          {failure}
        </p>
      )}
    </li>
  );
}
