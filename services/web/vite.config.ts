/** Builds static files that work under `script-src 'self'; style-src 'self'`: nothing inline, nothing from elsewhere. */
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { serviceWorker } from './worker/plugin.ts';

const gateway = process.env.RETINUE_DEV_GATEWAY ?? 'http://127.0.0.1:8700';

/** Every browser that the page is made for reads WOFF2: KaTeX's other fonts need not be carried along. */
function onlyNewFonts(): Plugin {
  return {
    name: 'retinue-only-new-fonts',
    enforce: 'pre',
    transform: (code, id) =>
      id.includes('katex') && id.includes('.css')
        ? code.replace(/,url\([^)]+\.(woff|ttf)\) format\("\w+"\)/g, '')
        : undefined,
  };
}

export default defineConfig({
  plugins: [react(), onlyNewFonts(), serviceWorker()],
  build: {
    target: 'es2022',
    // Data URLs for small files would need `font-src data:` and the like; files are simpler to reason about.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  server: { proxy: { '/api': { target: gateway, changeOrigin: true, headers: { origin: gateway } } } },
});
