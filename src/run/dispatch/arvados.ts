/** Joins the mirror of Arvados' queue. It is loaded only where the configuration has `dispatch.queue.arvados`. */
import { createBody } from '../../api/dispatch/schemas.ts'
import type { ArvadosRecord } from '../../arvados/answers.ts'
import { ArvadosClient } from '../../arvados/client.ts'
import type { Translated } from '../../arvados/intake.ts'
import { Mirror } from '../../arvados/mirror.ts'
import { bodyOf } from '../../arvados/wish.ts'
import { failpoint } from '../../base/failpoint.ts'
import { secretTest } from '../../base/secret-env.ts'
import { longestSpec } from '../../containers/service.ts'
import { type ContainerWish, prepare } from '../../containers/wish.ts'
import { type OfferedType, rulesOf } from '../../dispatch/configured.ts'
import { fitOf } from '../../dispatch/fits.ts'
import { MirrorStore } from '../../store/dispatch/mirror.ts'
import { createArvadosMetrics } from '../../telemetry/arvados-metrics.ts'
import type { AuditAction } from '../../telemetry/audit.ts'
import type { Basics } from '../basics.ts'
import type { DispatchStore } from './store.ts'

/** Of one call: Arvados' controller answers within seconds, or with 503. */
const callMs = 15_000
/** As many as Arvados' dispatcher reads at once. */
const mostListed = 1_000

export function joinArvados(basics: Basics, store: DispatchStore, types: ReadonlyMap<string, OfferedType>) {
  const { config, settings, clock, log, auditLog, metrics } = basics
  const { clusterId, CloudVMs, queue, active } = config.dispatch!
  const block = queue.arvados!
  const { token, authorities } = settings.dispatch!.arvados!
  const { connection, keys, sealing, containers, leases, bell } = store
  const counters = createArvadosMetrics(metrics.registry)
  const url = new URL(block.url)
  const onCall = (call: string, outcome: string) => counters.calls.inc({ call, outcome })
  const client = new ArvadosClient({ url, token, authorities, clock, timeoutMs: callMs, onCall })
  const mirrorStore = new MirrorStore({ connection, keys, sealing, clusterId, activeBytes: active.bytes })
  const owner = `arvados:${url.host}`
  const audit = (action: AuditAction, uuid: string) =>
    auditLog?.write({
      ...{ action, result: 'accepted', reason: 'arvados' },
      ...{ actor: { kind: 'controller' }, object: { kind: 'container', name: uuid } },
    })
  const mirror = new Mirror({
    ...{ store: mirrorStore, containers, client, clock, log, owner, mostListed, failpoint },
    ...{ lease: keys.dispatch.mirrorLease, leases, scanMs: config.engine.scanIntervalMs },
    ...{ pollMs: CloudVMs.PollInterval, staleLockMs: block.StaleLockTimeout, mostWaiting: block.maxWaiting },
    ...{ unsupported: block.unsupported, translate: translatorOf(basics, store, { owner, types }) },
    onBad: count => counters.badRecords.inc(count),
    onMirrored: uuid => audit('container.create', uuid),
    onChanged: (what, uuid) => audit(what === 'cancel' ? 'container.cancel' : 'container.change', uuid),
    onRound: ({ mirrored, owed }) => {
      counters.mirrored.set(mirrored)
      counters.owed.set(owed)
    },
  })
  const off = bell.on(ring => mirror.hear(ring))
  return {
    overloadedMs: () => mirrorStore.overloadedMs(),
    part: {
      start: () => mirror.start(),
      stop: () => mirror.stop(),
      close: async () => {
        off()
        await client.close()
      },
    },
  }
}

interface Owning {
  readonly owner: string
  readonly types: ReadonlyMap<string, OfferedType>
}

/** Checks what Arvados has as REST checks what people send. */
function translatorOf({ config }: Basics, { sealer }: DispatchStore, { owner, types }: Owning) {
  const { Containers, queue } = config.dispatch!
  const schema = createBody(config.api.limits, Containers.RuntimeEngine)
  const isSecret = secretTest(config.lab.secretPatterns)
  const rules = rulesOf(config.dispatch!)
  const images = new Map(Object.entries(queue.arvados!.images))
  const withoutImage = Containers.RuntimeEngine === 'process'
  return (record: ArvadosRecord): Translated => {
    const made = bodyOf(record, { images, withoutImage })
    if ('why' in made) return made
    const { data, error } = schema.safeParse(made.body)
    if (!data) return { why: `Skylab cannot run it: ${wordsOf(error.issues[0])}` }
    const wish: ContainerWish = data
    const { view, need, spec } = prepare(wish, owner, isSecret)
    const fit = fitOf(need, [...types.values()], rules)
    if ('none' in fit) return { why: fit.none }
    const text = JSON.stringify(spec)
    if (Buffer.byteLength(text) > longestSpec)
      return { why: `Skylab cannot run it: it is larger than ${longestSpec} bytes` }
    const shape = { need, tenant: 'default', supervisor: wish.scheduling_parameters.supervisor }
    return {
      view,
      shape,
      priority: wish.priority,
      sealSpec: (keyId, name, nonce) => sealer.seal(text, name, nonce, keyId),
    }
  }
}

const wordsOf = (issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined): string =>
  `${issue?.path.slice(0, 2).map(String).join('.')}: ${issue?.message}`
