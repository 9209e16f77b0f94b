/** A person with a browser of their own, who looks at apps. */
import type { Browser, BrowserContext, Page, WebSocket } from 'playwright-core'
import { systemClock } from '../../src/base/clock.ts'

/** Longer than an app takes to start. */
const limitMs = 90_000
const size = { width: 960, height: 720 }

export class Visitor {
  readonly page: Page
  readonly #context: BrowserContext
  readonly #url: string
  /** Those that are open. */
  readonly #sockets = new Set<WebSocket>()

  private constructor(url: string, context: BrowserContext, page: Page) {
    this.#url = url
    this.#context = context
    this.page = page
    page.setDefaultTimeout(limitMs)
    page.on('websocket', socket => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  /** @param url of the platform; its certificate is of the demo's own authority */
  static async arrive(browser: Browser, url: string): Promise<Visitor> {
    const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: size })
    return new Visitor(url, context, await context.newPage())
  }

  /** Opens an app; resolves with the status of the page that came, which may be the login. */
  async open(id: string): Promise<number> {
    // A page that goes tells no end of its WebSockets.
    this.#sockets.clear()
    const response = await this.page.goto(`${this.#url}/console/apps/${id}/`)
    return response?.status() ?? 0
  }

  /** Fills the form of the OpenID provider, on whose page the visitor is. */
  async login(name: string, password: string): Promise<void> {
    await this.page.getByLabel('Name').fill(name)
    await this.page.getByLabel('Password').fill(password)
    await this.page.getByRole('button', { name: 'Log in' }).click()
  }

  /** Logs out in another tab, at the gateway and then at the provider, while this one stays open. */
  async logout(): Promise<void> {
    const tab = await this.#context.newPage()
    await tab.goto(`${this.#url}/console/logout`)
    await tab.getByRole('button', { name: 'Log out' }).click()
    await tab.getByText('Log out of the OpenID provider').waitFor()
    await tab.getByRole('button', { name: 'Log out' }).click()
    await tab.getByRole('link', { name: 'Log in again' }).waitFor()
    await tab.close()
  }

  /** The heading of the page. */
  async heading(): Promise<string> {
    return ((await this.page.getByRole('heading').first().textContent()) ?? '').trim()
  }

  async text(): Promise<string> {
    return ((await this.page.locator('main').textContent()) ?? '').replaceAll(/\s+/g, ' ').trim()
  }

  /** Waits until the page has these words. */
  async sees(words: string | RegExp): Promise<void> {
    await this.page.getByText(words).first().waitFor()
  }

  get hasSocket(): boolean {
    return this.#sockets.size > 0
  }

  /**
   * Resolves with the ms until all WebSockets of now are closed.
   * @param sinceMs by the monotonic clock
   * @throws when one of them stays open, or there is none
   */
  async socketsClosed(sinceMs: number, timeout = limitMs): Promise<number> {
    if (!this.hasSocket) throw new Error('the page has no WebSocket')
    const closed = [...this.#sockets].map(socket => socket.waitForEvent('close', { timeout }))
    await Promise.all(closed)
    return systemClock.monotonicMs() - sinceMs
  }

  async leave(): Promise<void> {
    await this.#context.close()
  }
}
