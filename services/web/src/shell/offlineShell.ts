/** The page's own files, kept by a service worker so that the page opens without a network. Built pages only: in
 * development they change under its hands. */

export function keepShell(): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  // After everything that the person waits for.
  window.addEventListener('load', () => {
    navigator.serviceWorker.register('/sw.js').catch((failure: unknown) => {
      // The page works without it: private windows and some browsers refuse.
      console.info('The page is not kept for offline use:', failure);
    });
  });
}
