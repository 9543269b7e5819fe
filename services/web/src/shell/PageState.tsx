/** Empty, missing and failed pages: what happened, what was kept, one action. */

interface PageStateProps {
  title: string;
  hint?: string | undefined;
  action?: { label: string; act: () => void };
  heading?: 'h1' | 'h2';
  role?: 'alert';
}

export function PageState({ title, hint, action, heading: Heading = 'h2', role }: PageStateProps) {
  return (
    <div className="page-state" role={role}>
      <Heading>{title}</Heading>
      {hint && <p className="muted">{hint}</p>}
      {action && (
        <button type="button" className="button" onClick={action.act}>
          {action.label}
        </button>
      )}
    </div>
  );
}
