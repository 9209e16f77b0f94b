import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { catalogueOf, containers, image } from '../../../test/kit/images/cluster.ts'
import { RetryLater } from '../../base/errors.ts'
import { PrepullStage, quietMs, settled, weekly } from '../testing/prepuller.ts'
import { pullSetName } from './pull-set.ts'

let stage: PrepullStage
let cluster: PrepullStage['cluster']
let store: PrepullStage['store']

beforeEach(() => {
  stage = new PrepullStage()
  ;({ cluster, store } = stage)
})

afterEach(() => stage.close())

describe('Prepuller with the lease', () => {
  test('pulls a missing image, records it and removes the DaemonSet', async () => {
    stage.prepuller().start()
    await settled()
    expect(cluster.writes).toEqual(['create w_2026_01: kwok-1 kwok-2'])
    cluster.setPod('w_2026_01', 'kwok-1', containers.running)
    await stage.pass(300)
    expect(cluster.writes).toHaveLength(1)
    cluster.setPod('w_2026_01', 'kwok-2', containers.running)
    await stage.pass(300)
    expect(cluster.writes.slice(1)).toEqual(['delete w_2026_01: kwok-1 kwok-2'])
    expect(stage.log.messages).toEqual(['info: an image is pulled onto nodes', 'info: an image is on all nodes'])
    await stage.pass(20_000)
    expect(cluster.writes).toHaveLength(2)
  })

  test('serves a joining node at once', async () => {
    stage.prepuller().start()
    await stage.pass(quietMs)
    cluster.setNode('kwok-3')
    await settled()
    expect(cluster.writes.slice(1)).toEqual(['patch w_2026_01: kwok-1 kwok-2 kwok-3'])
    cluster.pullAll()
    await stage.pass(300)
    cluster.setNode('kwok-4')
    await stage.pass(300)
    expect(cluster.writes.slice(2)).toEqual(['delete w_2026_01: kwok-1 kwok-2 kwok-3', 'create w_2026_01: kwok-4'])
  })

  test('makes a DaemonSet again after others deleted it', async () => {
    stage.prepuller().start()
    await settled()
    cluster.removeSet(pullSetName('north', weekly))
    await stage.pass(300)
    expect(cluster.writes).toEqual(Array(2).fill('create w_2026_01: kwok-1 kwok-2'))
  })

  test('records a failed pull, and tries again after the wait', async () => {
    stage.prepuller('one', {}, { retrySeconds: 20 }).start()
    await settled()
    for (const name of ['kwok-1', 'kwok-2']) cluster.setPod('w_2026_01', name, containers.failing('x: not found'))
    await stage.pass(300)
    expect(cluster.writes.slice(1)).toEqual(['delete w_2026_01: kwok-1 kwok-2'])
    const status = await stage.prepuller('two').status(stage.catalogue!)
    expect(status.pending[0]!.error).toContain('it does not exist')
    expect(stage.log.messages).toContain('warn: an image could not be pulled')
    await stage.pass(19_000)
    expect(cluster.writes).toHaveLength(2)
    await stage.pass(2000)
    expect(cluster.writes.slice(2)).toEqual(['create w_2026_01: kwok-1 kwok-2'])
  })

  test('counts a failed pull once, and the image as failing until it is pulled', async () => {
    const one = stage.prepuller('one', {}, { retrySeconds: 20 })
    one.start()
    await settled()
    expect(await stage.counted()).toEqual({ failed: 0, refused: 0, failing: 0 })
    for (const name of ['kwok-1', 'kwok-2']) cluster.setPod('w_2026_01', name, containers.failing('x: not found'))
    await stage.pass(15_000)
    expect(await stage.counted()).toEqual({ failed: 1, refused: 0, failing: 1 })
    await stage.pass(6000)
    expect(await stage.counted()).toEqual({ failed: 1, refused: 0, failing: 1 })
    cluster.pullAll()
    await stage.pass(300)
    expect(await stage.counted()).toEqual({ failed: 1, refused: 0, failing: 0 })
  })

  test('resets the metric of failing images when it stops', async () => {
    const one = stage.prepuller()
    one.start()
    await settled()
    for (const name of ['kwok-1', 'kwok-2']) cluster.setPod('w_2026_01', name, containers.failing('x: not found'))
    await stage.pass(300)
    expect((await stage.counted()).failing).toBe(1)
    await one.stop()
    expect((await stage.counted()).failing).toBe(0)
    stage.prepuller('two').start()
    await settled()
    expect(await stage.counted()).toEqual({ failed: 1, refused: 0, failing: 1 })
  })

  test('gives up a pull that takes too long', async () => {
    stage.prepuller('one', {}, { timeoutSeconds: 30, retrySeconds: 1000 }).start()
    await settled()
    await stage.pass(29_000)
    expect(cluster.writes).toHaveLength(1)
    await stage.pass(1500)
    expect(cluster.writes.slice(1)).toEqual(['delete w_2026_01: kwok-1 kwok-2'])
  })

  test('notices a changed catalogue on a wake, or soon by itself', async () => {
    const one = stage.prepuller()
    one.start()
    await stage.pass(quietMs)
    stage.catalogue = catalogueOf(image('w_2026_02', 'b'))
    one.wake()
    await settled()
    expect(cluster.writes.slice(1).toSorted()).toEqual([
      'create w_2026_02: kwok-1 kwok-2',
      'delete w_2026_01: kwok-1 kwok-2',
    ])
    stage.catalogue = catalogueOf()
    await stage.pass(10_500)
    expect(cluster.setsByName.size).toBe(0)
  })

  test('neither makes nor removes anything without a catalogue', async () => {
    const one = stage.prepuller()
    one.start()
    await stage.pass(300)
    stage.catalogue = null
    cluster.setNode('kwok-3')
    await stage.pass(10_500)
    expect(cluster.writes).toHaveLength(1)
    expect(stage.log.messages).toEqual(['info: an image is pulled onto nodes'])
  })

  test('ends all pulls when prepulling is disabled', async () => {
    const one = stage.prepuller()
    one.start()
    await settled()
    await one.stop()
    stage.prepuller('two', {}, { enabled: false }).start()
    await stage.pass(300)
    expect(cluster.writes.slice(1)).toEqual(['delete w_2026_01: kwok-1 kwok-2'])
  })
})

describe('Prepuller.status', () => {
  test('throws RetryLater while the nodes are not known', async () => {
    cluster.ready = () => false
    await expect(stage.prepuller().status(stage.catalogue!)).rejects.toThrow(RetryLater)
  })

  test('reads the records after the cluster, so that it misses no pull', async () => {
    const order: string[] = []
    const view = new Proxy(cluster, {
      get(target, name, receiver) {
        if (name === 'pods') order.push('pods')
        return Reflect.get(target, name, receiver)
      },
    })
    const read = () => {
      order.push('records')
      return store.read()
    }
    const reading = { lease: '', write: async () => true, read }
    await stage.prepuller('one', { view, store: reading }).status(stage.catalogue!)
    expect(order).toEqual(['pods', 'records'])
  })
})
