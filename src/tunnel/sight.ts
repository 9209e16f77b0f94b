/** What tunnels tell of themselves, without names. */
import type { TunnelFailed } from './dial.ts'

export interface Sight {
  opened(kind: 'shell' | 'port'): void
  refused(kind: 'shell' | 'port'): void
  failed(why: TunnelFailed['why']): void
}
