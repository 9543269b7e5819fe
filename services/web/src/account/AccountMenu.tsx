/** The foot of the left column: who is signed in, keys, log out. */
import { useState } from 'react';
import { describe } from '../api/failure';
import type { User } from '../api/types';
import { agentsPath, archivePath, deadLettersPath, navigate, settingsPath, usagePath } from '../router';
import { Glyph } from '../shell/Glyph';
import { Menu } from '../shell/Menu';
import { strings } from '../strings';
import { logOut } from './session';

export function AccountMenu({
  user,
  onKeys,
  onFailure,
}: {
  user: User;
  onKeys: () => void;
  onFailure: (words: string) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="menu-anchor">
      <button
        type="button"
        className="account-button"
        aria-label={`${strings.account.menu}: ${user.username}`}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Glyph seed={user.id} size={24} />
        <span className="thread-name">{user.username}</span>
      </button>
      {isOpen && (
        <Menu
          className="above"
          label={strings.account.menu}
          note={user.is_admin ? strings.account.admin : undefined}
          onClose={() => setOpen(false)}
          items={[
            { label: strings.settings.title, act: () => navigate(settingsPath()) },
            { label: strings.agents.title, act: () => navigate(agentsPath) },
            { label: strings.usage.title, act: () => navigate(usagePath) },
            { label: strings.threads.archive, act: () => navigate(archivePath) },
            ...(user.is_admin ? [{ label: strings.deadLetters.title, act: () => navigate(deadLettersPath) }] : []),
            { label: strings.keys.title, hint: '?', act: onKeys },
            { label: strings.account.logOut, act: () => logOut().catch((failure) => onFailure(describe(failure))) },
          ]}
        />
      )}
    </div>
  );
}
