/** Shapes of the answers about agents, models, settings and usage: names for what is generated. */
import type { components } from './schema';

type Schemas = components['schemas'];

export type Agent = Schemas['AgentOut'];
export type AgentWish = Pick<Agent, 'name'> & Partial<Schemas['AgentWish']>;
export type AgentChange = Schemas['AgentChange'];
export type Starter = Schemas['Starter'];
export type ToolInfo = Schemas['ToolOut'];
export type Instructions = Schemas['InstructionsOut'];

export type ModelInfo = Schemas['ModelOut'];
export type Models = Schemas['ModelsOut'];

export type Provider = Schemas['ProviderOut'];
export type ProviderKind = Schemas['KindOut'];
export type ProviderScope = Provider['scope'];
export type Providers = Schemas['ProviderList'];
export type NewProvider = Schemas['ProviderWish'];
export type ProviderChange = Schemas['ProviderChange'];
export type ProviderTest = Schemas['KeyTestOut'];
export type FoundServer = Schemas['FoundOut'];

/** Of a stream, which the document does not describe. In bytes. */
export interface PullProgress {
  status: string;
  completed: number | null;
  total: number | null;
  /** Why it ended early. */
  error?: string | null;
}

export type Setting = Schemas['SettingOut'];
export type SettingValue = Setting['value'];
export type Start = Schemas['StartOut'];

export type SearchHit = Schemas['HitOut'];

export type Usage = Schemas['UsagePage'];
export type UsageRow = Usage['items'][number];
export type Sums = Schemas['SumsOut'];
export type UsageBy = 'day' | 'agent' | 'model' | 'thread' | 'user';

/** How a turn ran, and what its model saw. */
export type Run = Schemas['TurnInspected'];
export type RunStep = Schemas['StepOut'];
export type RunAttempt = Schemas['AttemptOut'];
export type RunCall = Schemas['CallOut'];
export type Seen = Schemas['PromptOut'];
