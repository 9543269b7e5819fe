/** Shapes of the gateway's answers. */
import type { UIMessage } from 'ai';

export interface User {
  id: string;
  username: string;
  is_admin: boolean;
}

export interface Config {
  registration: 'open' | 'invite' | 'closed';
  needs_setup: boolean;
  needs_setup_code: boolean;
  version: string;
}

export type ThreadStatus = 'waiting' | 'queued' | 'running' | 'failed' | null;

export interface Thread {
  id: string;
  title: string | null;
  preview: string | null;
  touched_at: string;
  agent_id: string;
  status: ThreadStatus;
}

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

export type MessagePage = Page<UIMessage>;
