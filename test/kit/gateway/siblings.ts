/** A hostile app beside another group's, each at a host of its own, before a real browser with somebody who is of both groups. */
import type { BrowserContext, Cookie, Page } from 'playwright-core'
import { Front, PageApp, type SeenHead } from './front.ts'
import { GatewaySite, host } from './site.ts'
import { appCookie } from './split-site.ts'

/** Below the domain of the platform: browsers take all these hosts for one site, so they send cookies along most readily. */
const appDomain = 'apps.example.org'
export const siblingDomain = appDomain
export const siblingHost = (id: string): string => `${id}.${appDomain}`
export const siblingUrl = (id: string, rest = ''): string => `https://${siblingHost(id)}/console/apps/${id}/${rest}`

/** Tells its pages of each request that it sees, and whoever asks the addresses of all documents of its host. */
const worker = `self.onfetch = event => event.waitUntil(
  self.clients.matchAll({ includeUncontrolled: true }).then(all => all.forEach(each => each.postMessage(event.request.url))))
self.onmessage = event => event.waitUntil(
  self.clients.matchAll({ includeUncontrolled: true }).then(all => event.ports[0].postMessage(all.map(each => each.url))))
self.oninstall = () => self.skipWaiting()
self.onactivate = event => event.waitUntil(self.clients.claim())`

export class Siblings {
  readonly site: GatewaySite
  readonly front: Front
  readonly good: PageApp
  readonly #evil: PageApp
  /** Of the visitor, who has entered both apps. */
  context!: BrowserContext
  /** Shows the hostile app. What runs in it are scripts of this app. */
  page!: Page

  private constructor(site: GatewaySite, front: Front, good: PageApp, evil: PageApp) {
    this.site = site
    this.front = front
    this.good = good
    this.#evil = evil
  }

  static async start(): Promise<Siblings> {
    const site = await GatewaySite.start({ config: { gateway: { appDomain } } })
    const good = await PageApp.start((_, outgoing) =>
      outgoing.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>good</title>good'),
    )
    const evil = await PageApp.start(({ url = '' }, outgoing) => {
      const isScript = url.endsWith('.js')
      outgoing.writeHead(200, [
        ...['Content-Type', isScript ? 'text/javascript' : 'text/html', 'Service-Worker-Allowed', '/'],
        ...['Set-Cookie', `${appCookie}=planted; Secure; HttpOnly; Path=/`],
        ...['Set-Cookie', `wide=1; Path=/; Domain=${appDomain}`],
      ])
      outgoing.end(isScript ? worker : '<!doctype html><title>evil</title>evil')
    })
    await site.route('good', { address: good.address })
    await site.route('evil', { address: evil.address, group: 'chemistry' })
    const siblings = new Siblings(site, await Front.start(site, [host, `*.${appDomain}`]), good, evil)
    Object.assign(siblings, await siblings.visit())
    return siblings
  }

  /** Somebody else of both groups. */
  async visit(): Promise<{ context: BrowserContext; page: Page }> {
    const context = await this.front.browser.newContext()
    const page = await context.newPage()
    await page.goto(siblingUrl('good'))
    await page.fill('input[name=token]', 'grace-token')
    await Promise.all([page.waitForURL(siblingUrl('good')), page.click('button')])
    await page.goto(siblingUrl('evil'))
    return { context, page }
  }

  /** Runs a script of the hostile app. */
  run<T>(script: string): Promise<T> {
    return this.page.evaluate(script) as Promise<T>
  }

  async cookie(name: string, at: string): Promise<Cookie | undefined> {
    return (await this.context.cookies(at)).find(each => each.name === name)
  }

  /** What a blow sent to a host beside the page's own. */
  async sentTo(at: string, blow: () => Promise<unknown>): Promise<SeenHead[]> {
    this.front.clear()
    this.good.seen.length = 0
    await blow()
    return this.front.heads.filter(head => head.host === at)
  }

  async stop(): Promise<void> {
    await this.front.stop()
    for (const app of [this.good, this.#evil]) app.stop()
    await this.site.stop()
  }
}
