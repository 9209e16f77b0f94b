import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../base/domain.ts'
import { KubeError } from '../kube/client.ts'
import { readStanding } from './reading.ts'
import { FakeCluster, fakeContext, names } from './testing/cluster.ts'

const forbidden = new KubeError(403, 'Forbidden', 'secrets "nb-ada" is forbidden: cannot get resource')
const owner = { apiVersion: 'v1', kind: 'Namespace', name: names.namespace, uid: 'n' }
const objectOf = (kind: string): KubeObject => ({
  ...{ apiVersion: 'v1', kind },
  metadata: {
    name: names.lab,
    namespace: names.namespace,
    labels: { a: 'b' },
    annotations: {},
    ownerReferences: [owner],
  },
})

/** An API server that refuses this many reads, and answers creations of bindings with these, repeating the last one. */
function reading(refusals: number, ...bindings: (KubeError | null)[]) {
  const requests: string[] = []
  const made: KubeObject[] = []
  const kube = {
    ...new FakeCluster().kube,
    create: async (object: KubeObject) => {
      requests.push(`create ${object.kind}`)
      made.push(object)
      const answer = bindings.length > 1 ? bindings.shift() : bindings[0]
      if (answer) throw answer
      return object
    },
    get: async ({ kind }: { kind: string }) => {
      requests.push(`get ${kind}`)
      if (refusals-- > 0) throw forbidden
      return objectOf(kind)
    },
  }
  const { context, clock } = fakeContext(new FakeCluster(), {
    known: { namespaceUid: 'n', podUid: undefined, doubt: false },
    kube: kube as never,
  })
  const read = async (kind = 'Secret') => {
    const reading = readStanding(context, objectOf(kind))
    let over = false
    const end = () => {
      over = true
    }
    reading.then(end, end)
    for (let i = 0; i < 100 && !over; i++) {
      await new Promise(resolve => setImmediate(resolve))
      clock.advance(2000)
    }
    return reading
  }
  return { requests, made, context, read }
}

describe('readStanding', () => {
  it('binds the controller itself, to the one role, by an object of this operation', async () => {
    const { made, read } = reading(0)
    await read()
    const { labels, ownerReferences, namespace } = objectOf('Secret').metadata
    expect(made).toEqual([
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'skylab-lab', namespace, labels, annotations: {}, ownerReferences },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'skylab-lab' },
        subjects: [{ kind: 'ServiceAccount', name: 'skylab', namespace: 'skylab' }],
      },
    ])
  })

  it('binds once per namespace', async () => {
    const { requests, context, read } = reading(0)
    await read()
    await read()
    expect(requests).toEqual(['create RoleBinding', 'get Secret', 'get Secret'])
    context.known.namespaceUid = 'm'
    await read()
    expect(requests.slice(3)).toEqual(['create RoleBinding', 'get Secret'])
  })

  it('binds once when several objects are read at once', async () => {
    const { requests, context } = reading(0)
    await Promise.all(['Secret', 'Service'].map(kind => readStanding(context, objectOf(kind))))
    expect(requests.toSorted()).toEqual(['create RoleBinding', 'get Secret', 'get Service'])
  })

  it('binds anew for the next read when the API server did not answer', async () => {
    const { requests, context, read } = reading(0, new KubeError(500, 'InternalError', 'away'), null)
    await expect(readStanding(context, objectOf('Secret'))).rejects.toThrow('away')
    await read()
    expect(requests).toEqual(['create RoleBinding', 'create RoleBinding', 'get Secret'])
  })

  it('makes no binding to read a pod', async () => {
    const { requests, read } = reading(0)
    await read('Pod')
    expect(requests).toEqual(['get Pod'])
  })

  it('reads again while the right is not in force yet', async () => {
    const { requests, read } = reading(2)
    await read()
    expect(requests).toEqual(['create RoleBinding', 'get Secret', 'get Secret', 'get Secret'])
  })

  it('binds again when the existing binding gave no right', async () => {
    const exists = new KubeError(409, 'AlreadyExists', 'it stands already')
    const { requests, read } = reading(4, exists, null)
    await read()
    expect(requests.filter(each => each === 'create RoleBinding')).toHaveLength(2)
  })

  it('reads without a binding when it cannot bind and an older role has the right', async () => {
    const { requests, read } = reading(0, forbidden)
    await read()
    expect(requests).toEqual(['create RoleBinding', 'get Secret'])
  })

  it('gives up with the API server’s message', async () => {
    const { requests, read } = reading(Number.POSITIVE_INFINITY)
    await expect(read()).rejects.toBe(forbidden)
    expect(requests.filter(each => each === 'get Secret')).toHaveLength(8)
  })
})
