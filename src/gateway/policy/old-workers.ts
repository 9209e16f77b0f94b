/**
 * The end of service workers that apps had at the host of the platform, from before each had a host of its own. Browsers keep them
 * there, and ask for their scripts again. A redirect is no script: a worker would stay for ever, as a script of the platform. Pure.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Page } from './pages.ts'

/** It takes no request, and loads the tabs of the old worker again: they go to the app's own host. */
const script = `self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', event => event.waitUntil(end()))
async function end() {
  await self.registration.unregister()
  const tabs = await self.clients.matchAll({ type: 'window' })
  await Promise.allSettled(tabs.map(tab => tab.navigate(tab.url)))
}
`

/** Whether a browser asks for the script of a service worker. No page can have it say so of anything else. */
export const isForWorker = (headers: IncomingHttpHeaders): boolean => headers['service-worker'] === 'script'

export const endOfWorker: Page = {
  status: 200,
  headers: {
    'Content-Type': 'text/javascript; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'",
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  },
  body: script,
}
