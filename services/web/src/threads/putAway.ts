/** Archiving and deleting a thread: done at once, and undone by one click for ten seconds. */
import { api } from '../api/client';
import { describe } from '../api/failure';
import type { Thread } from '../api/types';
import { currentPath, navigate } from '../router';
import { announce } from '../shell/tabs';
import type { Toast } from '../shell/toast';
import { strings } from '../strings';
import { hideThread } from './threads';

const words = strings.threads;

export const titleOf = (thread: Thread) => thread.title ?? thread.preview ?? words.untitled;

export type Away = 'archived' | 'deleted';

const WAYS = {
  archived: {
    leave: (thread: string) => api.archiveThread(thread, true),
    bringBack: (thread: string) => api.archiveThread(thread, false),
  },
  deleted: { leave: api.deleteThread, bringBack: api.restoreThread },
};

/** `isCurrent`: it is the thread that is shown; whoever undoes it finds themselves in it again. */
export async function putAway(thread: Thread, how: Away, isCurrent: boolean, onToast: (toast: Toast) => void) {
  const fail = (failure: unknown) => onToast({ words: words.changeFailed(describe(failure)) });
  const path = currentPath();
  const putBack = hideThread(thread.id);
  if (isCurrent) navigate('/');
  const back = () => {
    putBack();
    if (isCurrent && currentPath() === '/') navigate(path);
  };
  try {
    await WAYS[how].leave(thread.id);
  } catch (failure) {
    back();
    return fail(failure);
  }
  announce({ kind: 'threads' });
  const undo = () => {
    WAYS[how].bringBack(thread.id).then(() => {
      back();
      announce({ kind: 'threads' });
    }, fail);
  };
  onToast({ words: words[how](titleOf(thread)), action: { label: words.undo, act: undo } });
}
