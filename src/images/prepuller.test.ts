import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { configSchema } from '../config/schema.ts'
import { RetryLater } from '../errors.ts'
import { KubeError } from '../kube/client.ts'
import { ManualClock } from '../kube/testing/clock.ts'
import { keepingLog } from '../kube/testing/log.ts'
import type { PrepullReading, PrepullRecords } from '../store/prepulls.ts'
import { Prepuller, type PrepullerOptions } from './prepuller.ts'
import { pullSetName, renderPullSet } from './pull-set.ts'
import { catalogueOf, containers, FakeCluster, image } from './testing/cluster.ts'
import type { Catalogue } from './types.ts'

/** What Redis would hold, and the one lease. */
class FakeStore {
  readonly lease = 'lease'
  records: PrepullRecords = { prepulled: new Map(), failures: new Map() }
  holder = ''
  readonly #clock: ManualClock

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  async read(token = ''): Promise<PrepullReading> {
    return { held: token !== '' && token === this.holder, nowMs: this.#clock.wallMs(), records: this.records }
  }

  async write(token: string, _before: PrepullRecords, after: PrepullRecords): Promise<boolean> {
    if (token !== this.holder) return false
    this.records = after
    return true
  }

  /** A replica, as far as leases go. */
  replica(name: string): PrepullerOptions['leases'] {
    return {
      acquireTask: async () => {
        if (this.holder && this.holder !== name) return null
        this.holder = name
        const release = async () => {
          if (this.holder === name) this.holder = ''
        }
        return { token: name, release }
      },
    }
  }
}

let clock: ManualClock
let cluster: FakeCluster
let store: FakeStore
let log: ReturnType<typeof keepingLog>
let catalogue: Catalogue | null
let running: Prepuller[]

const weekly = image('w_2026_01')

function prepuller(name = 'one', more: Partial<PrepullerOptions> = {}, prepull: object = {}): Prepuller {
  const config = configSchema.parse({ installation: 'north', images: { prepull } })
  const made = new Prepuller({
    ...{ config, namespace: 'sky', view: cluster, kube: cluster, store, leases: store.replica(name) },
    ...{ catalogue: async () => catalogue, clock, log, failpoint: () => {} },
    ...more,
  })
  running.push(made)
  return made
}

/** After so long nothing is gathered any more: news are looked at at once. */
const quietMs = 1000

/** Lets everything happen that waits for nothing but its turn. */
const settled = () => new Promise<void>(resolve => setImmediate(resolve))

/** Lets a time pass in steps short enough for each sleeper. */
async function pass(ms: number): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= 50) {
    await settled()
    clock.advance(Math.min(50, leftMs))
  }
  await settled()
}

beforeEach(() => {
  clock = new ManualClock()
  cluster = new FakeCluster()
  store = new FakeStore(clock)
  log = keepingLog()
  catalogue = catalogueOf(weekly)
  running = []
  for (const name of ['kwok-1', 'kwok-2']) cluster.setNode(name)
})

afterEach(() => Promise.all(running.map(each => each.stop())))

