/** TLS before a gateway, for real browsers: it reads the heads that pass, and so shows which requests a browser has sent. */
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../../../dev/setup/browser.ts'
import { TestAuthority } from '../tls/authority.ts'
import type { GatewaySite } from './site.ts'

/** A request that a browser sent. */
export interface SeenHead {
  readonly method: string
  readonly host: string
  readonly target: string
  /** All of it. */
  readonly text: string
}

/** What stands behind it. */
export interface FrontedSite extends Pick<GatewaySite, 'stateDir'> {
  readonly gateways: readonly { readonly port: number }[]
}

export class Front {
  readonly browser: Browser
  readonly #server: TlsServer
  /** What came on each connection. */
  readonly #came: { text: string }[]

  private constructor(browser: Browser, server: TlsServer, came: { text: string }[]) {
    this.browser = browser
    this.#server = server
    this.#came = came
  }

  /**
   * @param site its first gateway is looked up anew for each connection
   * @param hosts of the certificate, all of which the browser looks for here; the first label may be `*`
   */
  static async start(site: FrontedSite, hosts: readonly string[]): Promise<Front> {
    const alternatives = hosts.map(host => `DNS:${host}`)
    const issued = new TestAuthority(site.stateDir).issue('browser', { alternatives })
    const came: { text: string }[] = []
    const server = createTlsServer(issued, socket => {
      const gateway = connect(site.gateways[0]!.port, '127.0.0.1')
      for (const each of [socket, gateway]) each.on('error', () => {})
      const kept = { text: '' }
      came.push(kept)
      socket.on('data', bytes => {
        kept.text += bytes.toString('latin1')
      })
      socket.pipe(gateway).pipe(socket)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const rules = hosts.map(host => `MAP ${host}:443 127.0.0.1:${port}`).join(', ')
    // Where errors of certificates are only ignored, no page may have a service worker at all.
    const trust = `--ignore-certificate-errors-spki-list=${keyHash(issued.cert)}`
    const browser = await launchBrowser(`--host-resolver-rules=${rules}`, trust)
    return new Front(browser, server, came)
  }

  /** The requests so far, at all hosts. */
  get heads(): SeenHead[] {
    return this.#came.flatMap(({ text }) =>
      [...text.matchAll(/(GET|HEAD|POST|OPTIONS) (\S+) HTTP\/1\.1\r\nHost: (\S+)\r\n[\s\S]*?\r\n\r\n/g)].map(
        ([head, method, target, host]) => ({ method: method!, target: target!, host: host!, text: head }),
      ),
    )
  }

  /** Forgets what came. */
  clear(): void {
    for (const each of this.#came) each.text = ''
  }

  async stop(): Promise<void> {
    await this.browser.close()
    this.#server.close()
  }
}

function keyHash(certificate: string): string {
  const { publicKey } = new X509Certificate(certificate)
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64')
}

/** An app whose answers a test writes. */
export class PageApp {
  /** The requests that reached it. */
  readonly seen: IncomingMessage[] = []
  readonly #server: Server

  private constructor(answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void) {
    this.#server = createServer((incoming, outgoing) => {
      this.seen.push(incoming)
      answer(incoming, outgoing)
    })
    this.#server.on('upgrade', (incoming, socket) => {
      this.seen.push(incoming)
      socket.destroy()
    })
  }

  static async start(answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void): Promise<PageApp> {
    const app = new PageApp(answer)
    await once(app.#server.listen(0, '127.0.0.1'), 'listening')
    return app
  }

  get address(): { ip: string; port: number } {
    return { ip: '127.0.0.1', port: (this.#server.address() as AddressInfo).port }
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
