/** Where models come from: what is connected, what runs on this computer, and another one. */
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { FoundServer, Provider } from '../api/shapes';
import type { User } from '../api/types';
import { startPath } from '../router';
import { Link } from '../shell/Link';
import { Loaded, useLoad } from '../shell/load';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { refreshModels } from './models';
import { ProviderForm } from './ProviderForm';
import { ProviderList } from './ProviderList';

const words = strings.providers;

export function ProvidersPart({ user, onToast }: { user: User; onToast: (toast: Toast) => void }) {
  const providers = useLoad('providers', api.providers);
  return (
    <Loaded of={providers} onRetry={providers.reload} failed={words.failed}>
      {({ items, kinds }) => (
        <>
          <section className="page-section" aria-labelledby="connected">
            <h2 id="connected">{strings.settings.providers}</h2>
            <p className="muted">{words.hint}</p>
            {items.length === 0 && (
              <p className="notice calm">
                {words.none} {words.noneHint}
              </p>
            )}
            <ProviderList items={items} isAdmin={user.is_admin} onChanged={providers.reload} onToast={onToast} />
          </section>
          {user.is_admin && (
            <>
              <p>
                <Link className="button" to={startPath}>
                  {strings.start.title}
                </Link>
              </p>
              <Found known={items} onAdded={providers.reload} onToast={onToast} />
              <section className="page-section" aria-labelledby="add-provider">
                <h2 id="add-provider">{words.add}</h2>
                <ProviderForm kinds={kinds} scope="deployment" onAdded={providers.reload} onToast={onToast} />
              </section>
            </>
          )}
        </>
      )}
    </Loaded>
  );
}

interface FoundProps {
  known: Provider[];
  onAdded: () => void;
  onToast: (toast: Toast) => void;
}

function Found({ known, onAdded, onToast }: FoundProps) {
  const found = useLoad('found', async () => (await api.foundServers()).items);

  async function add(server: FoundServer) {
    try {
      const added = await api.addProvider({ kind: server.kind, base_url: server.base_url, scope: 'deployment' });
      onToast({ words: words.added(added.name) });
      void refreshModels();
      onAdded();
    } catch (failure) {
      onToast({ words: words.changeFailed(describe(failure)) });
    }
  }

  return (
    <section className="page-section" aria-labelledby="found">
      <div className="section-head">
        <h2 id="found">{words.found}</h2>
        <button type="button" className="button small" onClick={found.reload}>
          {words.lookAgain}
        </button>
      </div>
      <Loaded of={found} onRetry={found.reload} failed={words.foundFailed} rows={1}>
        {(items) =>
          items.length === 0 ? (
            <p className="muted">{words.foundNone}</p>
          ) : (
            <ul className="rows">
              {items.map((server) => (
                <li className="row" key={server.base_url}>
                  <div className="row-main">
                    <h3 className="row-title">{server.title}</h3>
                    <p className="small muted">
                      {server.base_url} · {words.models(server.models.length)}
                    </p>
                  </div>
                  {known.some((provider) => provider.base_url === server.base_url) ? (
                    <span className="small muted">{words.isConnected}</span>
                  ) : (
                    <button type="button" className="button small" onClick={() => void add(server)}>
                      {words.use}
                      <span className="visually-hidden">: {server.title}</span>
                    </button>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}
