/** What tunnels tell of themselves, without names of people. */
import type { TunnelFailed } from './dial.ts'

export interface Sight {
  opened(kind: 'shell' | 'port'): void
  refused(kind: 'shell' | 'port'): void
  /** @param at the container, and where its gateway should be */
  failed(why: TunnelFailed['why'], at: { readonly uuid: string; readonly address: string }): void
}
