/** Metrics of the ways into running containers. Their labels name no container and no person. */
import { Counter, Gauge, type Registry } from 'prom-client'

const kinds = ['shell', 'port'] as const
const results = ['opened', 'refused'] as const
const reasons = ['unreachable', 'stranger', 'refused'] as const

/** @param open how many there are now */
export function createTunnelMetrics(registry: Registry, open: () => number) {
  const registers = [registry]
  new Gauge({
    name: 'skylab_dispatch_tunnels_open',
    help: 'Shells, and requests and WebSockets of ports, that this replica carries into containers now',
    registers,
    collect() {
      this.set(open())
    },
  })
  const metrics = {
    opened: new Counter({
      name: 'skylab_dispatch_tunnels_total',
      help: 'Shells, and requests and WebSockets of ports, that were asked of this replica, by kind (shell, port) and result (opened; refused: they may not, the container does not run, or too many are open)',
      labelNames: ['kind', 'result'] as const,
      registers,
    }),
    failed: new Counter({
      name: 'skylab_dispatch_tunnel_failures_total',
      help: 'Connections into containers that failed, by reason (unreachable: nothing answers; stranger: what answers is not the gateway of the run, which an operator must look at; refused: nothing listens on the port)',
      labelNames: ['reason'] as const,
      registers,
    }),
  }
  for (const kind of kinds) for (const result of results) metrics.opened.inc({ kind, result }, 0)
  for (const reason of reasons) metrics.failed.inc({ reason }, 0)
  return metrics
}
