/** A site whose apps have hosts of their own, and a browser that keeps the cookies of each host apart. */
import { type GatewaySite, host, origin, statusOf } from './site.ts'

export const appDomain = 'apps.example.net'
export const hostOf = (id: string): string => `${id}.${appDomain}`
export const originOf = (id: string): string => `https://${hostOf(id)}`
export const addressOf = (id: string, rest = ''): string => `${originOf(id)}/console/apps/${id}/${rest}`

export const appCookie = '__Host-Http-skylab-app'
export const nonceCookie = '__Host-Http-skylab-nonce-'

/** Each has an address of its own. */
let count = 0

/** Where a redirect leads. */
export const ledTo = (answer: string): string | undefined => /^location: ([^\r\n]*)/im.exec(answer)?.[1]

/** An answer, and what led to it. */
export interface Step {
  readonly url: string
  readonly answer: string
}

export interface Sent {
  readonly gateway?: number
  readonly headers?: readonly string[]
}

/** Follows redirects as a tab does, at each step through the next gateway. */
export class SplitBrowser {
  readonly #site: GatewaySite
  readonly #from = `X-Forwarded-For: 198.51.100.${(count++ % 200) + 1}`
  /** By host and name. */
  readonly cookies = new Map<string, Map<string, string>>()

  constructor(site: GatewaySite) {
    this.#site = site
  }

  /** Somebody who has entered an app. */
  static async in(site: GatewaySite, id: string, user: string): Promise<SplitBrowser> {
    const browser = new SplitBrowser(site)
    await browser.logIn(user)
    const steps = await browser.open(addressOf(id))
    const { url, answer } = steps.at(-1)!
    if (statusOf(answer) !== 200) throw new Error(`not in ${id}: ${url} answers ${answer}`)
    return browser
  }

  /** The line of the cookies that go to a host. */
  cookiesTo(at: string): string[] {
    const pairs = [...(this.cookies.get(at) ?? [])].map(([name, value]) => `${name}=${value}`)
    return pairs.length > 0 ? [`Cookie: ${pairs.join('; ')}`] : []
  }

  /** One navigation. */
  async get(url: string, { gateway = 0, headers = [] }: Sent = {}): Promise<string> {
    const { host: at, pathname, search } = new URL(url)
    const navigation = ['Accept: text/html', 'Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: document']
    const lines = [this.#from, ...navigation, ...this.cookiesTo(at), ...headers]
    const answer = await this.#site.ask(`GET ${pathname}${search}`, lines, { gateway, at })
    this.#keep(at, answer)
    return answer
  }

  /** Follows redirects until one leads to what `until` names, or there is none. */
  async open(url: string, until: (url: string) => boolean = () => false): Promise<readonly Step[]> {
    const steps: Step[] = []
    for (let at = url; steps.length < 12; ) {
      const answer = await this.get(at, { gateway: steps.length % this.#site.gateways.length })
      steps.push({ url: at, answer })
      const location = ledTo(answer)
      if (location === undefined) return steps
      at = new URL(location, at).href
      if (until(at)) return [...steps, { url: at, answer: '' }]
    }
    throw new Error(`no end of redirects: ${steps.map(each => each.url).join('\n')}`)
  }

  /** Posts a form of the platform. */
  async post(path: string, fields: Readonly<Record<string, string>>, gateway = 0): Promise<string> {
    const type = 'Content-Type: application/x-www-form-urlencoded'
    const lines = [this.#from, ...this.cookiesTo(host), `Origin: ${origin}`, type]
    const body = new URLSearchParams(fields).toString()
    const answer = await this.#site.ask(`POST ${path}`, lines, { body, gateway })
    this.#keep(host, answer)
    return answer
  }

  /** Logs in at the platform. */
  async logIn(user: string): Promise<void> {
    await this.post('/console/login', { token: `${user}-token` })
  }

  /** The way to an app, up to the address that has the code. The cookie of its nonce is kept. */
  async code(id: string): Promise<string> {
    const steps = await this.open(addressOf(id), url => url.startsWith(`${originOf(id)}/console/enter?`))
    return steps.at(-1)!.url
  }

  #keep(at: string, answer: string): void {
    const kept = this.cookies.get(at) ?? new Map<string, string>()
    this.cookies.set(at, kept)
    for (const [, line = ''] of answer.matchAll(/^set-cookie: ([^\r\n]*)/gim)) {
      const [, name = '', value = ''] = /^([^=]*)=([^;]*)/.exec(line) ?? []
      if (value === '' || /max-age=0(;|$)/i.test(line)) kept.delete(name)
      else kept.set(name, value)
    }
  }
}
