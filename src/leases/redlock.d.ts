/** The parts of redlock's types in use. Its own declarations are not among its `exports`, so NodeNext does not find them. */
declare module 'redlock' {
  export interface Lock {
    readonly value: string
  }
  export interface Settings {
    readonly driftFactor: number
    readonly retryCount: number
    readonly automaticExtensionThreshold: number
  }
  export class ExecutionError extends Error {
    readonly attempts: readonly Promise<{ readonly votesAgainst: ReadonlyMap<unknown, Error> }>[]
  }
  export class ResourceLockedError extends Error {}
  export default class Redlock {
    constructor(clients: Iterable<import('./lock-server.ts').LockServer>, settings?: Partial<Settings>)
    acquire(resources: string[], durationMs: number): Promise<Lock>
    on(event: 'error', listener: (error: Error) => void): this
  }
}
