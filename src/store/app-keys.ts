/** The keys of apps and of the gateways before them; `keys.ts` has the table. */
export class AppKeys {
  readonly routes: string
  readonly members: string
  readonly intents: string
  readonly bell: string
  /** The epoch of the last revocation. */
  readonly epoch: string
  readonly #tag: string

  constructor(tag: string) {
    this.#tag = tag
    this.routes = `${tag}app-routes`
    this.members = `${tag}app-members`
    this.intents = `${tag}app-intents`
    this.bell = `${tag}bell-of-apps`
    this.epoch = `${tag}gw:epoch`
  }

  removed(uid: string): string {
    return `${this.#tag}app-removed:${uid}`
  }
  /** @param hash as `hashOf` makes it of an id */
  login(hash: string): string {
    return `${this.#tag}gw:login:${hash}`
  }
  session(hash: string): string {
    return `${this.#tag}gw:session:${hash}`
  }
  loginsOf(user: string): string {
    return `${this.#tag}gw:logins-of:${user}`
  }
  /** The gateway that asks the identity source about a login. */
  asking(hash: string): string {
    return `${this.#tag}gw:asking:${hash}`
  }
  /** The code that leads to an app's host, by its hash. */
  code(hash: string): string {
    return `${this.#tag}gw:code:${hash}`
  }
  /** Something that can be used once, such as the way back from a login. */
  used(hash: string): string {
    return `${this.#tag}gw:used:${hash}`
  }

  /** No id of an app has a colon, so no two of these are equal. */
  revokedUser(user: string): string {
    return `${this.#tag}gw:revoked:user:${user}`
  }
  revokedApp(appId: string): string {
    return `${this.#tag}gw:revoked:app:${appId}`
  }
  revokedEntry(appId: string, user: string): string {
    return `${this.#tag}gw:revoked:entry:${appId}:${user}`
  }
}
