/** The little that tests use of a library without types of its own. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  export class Provider {
    constructor(issuer: string, configuration: object)
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
    on(event: 'grant.success', listener: (context: { oidc: { params: { grant_type: string } } }) => void): this
  }
}
