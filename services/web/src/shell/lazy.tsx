/** Pages that are fetched when they are first opened. */
import { type ComponentType, lazy, type ReactNode, Suspense } from 'react';
import { strings } from '../strings';
import { Skeleton } from './load';
import { PageState } from './PageState';

/** A page whose script is not there any more belongs to an older build: the person is told, and loses nothing. */
export function lazyPage<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => {
    const page = await load().catch((failure: unknown) => {
      if (!navigator.onLine) throw failure;
      return Updated as ComponentType<Props>;
    });
    return { default: page };
  });
}

/** Around whatever may still be on its way. */
export function WhileLoading({ children }: { children: ReactNode }) {
  return <Suspense fallback={<Waiting />}>{children}</Suspense>;
}

function Waiting() {
  return (
    <div className="scroller">
      <div className="page">
        <Skeleton rows={4} />
      </div>
    </div>
  );
}

function Updated() {
  const action = { label: strings.errors.reload, act: () => location.reload() };
  return <PageState title={strings.errors.updated} hint={strings.errors.updatedHint} action={action} />;
}
