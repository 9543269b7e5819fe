/** Something that one page loads: skeletons after 150 ms, and words for whatever comes instead. */
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, describe, Unreachable } from '../api/failure';
import { navigate } from '../router';
import { strings } from '../strings';
import { useOnline } from './online';
import { PageState } from './PageState';

export interface Load<Value> {
  value: Value | undefined;
  failure: unknown;
  reload: () => void;
  change: (change: (before: Value) => Value) => void;
}

/** Loads anew whenever `key` changes; `load` may be another function each time. */
export function useLoad<Value>(key: string, load: () => Promise<Value>): Load<Value> {
  const [state, setState] = useState<{ key: string; value?: Value; failure?: unknown }>({ key });
  const asked = useRef(0);
  const latest = useRef(load);
  latest.current = load;

  const reload = useCallback(() => {
    asked.current += 1;
    const number = asked.current;
    latest.current().then(
      (value) => number === asked.current && setState({ key, value }),
      (failure: unknown) =>
        number === asked.current &&
        setState((before) => (before.key === key ? { ...before, failure } : { key, failure })),
    );
  }, [key]);

  useEffect(() => {
    reload();
    return () => {
      asked.current += 1;
    };
  }, [reload]);

  const change = useCallback((change: (before: Value) => Value) => {
    setState((before) => (before.value === undefined ? before : { ...before, value: change(before.value) }));
  }, []);
  const isOld = state.key !== key;
  return { value: isOld ? undefined : state.value, failure: isOld ? undefined : state.failure, reload, change };
}

interface LoadedProps<Value> {
  of: { value: Value | undefined; failure: unknown };
  onRetry: () => void;
  /** “The agents could not be loaded.” */
  failed: string;
  children: (value: Value) => ReactNode;
  rows?: number;
}

/** What was loaded, or in its place: a skeleton, or what happened and one thing to do about it. */
export function Loaded<Value>({ of, onRetry, failed, children, rows }: LoadedProps<Value>) {
  if (of.value !== undefined)
    return (
      <>
        {of.failure !== undefined && <FailureNotice failed={failed} failure={of.failure} onRetry={onRetry} />}
        {children(of.value)}
      </>
    );
  if (of.failure === undefined) return <Skeleton rows={rows ?? 3} />;
  if (of.failure instanceof ApiError && of.failure.status === 403) return <NoPermission hint={of.failure.message} />;
  if (of.failure instanceof ApiError && of.failure.status === 404) return <Missing />;
  return <FailureNotice failed={failed} failure={of.failure} onRetry={onRetry} />;
}

export function FailureNotice({ failed, failure, onRetry }: { failed: string; failure: unknown; onRetry: () => void }) {
  const isOnline = useOnline();
  useEffect(() => {
    // Nobody should have to press a button because a train left its tunnel.
    if (failure instanceof Unreachable) window.addEventListener('online', onRetry);
    return () => window.removeEventListener('online', onRetry);
  }, [failure, onRetry]);
  return (
    <div className="notice warn" role="alert">
      <span>
        {failed} {isOnline ? describe(failure) : strings.errors.offlinePage}
      </span>
      <button type="button" className="text-button" onClick={onRetry}>
        {strings.retry}
      </button>
    </div>
  );
}

export function NoPermission({ hint }: { hint: string }) {
  const action = { label: strings.toStart, act: () => navigate('/') };
  return <PageState title={strings.errors.byStatus(403)} hint={hint} action={action} />;
}

export function Missing() {
  const action = { label: strings.toStart, act: () => navigate('/') };
  return <PageState title={strings.errors.byStatus(404)} action={action} />;
}

export function Skeleton({ rows }: { rows: number }) {
  return (
    <div className="rows" aria-busy="true" aria-label={strings.loading} role="status">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same and never move
        <div className="skeleton row-skeleton" key={row} />
      ))}
    </div>
  );
}
