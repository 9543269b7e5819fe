/** The page's composition root. */
import { createRoot } from 'react-dom/client';
import { App } from './App';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/thread.css';
import './styles/prose.css';
import './styles/workbench.css';
import './styles/account.css';
import './styles/admin.css';
import './styles/pages.css';
import './styles/agents.css';
import './styles/settings.css';
import './styles/usage.css';
import './styles/palette.css';
import { keepShell } from './shell/offlineShell';

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
createRoot(root).render(<App />);
keepShell();
