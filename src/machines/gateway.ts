/** The address of a run's tunnel for replicas, with the port that its machine reported. Pure. */
import type { Gateway } from '../dispatch/protocol.ts'

/** @param address of the machine's SSH server, as we see it. @returns undefined where the run has none */
export function gatewayOf(
  address: string,
  { gatewayPort, gatewayPin }: Partial<Gateway>,
): { readonly address: string; readonly pin: string } | undefined {
  if (!gatewayPort || !gatewayPin) return undefined
  return { address: `${address.replace(/:[0-9]+$/, '')}:${gatewayPort}`, pin: gatewayPin }
}
