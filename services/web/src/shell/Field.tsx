/** A label, a control, a hint: joined so that they are read together. */
import { type ReactNode, useId } from 'react';

interface FieldProps {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
  children: (control: { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean }) => ReactNode;
}

export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const hintId = useId();
  const isDescribed = Boolean(hint || error);
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': isDescribed ? hintId : undefined, 'aria-invalid': Boolean(error) })}
      {isDescribed && (
        <span className={error ? 'small field-error' : 'small muted'} id={hintId} role={error ? 'alert' : undefined}>
          {error ?? hint}
        </span>
      )}
    </div>
  );
}
