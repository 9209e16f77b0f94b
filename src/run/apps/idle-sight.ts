/** Shows apps to the idle engine, by what the watches of the process show anyway. */

import type { AppPod } from '../../apps/pods.ts'
import type { AppSpec } from '../../apps/spec.ts'
import { annotationsOf, isStopped } from '../../apps/spec.ts'
import { appOfPod } from '../../apps/watches.ts'
import { type AppWorld, checkedApp } from '../../apps/world.ts'
import { asNumber, asObject, asObjects, asOptionalText, asText } from '../../base/json.ts'
import type { AppSight, SeenApp, SeenPod } from '../../idle/apps/owner.ts'
import type { Stamps } from '../../idle/workloads/workload.ts'
import { keyOf } from '../../kube/cache.ts'
import { stamps } from '../../kube/labels.ts'
import type { Fact } from '../../reconcile/types.ts'

export interface IdleSightOptions {
  readonly world: AppWorld
  /** Milliseconds since each watch heard from the API server. */
  readonly ages: () => { readonly applications?: number; readonly pods?: number }
}

export class IdleSight implements AppSight {
  readonly #options: IdleSightOptions

  constructor(options: IdleSightOptions) {
    this.#options = options
  }

  get(id: string): SeenApp | undefined {
    const { world } = this.#options
    for (const app of world.named(id)) {
      const { spec } = checkedApp(app, world)
      if (spec) return seenApp(app, spec, world)
    }
    return undefined
  }

  *ids(): Iterable<string> {
    for (const { ref } of this.#options.world.sights.applications.values()) yield ref.name
  }

  /** Its label is believed here: the caller compares the name of the pod. */
  ofPod(namespace: string, name: string): string | undefined {
    const pod = this.#options.world.sights.pods.get(keyOf(namespace, name))
    return pod && (appOfPod(pod) || undefined)
  }

  silenceMs(): number {
    const { applications = Number.POSITIVE_INFINITY, pods = Number.POSITIVE_INFINITY } = this.#options.ages()
    return Math.max(applications, pods)
  }
}

function seenApp(app: Fact, spec: AppSpec, world: AppWorld): SeenApp {
  const { ref, uid, resourceVersion, deleting, owned } = app
  const { name: group } = spec.group
  const pod = servingPod(world.podsOf(app))
  return {
    ...{ ref, uid, resourceVersion, deleting, stop: isStopped(app), group, stamps: stampsOf(app) },
    tenant: ref.namespace !== undefined && world.isTenant(ref.namespace) ? ref.namespace : undefined,
    instanceType: asText(asObject(owned.spec).instanceType) || world.settings.apps.defaultInstanceType,
    port: portOf(spec),
    pod: pod && seenPod(pod),
  }
}

function stampsOf(app: Fact): Stamps {
  const annotations = annotationsOf(app)
  const of = (name: string) => asOptionalText(annotations[name])
  return {
    ...{ lastActivity: of(stamps.lastActivity), checked: of(stamps.checked) },
    ...{ stopped: of(stamps.stopped), keepUntil: of(stamps.keepUntil) },
  }
}

const isRunning = ({ phase, deleting }: AppPod): boolean => phase === 'Running' && !deleting

/** Requests go to pods that are ready. If there are several, the newest is taken; one that runs comes before one that ends. */
function servingPod(pods: readonly AppPod[]): AppPod | undefined {
  const rank = (pod: AppPod) => (isRunning(pod) ? 2 : 0) + (pod.idle?.ready === true ? 1 : 0)
  return [...pods].sort((a, b) => rank(b) - rank(a) || b.createdMs - a.createdMs || (a.uid < b.uid ? 1 : -1))[0]
}

const seenPod = (pod: AppPod): SeenPod => ({
  ...{ uid: pod.uid, name: pod.name, running: isRunning(pod) },
  ...{ ready: pod.idle?.ready === true, hostNetwork: pod.idle?.hostNetwork === true },
  ...{ ip: pod.idle?.ip ?? '', image: pod.idle?.image ?? '', startedMs: pod.idle?.startedAtMs ?? 0 },
})

/** The port of the pod behind the web interface. */
function portOf({ http, podTemplate }: AppSpec): number | undefined {
  if (!http || typeof http.targetPort === 'number') return http?.targetPort as number | undefined
  const [container] = asObjects(asObject(podTemplate.spec).containers)
  const named = asObjects(container?.ports).find(({ name }) => name === http.targetPort)
  return asNumber(named?.containerPort) || undefined
}
