/** Settings: one's own, the providers, and the deployment's by group. */
import { useEffect } from 'react';
import { api } from '../api/client';
import type { Setting } from '../api/shapes';
import type { User } from '../api/types';
import { navigate, settingsPath } from '../router';
import { onHint } from '../shell/hints';
import { Link } from '../shell/Link';
import { Loaded, Missing, NoPermission, useLoad } from '../shell/load';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { AccountPart } from './AccountPart';
import { ProvidersPart } from './ProvidersPart';
import { SettingRow } from './SettingRow';

const words = strings.settings;

interface SettingsPageProps {
  user: User;
  /** Empty for one's own, `providers`, or the slug of a group of the deployment's settings. */
  group: string;
  onToast: (toast: Toast) => void;
}

export function SettingsPage({ user, group, onToast }: SettingsPageProps) {
  const settings = useLoad('settings', async () => (await api.settings()).items);
  const { reload } = settings;
  useEffect(() => onHint((hint) => hint.kind === 'settings' && reload()), [reload]);
  return (
    <div className="scroller">
      <div className="page settings-page">
        <Ways isAdmin={user.is_admin} settings={settings.value ?? []} group={group} />
        <div className="settings-body">
          {group === 'providers' ? (
            <ProvidersPart user={user} onToast={onToast} />
          ) : (
            <Loaded of={settings} onRetry={reload} failed={words.failed} rows={5}>
              {(items) =>
                group === '' ? (
                  <AccountPart
                    user={user}
                    settings={items.filter((item) => item.level === 'user')}
                    onChanged={reload}
                    onToast={onToast}
                  />
                ) : (
                  <Group user={user} items={ofGroup(items, group)} onChanged={reload} onToast={onToast} />
                )
              }
            </Loaded>
          )}
        </div>
      </div>
    </div>
  );
}

/** The settings' own places, as links at the side; on a phone as one choice. */
function Ways({ isAdmin, settings, group }: { isAdmin: boolean; settings: Setting[]; group: string }) {
  const own: Way[] = [
    ['', words.yours],
    ['providers', words.providers],
  ];
  const groups = isAdmin ? groupsOf(settings).map((name): Way => [slug(name), name]) : [];
  const isKnown = [...own, ...groups].some(([key]) => key === group);
  return (
    <nav className="settings-ways" aria-label={words.pages}>
      <select
        className="select wide only-phone"
        aria-label={words.pages}
        value={isKnown ? group : ''}
        onChange={(event) => navigate(settingsPath(event.target.value))}
      >
        {[...own, ...groups].map(([key, label]) => (
          <option key={key} value={key}>
            {label}
          </option>
        ))}
      </select>
      <div className="only-wide">
        <WayList ways={own} group={group} />
        {groups.length > 0 && (
          <>
            <h2>{words.deployment}</h2>
            <WayList ways={groups} group={group} />
          </>
        )}
      </div>
    </nav>
  );
}

type Way = [key: string, label: string];

function WayList({ ways, group }: { ways: Way[]; group: string }) {
  return (
    <ul>
      {ways.map(([key, label]) => (
        <li key={key}>
          <Link to={settingsPath(key)} aria-current={key === group ? 'page' : undefined}>
            {label}
          </Link>
        </li>
      ))}
    </ul>
  );
}

interface GroupProps {
  user: User;
  items: Setting[];
  onChanged: () => void;
  onToast: (toast: Toast) => void;
}

function Group({ user, items, onChanged, onToast }: GroupProps) {
  if (!user.is_admin) return <NoPermission hint={words.forAdmins} />;
  if (items.length === 0) return <Missing />;
  return (
    <section className="page-section" aria-label={items[0]?.group}>
      <h2>{items[0]?.group}</h2>
      <ul className="rows">
        {items.map((setting) => (
          <SettingRow key={setting.name} setting={setting} onChanged={onChanged} onToast={onToast} />
        ))}
      </ul>
    </section>
  );
}

const slug = (name: string) =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

const ofDeployment = (settings: Setting[]) => settings.filter((setting) => setting.level === 'deployment');

/** What people look for most; the others follow as the server has them. */
const FIRST = ['Models', 'Search', 'The web', 'Agents', 'Accounts'];

function groupsOf(settings: Setting[]): string[] {
  const names = new Set(ofDeployment(settings).map((setting) => setting.group));
  return [...FIRST.filter((name) => names.has(name)), ...[...names].filter((name) => !FIRST.includes(name))];
}

const ofGroup = (settings: Setting[], group: string) =>
  ofDeployment(settings).filter((setting) => slug(setting.group) === group);
