/** Prepulling by several replicas, some of which die, and with an API server that refuses. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { catalogueOf, containers, image } from '../../../test/kit/images/cluster.ts'
import { RetryLater } from '../../base/errors.ts'
import { configSchema } from '../../config/schema.ts'
import { KubeError } from '../../kube/client.ts'
import { PrepullStage, quietMs, settled, weekly } from '../testing/prepuller.ts'
import type { PrepullerOptions } from './prepuller.ts'
import { renderPullSet } from './pull-set.ts'

let stage: PrepullStage
let cluster: PrepullStage['cluster']
let store: PrepullStage['store']

beforeEach(() => {
  stage = new PrepullStage()
  ;({ cluster, store } = stage)
})

afterEach(() => stage.close())

describe('Prepuller, with several replicas:', () => {
  test('one acts, and another goes on when it has stopped', async () => {
    const [one, two] = [stage.prepuller('one'), stage.prepuller('two')]
    one.start()
    two.start()
    await stage.pass(2000)
    expect(cluster.writes).toHaveLength(1)
    expect(store.holder).toBe('one')
    await one.stop()
    await stage.pass(2000)
    expect(store.holder).toBe('two')
    cluster.pullAll()
    await stage.pass(500)
    expect(cluster.writes.slice(1)).toEqual(['delete w_2026_01: kwok-1 kwok-2'])
  })

  test('one that has lost the lease stops, and its write is refused', async () => {
    stage.prepuller('one').start()
    await stage.pass(300)
    store.holder = 'other'
    cluster.pullAll()
    await stage.pass(300)
    expect(cluster.writes).toHaveLength(1)
    expect(store.records.prepulled.size).toBe(0)
  })

  test('one that has lost the lease does nothing, even without a record to write', async () => {
    stage.prepuller('one').start()
    await stage.pass(quietMs)
    store.holder = 'other'
    store.write = async () => true
    cluster.setNode('kwok-3')
    await stage.pass(quietMs)
    expect(cluster.writes).toHaveLength(1)
  })

  test.each(['pulled', 'failed'])('the record of one that died counts once: %s', async outcome => {
    const dead = Promise.withResolvers<void>()
    let pulls = 0
    const failpoint = (place: string) => {
      const dies = place === 'prepull.recorded' && pulls > 0
      return dies ? dead.promise : undefined
    }
    stage.prepuller('one', { failpoint }).start()
    await stage.pass(quietMs)
    for (const name of ['kwok-1', 'kwok-2']) {
      cluster.setPod('w_2026_01', name, outcome === 'pulled' ? containers.running : containers.failing('no'))
      pulls += 1
    }
    await stage.pass(quietMs)
    expect(cluster.writes).toHaveLength(1)
    const recorded = store.records
    store.holder = ''
    stage.prepuller('two').start()
    await stage.pass(quietMs)
    expect(cluster.writes.slice(1)).toEqual(['delete w_2026_01: kwok-1 kwok-2'])
    expect(store.records).toEqual(recorded)
    expect([recorded.prepulled.size, recorded.failures.size]).toEqual(outcome === 'pulled' ? [1, 0] : [0, 1])
    dead.resolve()
  })

  test('one adopts a DaemonSet that another has just made', async () => {
    cluster.beforeCreate = object => {
      cluster.beforeCreate = () => {}
      cluster.setsByName.set(object.metadata.name, { ...object, metadata: { ...object.metadata, uid: 'theirs' } })
    }
    stage.prepuller().start()
    await settled()
    expect(cluster.writes).toEqual([])
    expect(stage.log.messages).toEqual([])
    expect(cluster.sets()[0]).toMatchObject({ uid: 'theirs', nodes: ['kwok-1', 'kwok-2'] })
  })

  test('one extends a DaemonSet that another made for fewer nodes', async () => {
    cluster.beforeCreate = object => {
      cluster.beforeCreate = () => {}
      const fewer = renderPullSet({
        ...{ config: configSchema.parse({ installation: 'north' }), namespace: 'sky' },
        ...{ image: weekly, nodes: ['kwok-1'], begunMs: 1 },
      })
      const metadata = { ...fewer.metadata, uid: 'theirs', resourceVersion: '1' }
      cluster.setsByName.set(object.metadata.name, { ...fewer, metadata })
    }
    stage.prepuller().start()
    await settled()
    expect(cluster.writes).toEqual(['patch w_2026_01: kwok-1 kwok-2'])
  })
})

describe('Prepuller, when the API server refuses,', () => {
  /** A cluster with a different answer to patches. */
  const patching = (patch: PrepullerOptions['kube']['patch']): PrepullerOptions['kube'] => ({
    create: object => cluster.create(object),
    get: ref => cluster.get(ref),
    delete: ref => cluster.delete(ref),
    patch,
  })

  test('decides again when another DaemonSet has the name', async () => {
    let patches = 0
    const kube = patching((ref, body) => {
      patches += 1
      if (patches > 1) return cluster.patch(ref, body)
      const standing = cluster.setsByName.get(ref.name)!
      cluster.setsByName.set(ref.name, { ...standing, metadata: { ...standing.metadata, uid: 'theirs' } })
      return cluster.patch(ref, body)
    })
    stage.prepuller('one', { kube }).start()
    await stage.pass(quietMs)
    cluster.setNode('kwok-3')
    await stage.pass(quietMs)
    expect(cluster.writes.slice(1)).toEqual([])
    cluster.setNode('kwok-4')
    await stage.pass(quietMs)
    expect(cluster.writes.slice(1)).toEqual(['patch w_2026_01: kwok-1 kwok-2 kwok-3 kwok-4'])
    expect(store.records.failures.size).toBe(0)
  })

  test('tries a conflicting patch again, without a failure of the image', async () => {
    let conflicts = 1
    const kube = patching((ref, body) => {
      conflicts -= 1
      if (conflicts >= 0) throw new KubeError(409, 'Conflict', 'the object has been modified')
      return cluster.patch(ref, body)
    })
    stage.prepuller('one', { kube }).start()
    await stage.pass(quietMs)
    cluster.setNode('kwok-3')
    await stage.pass(3000)
    expect(cluster.writes.slice(1)).toEqual(['patch w_2026_01: kwok-1 kwok-2 kwok-3'])
    expect(store.records.failures.size).toBe(0)
  })

  test('lets a refused node wait while the others go on', async () => {
    const kube = patching(async () => {
      throw new KubeError(403, 'Forbidden', 'no patches today')
    })
    stage.prepuller('one', { kube }).start()
    await stage.pass(quietMs)
    cluster.setNode('kwok-3')
    await stage.pass(quietMs)
    const failures = [...store.records.failures.values()]
    expect(failures).toEqual([expect.objectContaining({ nodes: ['uid-kwok-3'], attempts: 1 })])
    cluster.pullAll()
    await stage.pass(quietMs)
    expect([...store.records.prepulled.values()].map(({ size }) => size)).toEqual([2])
  })

  test('records a refusal as a failure with its reason, and goes on with other images', async () => {
    stage.catalogue = catalogueOf(weekly, image('d', 'd'))
    cluster.beforeCreate = object => {
      if (JSON.stringify(object).includes('w_2026_01')) throw new KubeError(403, 'Forbidden', 'exceeded quota')
    }
    stage.prepuller().start()
    await stage.pass(300)
    expect(cluster.writes).toEqual(['create d: kwok-1 kwok-2'])
    const { pending } = await stage.prepuller('two').status(stage.catalogue!)
    expect(pending[0]!.error).toBe('The cluster refuses the pull: exceeded quota')
    expect(pending[1]!.error).toBeUndefined()
    expect(await stage.counted()).toEqual({ failed: 0, refused: 1, failing: 1 })
  })

  test('leaves the lease to another replica when the API server is silent', async () => {
    cluster.beforeCreate = () => {
      throw new RetryLater('Kubernetes does not answer')
    }
    stage.prepuller().start()
    await settled()
    expect(store.holder).toBe('')
    expect(stage.log.messages).toEqual(['warn: prepulling is put off'])
    cluster.beforeCreate = () => {}
    await stage.pass(2000)
    expect(cluster.writes).toHaveLength(1)
  })
})
