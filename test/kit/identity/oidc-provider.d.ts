/** Types of the few parts of an untyped library that tests use. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Context {
    readonly oidc: { readonly params?: { readonly grant_type?: string } }
  }

  export class Provider {
    constructor(issuer: string, configuration: object)
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
    on(event: 'grant.success', listener: (context: { oidc: { params: { grant_type: string } } }) => void): this
    on(event: 'grant.error' | 'grant.revoked', listener: (context: Context, detail: unknown) => void): this
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
  }
}

declare module 'oidc-provider/lib/adapters/memory_adapter.js' {
  export interface Storage {
    upsert(id: string, ...rest: unknown[]): Promise<void>
  }

  /** A storage of one provider. The default one prints a warning. */
  export function createMemoryAdapter(): (model: string) => Storage
}
