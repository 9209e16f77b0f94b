/** Keeps cookies for one host as a browser does: by name and path. */
import { systemClock } from '../../src/base/clock.ts'

interface Cookie {
  readonly name: string
  readonly path: string
  readonly value: string
}

export class CookieJar {
  #cookies: readonly Cookie[] = []

  /** Keeps the cookies of a response's `Set-Cookie` headers; drops those that have expired. */
  take(url: URL, headers: readonly string[]): void {
    for (const header of headers) {
      const [pair = '', ...attributes] = header.split(';').map(part => part.trim())
      const at = pair.indexOf('=')
      const attribute = (name: string) =>
        attributes.find(each => each.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1)
      const path = attribute('path') ?? url.pathname.replace(/\/[^/]*$/, '/')
      const cookie = { name: pair.slice(0, at), value: pair.slice(at + 1), path }
      const expires = attribute('expires')
      const isOver =
        attribute('max-age') === '0' || (expires !== undefined && Date.parse(expires) < systemClock.wallMs())
      const others = this.#cookies.filter(each => each.name !== cookie.name || each.path !== cookie.path)
      this.#cookies = isOver ? others : [...others, cookie]
    }
  }

  /** The value of a request's `Cookie` header: longer paths first (RFC 6265, 5.4). */
  header(url: URL): string {
    return this.#for(url)
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ')
  }

  /** The value that a page at this address can read. */
  value(url: URL, name: string): string | undefined {
    return this.#for(url).find(cookie => cookie.name === name)?.value
  }

  #for({ pathname }: URL): readonly Cookie[] {
    const isAbove = (path: string) => pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`)
    return this.#cookies.filter(({ path }) => isAbove(path)).sort((a, b) => b.path.length - a.path.length)
  }
}