describe('the replica that holds the lease', () => {
  test('pulls what is missing, records it and removes the DaemonSet', async () => {
    prepuller().start()
    await settled()
    expect(cluster.writes).toEqual(['create w_2026_01: kwok-1 kwok-2'])
    cluster.setPod('w_2026_01', 'kwok-1', containers.running)
    await pass(300)
    expect(cluster.writes).toHaveLength(1)
    cluster.setPod('w_2026_01', 'kwok-2', containers.running)
    await pass(300)
    expect(cluster.writes.slice(1)).toEqual(['delete w_2026_01: kwok-1 kwok-2'])
    expect(log.messages).toEqual(['info: an image is pulled onto nodes', 'info: an image is on all nodes'])
    await pass(20_000)
    expect(cluster.writes).toHaveLength(2)
  })

  test('serves a node that joins at once', async () => {
    prepuller().start()
    await pass(quietMs)
    cluster.setNode('kwok-3')
    await settled()
    expect(cluster.writes.slice(1)).toEqual(['patch w_2026_01: kwok-1 kwok-2 kwok-3'])
    cluster.pullAll()
    await pass(300)
    cluster.setNode('kwok-4')
    await pass(300)
    expect(cluster.writes.slice(2)).toEqual(['delete w_2026_01: kwok-1 kwok-2 kwok-3', 'create w_2026_01: kwok-4'])
  })

  test('makes a DaemonSet again that somebody deleted', async () => {
    prepuller().start()
    await settled()
    cluster.removeSet(pullSetName('north', weekly))
    await pass(300)
    expect(cluster.writes).toEqual(Array(2).fill('create w_2026_01: kwok-1 kwok-2'))
  })

  test('records a failed pull, and tries again when its time has come', async () => {
    prepuller('one', {}, { retrySeconds: 20 }).start()
    await settled()
    for (const name of ['kwok-1', 'kwok-2']) cluster.setPod('w_2026_01', name, containers.failing('x: not found'))
    await pass(300)
    expect(cluster.writes.slice(1)).toEqual(['delete w_2026_01: kwok-1 kwok-2'])
    const status = await prepuller('two').status(catalogue!)
    expect(status.pending[0]!.error).toContain('it does not exist')
    expect(log.messages).toContain('warn: an image could not be pulled')
    await pass(19_000)
    expect(cluster.writes).toHaveLength(2)
    await pass(2000)
    expect(cluster.writes.slice(2)).toEqual(['create w_2026_01: kwok-1 kwok-2'])
  })

  test('gives up a pull that takes too long', async () => {
    prepuller('one', {}, { timeoutSeconds: 30, retrySeconds: 1000 }).start()
    await settled()
    await pass(29_000)
    expect(cluster.writes).toHaveLength(1)
    await pass(1500)
    expect(cluster.writes.slice(1)).toEqual(['delete w_2026_01: kwok-1 kwok-2'])
  })

  test('sees a catalogue that has changed when it is told, or soon by itself', async () => {
    const one = prepuller()
    one.start()
    await pass(quietMs)
    catalogue = catalogueOf(image('w_2026_02', 'b'))
    one.poke()
    await settled()
    expect(cluster.writes.slice(1).toSorted()).toEqual([
      'create w_2026_02: kwok-1 kwok-2',
      'delete w_2026_01: kwok-1 kwok-2',
    ])
    catalogue = catalogueOf()
    await pass(10_500)
    expect(cluster.setsByName.size).toBe(0)
  })

  test('neither makes nor removes anything without a catalogue', async () => {
    const one = prepuller()
    one.start()
    await pass(300)
    catalogue = null
    cluster.setNode('kwok-3')
    await pass(10_500)
    expect(cluster.writes).toHaveLength(1)
    expect(log.messages).toEqual(['info: an image is pulled onto nodes'])
  })

  test('where prepulling is switched off ends what there is', async () => {
    const one = prepuller()
    one.start()
    await settled()
    await one.stop()
    prepuller('two', {}, { enabled: false }).start()
    await pass(300)
    expect(cluster.writes.slice(1)).toEqual(['delete w_2026_01: kwok-1 kwok-2'])
  })
})

