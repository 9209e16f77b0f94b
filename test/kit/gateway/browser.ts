/** What a browser does at a login: keeps cookies of gateway and issuer, and follows where it is led. */
import { type GatewaySite, origin, statusOf } from './site.ts'

/** Each has an address of its own. */
let count = 0

export class TestBrowser {
  readonly #site: GatewaySite
  /** Of the gateway, by name. */
  readonly cookies = new Map<string, string>()
  readonly #atIssuer = new Map<string, string>()
  /** As the proxy before the gateway reports it. */
  readonly #from: string

  constructor(site: GatewaySite) {
    this.#site = site
    this.#from = `X-Forwarded-For: 198.51.100.${(count++ % 200) + 1}`
  }

  get cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  /** One request to a gateway, as a navigation. */
  async get(target: string, gateway = 0): Promise<string> {
    const headers = [this.#from, 'Accept: text/html', ...(this.cookies.size > 0 ? [`Cookie: ${this.cookie}`] : [])]
    const answer = await this.#site.ask(`GET ${target}`, headers, { gateway })
    this.#keep(answer)
    return answer
  }

  /** Posts the form of a page. */
  async post(target: string, fields: Readonly<Record<string, string>>, gateway = 0): Promise<string> {
    const type = 'Content-Type: application/x-www-form-urlencoded'
    const headers = [this.#from, `Cookie: ${this.cookie}`, `Origin: ${origin}`, type]
    const answer = await this.#site.ask(`POST ${target}`, headers, {
      body: new URLSearchParams(fields).toString(),
      gateway,
    })
    this.#keep(answer)
    return answer
  }

  /** Begins a login, and goes to the issuer. @returns the target to which the issuer leads back */
  async comeBack(next?: string, gateway = 0): Promise<string> {
    const query = next === undefined ? '' : `?next=${encodeURIComponent(next)}`
    return this.through(locationOf(await this.get(`/console/login${query}`, gateway)))
  }

  /** Follows the issuer. @returns the target to which it leads back */
  async through(address: string): Promise<string> {
    for (let at = address, hops = 0; hops < 10; hops++) {
      const answer = await fetch(at, { redirect: 'manual', headers: { Cookie: pairs(this.#atIssuer) } })
      for (const line of answer.headers.getSetCookie()) keep(this.#atIssuer, line)
      const location = answer.headers.get('location')
      if (location === null) throw new Error(`the issuer answers ${answer.status}: ${await answer.text()}`)
      const to = new URL(location, at)
      if (to.origin === origin) return to.pathname + to.search
      at = to.href
    }
    throw new Error('the issuer leads nowhere')
  }

  /** Logs in. @returns the last answer */
  async logIn(next?: string, gateway = 0): Promise<string> {
    const answer = await this.get(await this.comeBack(next, gateway), gateway)
    if (statusOf(answer) !== 303) throw new Error(`not logged in: ${answer}`)
    return answer
  }

  #keep(answer: string): void {
    for (const [, line] of answer.matchAll(/^set-cookie: ([^\r\n]*)/gim)) keep(this.cookies, line!)
  }
}

const pairs = (cookies: ReadonlyMap<string, string>) =>
  [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

function keep(cookies: Map<string, string>, line: string): void {
  const [, name = '', value = ''] = /^([^=]*)=([^;]*)/.exec(line) ?? []
  if (value === '' || /max-age=0(;|$)|expires=thu, 01 jan 1970/i.test(line)) cookies.delete(name)
  else cookies.set(name, value)
}

export function locationOf(answer: string): string {
  const location = /^location: ([^\r\n]*)/im.exec(answer)?.[1]
  if (location === undefined) throw new Error(`no location in ${answer}`)
  return location
}
