/** Which page is shown: sign-in, or the workroom for who is signed in. */
import { useEffect } from 'react';
import { SignIn } from './account/SignIn';
import { useSession } from './account/session';
import { currentPath, navigate, signInPath, useRoute } from './router';
import { ErrorBoundary } from './shell/ErrorBoundary';
import { PageState } from './shell/PageState';
import { Shell } from './shell/Shell';
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
    if (session.status === 'in' && leave !== undefined) navigate(leave, { replace: true });
  }, [isOut, atSignIn, session.status, leave]);

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
