/** One half of a pair: a new Hub spawns and stops all users' servers at once; measures what this used. */
import { statSync } from 'node:fs'
import { createdBy } from '../measure/audit.ts'
import { type Memory, memoryOf, restartPeak, type Usage, usedBetween } from '../measure/usage.ts'
import type { HubQuestion, SpawnResult } from './load.ts'
import { type Profiler, profileHub } from './profile.ts'
import type { OpenHub, Site, Spawner } from './site.ts'

/** The first spawns of a Hub take longer: imports and connections are made once. */
const warmUpUsers = 5

export interface HubHalf {
  readonly spawned: SpawnResult
  readonly usage: Usage
  /** Number of Kubernetes objects of the labs. */
  readonly objects: number
  /** Memory of the Hub: before the first spawn, and with all servers running. */
  readonly memory: { readonly before: Memory; readonly after: Memory }
  /** Memory of all replicas together, in MiB. */
  readonly replicasMib: { readonly before: number; readonly after: number }
  readonly stopped: { readonly seconds: number; readonly usage: Usage }
  /** Warnings of the Hub from the first spawn on, as lines of its log. */
  readonly warnings: readonly string[]
}

/** The account that creates labs at the API server, by spawner. */
const accounts: Readonly<Record<Spawner, string>> = {
  skylab: 'system:serviceaccount:skylab:skylab',
  kubespawner: 'system:serviceaccount:kubespawner:hub',
  hooks: 'system:serviceaccount:kubespawner:hooks',
}

/** Options of the users. kubespawner is configured to give every user the same. */
const optionsOf: Readonly<Record<Spawner, object>> = {
  skylab: { image_type: 'recommended', size: 'small' },
  kubespawner: {},
  hooks: {},
}

export async function hubHalf(site: Site, spawner: Spawner, profiles?: string): Promise<HubHalf> {
  const hub = await site.openHub(spawner)
  try {
    const ask = <T>(question: HubQuestion) => site.load.ask<T>(question)
    const common = { hub: hub.address, names: site.users.map(({ name }) => name), options: optionsOf[spawner] }
    await ask({ ...common, do: 'login', users: site.users })
    const few = { ...common, names: common.names.slice(0, warmUpUsers) }
    await ask({ ...few, do: 'spawn' })
    await ask({ ...few, do: 'stop' })
    await site.untilGone()
    const profiler = profiles === undefined ? undefined : profileHub(site.environment, hub.pid(), profiles, spawner)
    const half = await measured(site, spawner, hub, {
      spawn: () => ask<SpawnResult>({ ...common, do: 'spawn' }),
      stop: () => ask<number>({ ...common, do: 'stop' }),
      profiler,
    })
    await site.untilGone()
    return half
  } finally {
    await hub.close()
  }
}

interface Work {
  spawn(): Promise<SpawnResult>
  stop(): Promise<number>
  readonly profiler: Profiler | undefined
}

async function measured(site: Site, spawner: Spawner, hub: OpenHub, work: Work): Promise<HubHalf> {
  const { stack } = site
  const auditLog = stack.cluster.auditLog!
  const replicasMib = () => stack.replicas.reduce((sum, { pid }) => sum + memoryOf(pid).nowMib, 0)
  restartPeak(hub.pid())
  const [before, replicasBefore] = [memoryOf(hub.pid()), replicasMib()]
  const [from, logged] = [statSync(auditLog).size, hub.log().length]
  const idle = site.usage()
  const spawned = await work.spawn()
  const running = site.usage()
  const [after, replicasAfter] = [memoryOf(hub.pid()), replicasMib()]
  await work.profiler?.stop()
  const objects = await createdBy(accounts[spawner], auditLog, from)
  const stopping = site.usage()
  const seconds = await work.stop()
  return {
    ...{ spawned, objects, memory: { before, after } },
    usage: usedBetween(idle, running),
    replicasMib: { before: replicasBefore, after: replicasAfter },
    stopped: { seconds, usage: usedBetween(stopping, site.usage()) },
    warnings: hub
      .log()
      .slice(logged)
      .split('\n')
      .filter(line => /^\[[WEC] /.test(line)),
  }
}
