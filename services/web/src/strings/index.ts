/** Every word the page says: short, plain, in sentence case. One file for each part of the page; a translation is
 * another folder like this one. */
import * as account from './account';
import * as admin from './admin';
import * as shell from './shell';
import * as thread from './thread';
import * as threads from './threads';

export const strings = { ...shell, ...account, ...threads, ...thread, ...admin };
