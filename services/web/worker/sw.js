/** Keeps the page's own files, so that it opens without a network, and fast with one. Never an answer of the API.
 *
 * The build fills in what to keep. A new build is a new version with a new cache; the page itself is always asked for
 * first, so that nobody gets yesterday's page while the server is there.
 */
const VERSION = '__VERSION__';
const SHELL = ['__SHELL__'];
const PREFIX = 'retinue-shell-';
const CACHE = PREFIX + VERSION;
const OWN_FILES = /^\/assets\//;
const NOT_THE_PAGES = /^\/(api|v1|mcp|\.well-known)(\/|$)|^\/openapi\.json$/;

self.addEventListener('install', (event) => {
  event.waitUntil(keepAll().then(() => self.skipWaiting()));
});

self.addEventListener('activate', (event) => {
  event.waitUntil(dropOld().then(() => self.clients.claim()));
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== self.location.origin || NOT_THE_PAGES.test(url.pathname)) return;
  if (request.mode === 'navigate') event.respondWith(page(request));
  else if (OWN_FILES.test(url.pathname) || SHELL.includes(url.pathname)) event.respondWith(file(request));
});

async function keepAll() {
  const cache = await caches.open(CACHE);
  await cache.addAll(SHELL);
}

async function dropOld() {
  const names = await caches.keys();
  await Promise.all(
    names.filter((name) => name.startsWith(PREFIX) && name !== CACHE).map((name) => caches.delete(name)),
  );
}

/** The server's page; the kept one only where no server answers. */
async function page(request) {
  try {
    return await fetch(request);
  } catch (failure) {
    const kept = await keptFor(new Request('/'));
    if (kept) return kept;
    throw failure;
  }
}

/** Files with a hash in their name never change: the kept one is the right one. */
async function file(request) {
  const kept = await keptFor(request);
  if (kept) return kept;
  const answer = await fetch(request);
  if (answer.ok && answer.type === 'basic') {
    const cache = await caches.open(CACHE);
    await cache.put(request, answer.clone());
  }
  return answer;
}

const keptFor = (request) => caches.match(request, { cacheName: CACHE, ignoreVary: true });
