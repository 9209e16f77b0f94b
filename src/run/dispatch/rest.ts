/** Joins REST of containers and of operators: identity of callers, services, routes. */
import { createDispatchApi } from '../../api/dispatch/app.ts'
import { mayUpgrade } from '../../api/dispatch/tunnel-handlers.ts'
import { secretTest } from '../../base/secret-env.ts'
import { ManagementService } from '../../containers/management.ts'
import { ContainerService } from '../../containers/service.ts'
import type { Tenancy } from '../../containers/tenancy.ts'
import { type OfferedType, rulesOf } from '../../dispatch/configured.ts'
import type { MachineBrief } from '../../dispatch/container.ts'
import type { Bell } from '../../store/bell.ts'
import type { ContainerStore } from '../../store/dispatch/containers.ts'
import type { MachineStore } from '../../store/dispatch/machines.ts'
import { containerKind } from '../../store/dispatch-keys.ts'
import type { Sealer } from '../../store/sealing.ts'
import type { StreamReader } from '../../store/streams.ts'
import { SubjectBell } from '../../store/subject-bell.ts'
import type { DispatchMetrics } from '../../telemetry/dispatch-metrics.ts'
import { createTunnelMetrics } from '../../telemetry/tunnel-metrics.ts'
import type { Basics } from '../basics.ts'
import { joinOwnRest, type OwnRest } from '../own-rest.ts'
import type { Part } from '../part.ts'
import { joinTunnels } from './tunnels.ts'

/** What REST needs of the others. */
export interface DispatchRestParts {
  readonly tenancy: Tenancy
  readonly containers: ContainerStore
  readonly machines: MachineStore
  readonly streams: Pick<StreamReader, 'open'>
  readonly bell: Pick<Bell, 'on'>
  readonly sealer: Pick<Sealer, 'seal'>
  /** By name. */
  readonly types: ReadonlyMap<string, OfferedType>
  readonly dispatchMetrics: Pick<DispatchMetrics, 'logs' | 'logsOpen'>
  /** Resolves with true when the cloud's tag of a machine says what its record does, and with false when that takes long. */
  readonly whenTagged?: ((machine: MachineBrief) => Promise<boolean>) | undefined
}

export interface DispatchRest extends Pick<OwnRest, 'listen' | 'trouble'> {
  /** Runs beside the replica, and closes before its connections do. */
  readonly part: Part
}

export function joinDispatchRest(basics: Basics, parts: DispatchRestParts): DispatchRest {
  const { config, settings, clock } = basics
  const { tenancy, containers: store, machines, streams, bell, sealer, types, dispatchMetrics } = parts
  const offered = [...types.values()]
  const rules = rulesOf(config.dispatch!)
  const more = new SubjectBell(bell, containerKind)
  const containers = new ContainerService({
    ...{ store, streams, sealer, rules, tenancy, clock },
    types: () => offered,
    onMore: (uuid, listener) => more.on(uuid, listener),
    isSecret: secretTest(config.lab.secretPatterns),
  })
  const management = new ManagementService({
    ...{ containers: store, machines, rules, whenTagged: parts.whenTagged },
    types: () => offered,
  })
  const managementToken = settings.dispatch?.managementToken
  const onMore = (uuid: string, listener: () => void) => more.on(uuid, listener)
  const { listen, trouble, stop, close, auditor } = joinOwnRest(basics, own => {
    own.draining?.addEventListener('abort', () => tunnel.tunnels.drain())
    const { tunnels, carrier } = tunnel
    const ofContainers = { containers, tunnels, carrier, logMetrics: dispatchMetrics }
    const app = createDispatchApi({ ...own, ...ofContainers, config, management, managementToken })
    return { fetch: (request, env) => app.fetch(request, env), mayUpgrade }
  })
  const metrics = createTunnelMetrics(basics.metrics.registry, () => tunnel.tunnels.open)
  const tunnel = joinTunnels(basics, { containers, onMore, auditor, metrics })
  return {
    part: {
      stop: async () => stop(),
      close: async () => {
        tunnel.close()
        more.close()
        close()
      },
    },
    ...{ listen, trouble },
  }
}
