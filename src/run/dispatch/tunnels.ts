/** Joins the ways into running containers: who may, for how long, and the pump that carries it. */
import type { Containers } from '../../containers/service.ts'
import { mostProofs, tunnelKey } from '../../dispatch/tunnel.ts'
import { Pump } from '../../gateway/pump.ts'
import type { createTunnelMetrics } from '../../telemetry/tunnel-metrics.ts'
import { Carrier } from '../../tunnel/carrier.ts'
import { Tunnels } from '../../tunnel/tunnels.ts'
import { Visits } from '../../tunnel/visits.ts'
import type { Basics } from '../basics.ts'
import type { RequestAudit } from '../request-audit.ts'

export interface TunnelShared {
  readonly containers: Pick<Containers, 'reach'>
  readonly onMore: (uuid: string, listener: () => void) => () => void
  readonly auditor: RequestAudit['auditor']
  readonly metrics: ReturnType<typeof createTunnelMetrics>
}

const headMs = 60_000
/** Servers keep a free connection for 2 s at least, those of Python's gunicorn. */
const freeMs = 1500
/** For the rest of an upload after its answer. */
const lingerMs = 10_000
/** To one port of one run. */
const connections = 64

export function joinTunnels(basics: Basics, { containers, onMore, auditor, metrics }: TunnelShared) {
  const { config, settings, clock, log } = basics
  const { token, previousTokens } = settings.dispatch!
  const tokens = [token, ...previousTokens].slice(0, mostProofs)
  const { Containers, tunnels: limits } = config.dispatch!
  const tunnels = new Tunnels({
    ...{ containers, onMore, clock, limits, access: Containers.ShellAccess },
    keysOf: (uuid, run) => tokens.map(each => tunnelKey(each, uuid, run)),
    visits: new Visits({ clock, auditor, provider: config.identity.provider }),
    sight: {
      opened: kind => metrics.opened.inc({ kind, result: 'opened' }),
      refused: kind => metrics.opened.inc({ kind, result: 'refused' }),
      failed: (reason, { uuid, address }) => {
        metrics.failed.inc({ reason })
        if (reason === 'stranger') log.warn({ container: uuid, address }, 'a stranger answers for a container')
      },
    },
  })
  const pump = new Pump({ headMs, idleMs: limits.idleSeconds * 1000, freeMs, lingerMs, connections })
  const stallMs = config.api.limits.stallTimeoutSeconds * 1000
  return { tunnels, carrier: new Carrier({ pump, clock, stallMs }), close: () => pump.close() }
}
