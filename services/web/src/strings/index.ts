/** Every word the page says: short, plain, in sentence case. One file for each part of the page; a translation is
 * another folder like this one. */
import * as account from './account';
import * as admin from './admin';
import * as agents from './agents';
import * as palette from './palette';
import * as settings from './settings';
import * as shell from './shell';
import * as start from './start';
import * as thread from './thread';
import * as threads from './threads';
import * as usage from './usage';

export const strings = {
  ...shell,
  ...account,
  ...agents,
  ...palette,
  ...settings,
  ...start,
  ...threads,
  ...thread,
  ...admin,
  ...usage,
};