describe('among replicas', () => {
  test('one acts, and another goes on when it has stopped', async () => {
    const [one, two] = [prepuller('one'), prepuller('two')]
    one.start()
    two.start()
    await pass(2000)
    expect(cluster.writes).toHaveLength(1)
    expect(store.holder).toBe('one')
    await one.stop()
    await pass(2000)
    expect(store.holder).toBe('two')
    cluster.pullAll()
    await pass(500)
    expect(cluster.writes.slice(1)).toEqual(['delete w_2026_01: kwok-1 kwok-2'])
  })

  test('one that has lost the lease stops, and what it wrote is not taken', async () => {
    prepuller('one').start()
    await pass(300)
    store.holder = 'other'
    cluster.pullAll()
    await pass(300)
    expect(cluster.writes).toHaveLength(1)
    expect(store.records.prepulled.size).toBe(0)
  })

  test('one that has lost the lease does nothing, even where there is nothing to record', async () => {
    prepuller('one').start()
    await pass(quietMs)
    store.holder = 'other'
    store.write = async () => true
    cluster.setNode('kwok-3')
    await pass(quietMs)
    expect(cluster.writes).toHaveLength(1)
  })

  test.each(['pulled', 'failed'])('what one recorded before it died counts once: %s', async outcome => {
    const dead = Promise.withResolvers<void>()
    let pulls = 0
    const failpoint = (place: string) => {
      const dies = place === 'prepull.recorded' && pulls > 0
      return dies ? dead.promise : undefined
    }
    prepuller('one', { failpoint }).start()
    await pass(quietMs)
    for (const name of ['kwok-1', 'kwok-2']) {
      cluster.setPod('w_2026_01', name, outcome === 'pulled' ? containers.running : containers.failing('no'))
      pulls += 1
    }
    await pass(quietMs)
    expect(cluster.writes).toHaveLength(1)
    const recorded = store.records
    store.holder = ''
    prepuller('two').start()
    await pass(quietMs)
    expect(cluster.writes.slice(1)).toEqual(['delete w_2026_01: kwok-1 kwok-2'])
    expect(store.records).toEqual(recorded)
    expect([recorded.prepulled.size, recorded.failures.size]).toEqual(outcome === 'pulled' ? [1, 0] : [0, 1])
    dead.resolve()
  })

  test('a DaemonSet that another has just made is adopted', async () => {
    cluster.beforeCreate = object => {
      cluster.beforeCreate = () => {}
      cluster.setsByName.set(object.metadata.name, { ...object, metadata: { ...object.metadata, uid: 'theirs' } })
    }
    prepuller().start()
    await settled()
    expect(cluster.writes).toEqual([])
    expect(log.messages).toEqual([])
    expect(cluster.sets()[0]).toMatchObject({ uid: 'theirs', nodes: ['kwok-1', 'kwok-2'] })
  })

  test('one that another made for fewer nodes is told of the rest', async () => {
    cluster.beforeCreate = object => {
      cluster.beforeCreate = () => {}
      const fewer = renderPullSet({
        ...{ config: configSchema.parse({ installation: 'north' }), namespace: 'sky' },
        ...{ image: weekly, nodes: ['kwok-1'], begunMs: 1 },
      })
      const metadata = { ...fewer.metadata, uid: 'theirs', resourceVersion: '1' }
      cluster.setsByName.set(object.metadata.name, { ...fewer, metadata })
    }
    prepuller().start()
    await settled()
    expect(cluster.writes).toEqual(['patch w_2026_01: kwok-1 kwok-2'])
  })
})

describe('when the API server says no', () => {
  test('a patch that met a newer state is made on that', async () => {
    const name = pullSetName('north', weekly)
    const patch: PrepullerOptions['kube']['patch'] = (ref, body) => cluster.patch(ref, body)
    let conflicts = 2
    const kube = {
      create: cluster.create.bind(cluster),
      get: cluster.get.bind(cluster),
      delete: cluster.delete.bind(cluster),
      patch: (...args: Parameters<typeof patch>) => {
        if (conflicts-- > 0) cluster.touch(name)
        return patch(...args)
      },
    }
    prepuller('one', { kube }).start()
    await pass(300)
    cluster.setNode('kwok-3')
    await pass(300)
    expect(cluster.writes.slice(1)).toEqual(['patch w_2026_01: kwok-1 kwok-2 kwok-3'])
  })

  test('a refusal is a failure with its reason, and others go on', async () => {
    catalogue = catalogueOf(weekly, image('d', 'd'))
    cluster.beforeCreate = object => {
      if (JSON.stringify(object).includes('w_2026_01')) throw new KubeError(403, 'Forbidden', 'exceeded quota')
    }
    prepuller().start()
    await pass(300)
    expect(cluster.writes).toEqual(['create d: kwok-1 kwok-2'])
    const { pending } = await prepuller('two').status(catalogue)
    expect(pending[0]!.error).toBe('The cluster refuses the pull: exceeded quota')
    expect(pending[1]!.error).toBeUndefined()
  })

  test('one that does not answer has another replica try', async () => {
    cluster.beforeCreate = () => {
      throw new RetryLater('Kubernetes does not answer')
    }
    prepuller().start()
    await settled()
    expect(store.holder).toBe('')
    expect(log.messages).toEqual(['warn: prepulling is put off'])
    cluster.beforeCreate = () => {}
    await pass(2000)
    expect(cluster.writes).toHaveLength(1)
  })
})

describe('the status', () => {
  test('is for later while the nodes are not known', async () => {
    cluster.ready = () => false
    await expect(prepuller().status(catalogue!)).rejects.toThrow(RetryLater)
  })

  test('asks for the records after it has looked at the cluster, so that no pull is missed', async () => {
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
    await prepuller('one', { view, store: reading }).status(catalogue!)
    expect(order).toEqual(['pods', 'records'])
  })
})
