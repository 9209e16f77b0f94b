/** An owner of apps with one that runs, whose watches, Redis and API server a test plays. */
import type { KubeObject } from '../../../base/domain.ts'
import { stamps } from '../../../kube/labels.ts'
import type { StopRefusal } from '../../../store/idle.ts'
import { AppOwner, type SeenApp, type SeenPod } from '../owner.ts'

export const id = 'mlflow'
/** Both times, as the watch shows them. */
export const both = { lastActivity: 'a', checked: 'b' }
export const ref = { apiVersion: 'primehub.io/v1alpha1', kind: 'PhApplication', namespace: 'hub', name: id }
export const removed = { [stamps.lastActivity]: null, [stamps.checked]: null }

export const seenPod = (more: Partial<SeenPod> = {}): SeenPod => ({
  ...{ uid: 'pod', name: 'app-mlflow-1-2', running: true, ready: true, hostNetwork: false, ip: '10.0.0.7' },
  ...{ image: 'mlflow:1', startedMs: 7 },
  ...more,
})

export const seenApp = (more: Partial<SeenApp> = {}): SeenApp => ({
  ...{ ref, uid: 'app', resourceVersion: '1', deleting: false, stop: false, group: 'phusers', tenant: undefined },
  ...{ instanceType: 'small', port: 5000, stamps: both, pod: seenPod() },
  ...more,
})

export interface Parts {
  readonly answer?: 'requested' | StopRefusal
  readonly patch?: () => KubeObject | null
  readonly stampPolicy?: 'always' | 'off'
}

const written: KubeObject = { ...ref, metadata: { name: id } }

export function appOwnerWorld({ answer = 'requested', patch, stampPolicy = 'always' }: Parts = {}) {
  const apps = new Map([[id, seenApp()]])
  const calls: unknown[] = []
  const stopped: unknown[] = []
  const told: string[] = []
  const withdrawn: string[] = []
  const read = { activity: undefined, floorMs: 0, nowMs: 1, touches: 0, trafficIsUntold: false }
  const owner = new AppOwner({
    stampPolicy,
    sight: {
      get: of => apps.get(of),
      ids: () => apps.keys(),
      ofPod: (namespace, name) => (namespace === 'hub' && name.startsWith('app-mlflow-') ? id : undefined),
      silenceMs: () => 0,
    },
    store: {
      read: async () => read,
      requestStop: async () => answer,
      tellStop: async ({ id: of }) => void told.push(of),
      withdrawStop: async ({ id: of }) => void withdrawn.push(of),
    },
    kube: {
      patch: async ({ kind, namespace, name, uid }, body, { resourceVersion, check } = {}) => {
        check?.()
        calls.push([`${kind} ${namespace}/${name}`, uid, resourceVersion, body])
        return patch ? patch() : written
      },
    },
    prefixOf: of => `/console/apps/${of}/`,
    failpoint: async (point, of) => void calls.push(`${point} ${of}`),
    onStopped: ({ uid }, object) => void stopped.push([uid, object]),
  })
  const show = (more: Partial<SeenApp>) => apps.set(id, seenApp(more))
  const known = async () => (await owner.read(owner.facts(id)!))!
  return { apps, owner, calls, stopped, told, withdrawn, show, known, written }
}
