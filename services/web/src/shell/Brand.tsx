/** The product's own sign: the same picture as the tab's. */

export function Brand({ size }: { size: number }) {
  return <img src="/favicon.svg" width={size} height={size} alt="" />;
}
