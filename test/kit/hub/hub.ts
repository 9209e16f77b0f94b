/** Plays a Hub: a page around the lab form, and a create request for each post of the form. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** Properties of the page around the form. */
export interface HubPage {
  readonly dir?: 'ltr' | 'rtl'
  /** The header Content-Security-Policy. */
  readonly policy?: string
  /** Number of copies of the form in the page, each in a form element of its own. */
  readonly times?: number
}

/** Options as a Hub gets them from a form: each value is a list. */
export type PostedOptions = Readonly<Record<string, readonly string[]>>

export interface Hub {
  /** Shows a fragment at the returned address. */
  show(fragment: string, page?: HubPage): string
  stop(): Promise<void>
}

/** @param create handles the options; the next page shows its result as a heading */
export async function startHub(create: (options: PostedOptions) => Promise<string>): Promise<Hub> {
  let shown = { html: '', policy: '' }
  const server = createServer(async (incoming, outgoing) => {
    const words = incoming.method === 'POST' ? await optionsOf(incoming).then(create) : undefined
    const headers = { 'Content-Type': 'text/html', ...(shown.policy && { 'Content-Security-Policy': shown.policy }) }
    outgoing.writeHead(200, headers).end(words === undefined ? shown.html : `<h1>${words}</h1>`)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    show(fragment, page = {}) {
      shown = { html: htmlOf(fragment, page), policy: page.policy ?? '' }
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    },
    async stop() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

async function optionsOf(incoming: IncomingMessage): Promise<PostedOptions> {
  const headers = { 'Content-Type': incoming.headers['content-type'] ?? '' }
  const form = await new Response(new Uint8Array(await buffer(incoming)), { headers }).formData()
  return Object.fromEntries([...new Set(form.keys())].map(name => [name, form.getAll(name).map(String)]))
}

function htmlOf(fragment: string, { dir = 'ltr', times = 1 }: HubPage): string {
  const form = `<form method="post" action="/spawn" enctype="multipart/form-data">${fragment}<input type="submit" value="Start"></form>`
  return `<!doctype html><html lang="en" dir="${dir}"><head><meta charset="utf-8"><title>Hub</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main><h1>Server Options</h1>${form.repeat(times)}</main></body></html>`
}
