import { describe, expect, it } from 'vitest'
import { Listeners } from '../base/listeners.ts'
import type { Change as ReflectorChange } from '../kube/picture.ts'
import { projectNamespace, projectPod } from '../kube/pods/project.ts'
import type { Change } from './cluster.ts'
import { namespaceObject, podObject } from './testing/cluster.ts'
import { clusterView } from './view.ts'
import type { Watches } from './watches.ts'

/** A view of watches whose changes the test makes. */
function makeView() {
  const reflector = () => new Listeners<ReflectorChange<unknown>>()
  const watches = { namespaces: reflector(), pods: reflector(), podEvents: reflector() }
  const asWatch = (listeners: Listeners<ReflectorChange<unknown>>) => ({ on: listeners.add.bind(listeners) })
  const view = clusterView({
    ...{ namespaces: asWatch(watches.namespaces), pods: asWatch(watches.pods) },
    podEvents: asWatch(watches.podEvents),
  } as unknown as Watches)
  return { view, ...watches }
}

const namespace = projectNamespace(namespaceObject())
const pod = projectPod(podObject())
const aboutNamespace = { namespace: '', name: namespace.name, uid: namespace.uid, value: namespace }
const aboutPod = { namespace: pod.namespace, name: pod.name, uid: pod.uid, value: pod }

describe('clusterView', () => {
  it('notifies the listeners of a namespace of the namespace, its pods and their events, and of no other', () => {
    const { view, namespaces, pods, podEvents } = makeView()
    const [all, ours, others]: [Change[], Change[], Change[]] = [[], [], []]
    view.onChange(change => all.push(change))
    const off = view.onChangeOf(namespace.name, change => ours.push(change))
    view.onChangeOf('another', change => others.push(change))
    namespaces.notify({ type: 'put', ...aboutNamespace })
    pods.notify({ type: 'gone', ...aboutPod, confirmed: true })
    pods.notify({ type: 'gone', ...aboutPod, confirmed: false })
    podEvents.notify({ type: 'put', namespace: namespace.name, name: 'event', uid: 'u', value: {} })
    expect(ours).toEqual([
      { namespace: namespace.name },
      { namespace: namespace.name, podUid: pod.uid, pod, missing: false, goneUid: pod.uid },
      { namespace: namespace.name, podUid: pod.uid, pod, missing: true },
      { namespace: namespace.name },
    ])
    expect(all).toEqual(ours)
    expect(others).toEqual([])
    off()
    namespaces.notify({ type: 'gone', ...aboutNamespace, confirmed: true })
    expect(ours).toHaveLength(4)
    expect(all.at(-1)).toEqual({ namespace: namespace.name, goneUid: namespace.uid })
  })

  it('notifies the listeners of a namespace when a listener of all fails', () => {
    const { view, namespaces } = makeView()
    let told = 0
    view.onChange(() => {
      throw new Error('a bug')
    })
    view.onChangeOf(namespace.name, () => told++)
    expect(() => namespaces.notify({ type: 'put', ...aboutNamespace })).toThrow('a bug')
    expect(told).toBe(1)
  })
})
