/** Shapes of the gateway's answers: names for what `npm run api` generates from its OpenAPI document. */
import type { UIMessage } from 'ai';
import type { components } from './schema';

type Schemas = components['schemas'];

export type User = Schemas['UserOut'];
export type Config = Schemas['Config'];
export type Thread = Schemas['ThreadOut'];
export type ThreadPage = Schemas['ThreadPage'];
export type NewAccount = Schemas['Registration'];
export type DeadLetter = Schemas['DeadLetterOut'];
export type DeadLetterState = DeadLetter['state'];
export type DeadLetterPage = Schemas['DeadLetterPage'];
export type WholeDeadLetter = Schemas['DeadLetterWhole'];
export type Token = Schemas['TokenOut'];
export type NewToken = Schemas['NewToken'];
export type SignedIn = Schemas['UserAnswer'];
/** The document describes parts loosely; they are the SDK's own. */
export type MessagePage = Omit<Schemas['MessagePage'], 'items'> & { items: UIMessage[] };
