/** One machine of a cloud, whatever it is made of. */
import type { Network } from './network.ts'

export interface HostSpec {
  readonly id: string
  readonly address: string
  /** A script that it runs as root. */
  readonly userData: string
  readonly network: Network
  /** Its network card at this machine's side. */
  readonly card: string
  /** For logs. */
  readonly stateDir: string
}

export interface Host {
  readonly id: string
  readonly address: string
  readonly card: string
  /** Resolves when the user data have run; rejects when it ends before. */
  readonly booted: Promise<void>
  /** Resolves when nothing of it runs any more. */
  readonly ended: Promise<void>
  readonly isRunning: boolean
  /** As if the cable of its power was pulled. */
  powerOff(): Promise<void>
  /** Cuts the cable of its network. */
  cut(): Promise<void>
  mend(): Promise<void>
}
