/** Addresses that came with an answer: only the web's own are followed, and nothing is asked of them by itself. */

/** The address, if it is one of the web's. */
export function webAddress(address: unknown): URL | undefined {
  if (typeof address !== 'string' || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined;
}

/** The path, if the address is one of this very server. */
export function ownPath(address: unknown): string | undefined {
  if (typeof address !== 'string' || !URL.canParse(address, location.href)) return undefined;
  const url = new URL(address, location.href);
  return url.origin === location.origin ? url.pathname + url.search : undefined;
}

/** How a person names a site: without `www.`. */
export const siteOf = (url: URL) => url.host.replace(/^www\./, '');
