/** A bug in the page must not leave it blank. */
import { Component, type ReactNode } from 'react';
import { strings } from '../strings';
import { PageState } from './PageState';

export class ErrorBoundary extends Component<{ children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children;
    const action = { label: strings.errors.reload, act: () => location.reload() };
    return <PageState title={strings.errors.unexpected} action={action} heading="h1" role="alert" />;
  }
}
