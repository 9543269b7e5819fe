/** Builds static files that work under `script-src 'self'; style-src 'self'`: nothing inline, nothing from elsewhere. */
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const gateway = process.env.RETINUE_DEV_GATEWAY ?? 'http://127.0.0.1:8700';

export default defineConfig({
  plugins: [react()],
  build: {
    target: 'es2022',
    // Data URLs for small files would need `font-src data:` and the like; files are simpler to reason about.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  server: { proxy: { '/api': { target: gateway, changeOrigin: true, headers: { origin: gateway } } } },
});
