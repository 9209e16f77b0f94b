/** Where replicas find the tunnel of a run, as its machine told its port. Pure. */
import type { Gateway } from '../dispatch/protocol.ts'

/** @param address of the machine's SSH server, as we see it. @returns undefined where the run has none */
export function gatewayOf(
  address: string,
  { gatewayPort, gatewayPin }: Partial<Gateway>,
): { readonly address: string; readonly pin: string } | undefined {
  if (!gatewayPort || !gatewayPin) return undefined
  return { address: `${address.replace(/:[0-9]+$/, '')}:${gatewayPort}`, pin: gatewayPin }
}
