/** What is one's own: the account, the settings that follow it, keys that only it uses, tokens for programs. */
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { Setting } from '../api/shapes';
import type { User } from '../api/types';
import { Glyph } from '../shell/Glyph';
import { Loaded, useLoad } from '../shell/load';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { ProviderForm } from './ProviderForm';
import { ProviderList } from './ProviderList';
import { SettingRow } from './SettingRow';
import { Tokens } from './Tokens';

const words = strings.settings;

interface AccountPartProps {
  user: User;
  settings: Setting[];
  onChanged: () => void;
  onToast: (toast: Toast) => void;
}

export function AccountPart({ user, settings, onChanged, onToast }: AccountPartProps) {
  return (
    <>
      <div className="agent-head">
        <Glyph seed={user.id} size={48} />
        <div className="row-main">
          <h2 className="row-title">{user.username}</h2>
          {user.is_admin && <p className="small muted">{strings.account.admin}</p>}
        </div>
      </div>
      <section className="page-section" aria-label={words.yours}>
        <ul className="rows">
          {settings.map((setting) => (
            <SettingRow key={setting.name} setting={setting} onChanged={onChanged} onToast={onToast}>
              {isZone(setting) && <OwnZone setting={setting} onChanged={onChanged} onToast={onToast} />}
            </SettingRow>
          ))}
        </ul>
      </section>
      <OwnKeys onToast={onToast} />
      <Tokens onToast={onToast} />
    </>
  );
}

const isZone = (setting: Setting) => /zone/i.test(setting.name);

/** The browser knows where it is; one click says so. */
function OwnZone({
  setting,
  onChanged,
  onToast,
}: { setting: Setting } & Pick<AccountPartProps, 'onChanged' | 'onToast'>) {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!here || (setting.value || 'UTC') === here) return null;
  const use = () =>
    api
      .changeSettings({ [setting.name]: here })
      .then(onChanged, (failure: unknown) => onToast({ words: words.changeFailed(describe(failure)) }));
  return (
    <button type="button" className="button" onClick={() => void use()}>
      {words.zoneHere(here)}
    </button>
  );
}

function OwnKeys({ onToast }: { onToast: (toast: Toast) => void }) {
  const providers = useLoad('own-providers', api.providers);
  return (
    <section className="page-section" aria-labelledby="own-keys">
      <h2 id="own-keys">{strings.providers.own}</h2>
      <Loaded of={providers} onRetry={providers.reload} failed={strings.providers.failed} rows={1}>
        {({ items, kinds, may_add_own }) =>
          may_add_own ? (
            <>
              <p className="muted">{strings.providers.ownHint}</p>
              <ProviderList
                items={items.filter((item) => item.scope === 'user')}
                isAdmin={false}
                onChanged={providers.reload}
                onToast={onToast}
              />
              <ProviderForm
                // An address of one's own would let a person reach into the deployment's network.
                kinds={kinds.filter((kind) => !kind.needs_address)}
                scope="user"
                onAdded={providers.reload}
                onToast={onToast}
              />
            </>
          ) : (
            <p className="muted">{strings.providers.closed}</p>
          )
        }
      </Loaded>
    </section>
  );
}
