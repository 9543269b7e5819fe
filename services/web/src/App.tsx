/** Which page is shown: sign-in, or the workroom for who is signed in. */
import { useEffect } from 'react';
import { SignIn } from './account/SignIn';
import { useSession } from './account/session';
import { currentPath, navigate, signInPath, startPath, useRoute } from './router';
import { ErrorBoundary } from './shell/ErrorBoundary';
import { PageState } from './shell/PageState';
import { Shell } from './shell/Shell';
import { isNewHere } from './start/passed';
import { strings } from './strings';

export function App() {
  return (
    <ErrorBoundary>
      <Pages />
    </ErrorBoundary>
  );
}

function Pages() {
  const route = useRoute();
  const session = useSession();
  const isOut = session.status === 'out';
  const atSignIn = route.page === 'sign-in';
  const leave = atSignIn ? route.next : undefined;

  useEffect(() => {
    if (isOut && !atSignIn) navigate(signInPath(currentPath()), { replace: true });
  }, [isOut, atSignIn]);
  useEffect(() => {
    if (session.status !== 'in' || leave === undefined) return;
    const go = async () => (session.isNew && leave === '/' && (await isNewHere(session.user)) ? startPath : leave);
    void go().then((path) => navigate(path, { replace: true }));
  }, [session, leave]);

  if (session.status === 'unreachable') {
    return (
      <PageState
        title={session.words}
        action={{ label: strings.retry, act: session.reload }}
        heading="h1"
        role="alert"
      />
    );
  }
  if (session.status === 'in' && !atSignIn) return <Shell user={session.user} route={route} key={session.user.id} />;
  if (isOut && atSignIn) return <SignIn invite={route.invite} isExpired={session.isExpired} />;
  return <main aria-busy="true" aria-label={strings.loading} />;
}
