import { describe, expect, it } from 'vitest'
import { render } from '../../test/kit/labs/plan.ts'
import type { KubeObject } from '../base/domain.ts'
import { Fenced, NeedsSomeone, RetryLater } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import { labels } from '../kube/labels.ts'
import { withOwnership } from '../labs/render.ts'
import { contentMaker, gravest, placeOf } from './content.ts'
import type { LabContext, LabKnown } from './lab-context.ts'
import { ObjectRefused } from './steps.ts'
import { FakeCluster, fakeContext, names, namespaceObject } from './testing/cluster.ts'
import { ObjectServer } from './testing/objects.ts'

const objectOf = (kind: string, suffix = ''): KubeObject => ({
  ...{ apiVersion: 'v1', kind },
  metadata: { name: `${names.lab}${suffix}`, namespace: names.namespace, labels: {}, annotations: {} },
})
const [envMap, secret, service] = [objectOf('ConfigMap', '-env'), objectOf('Secret'), objectOf('Service')]
const planned = [envMap, secret, service]
const namespaceUid = 'uid-of-nublado-ada'
const later = () => new Promise(resolve => setImmediate(resolve))

/** Operation 7 makes the content of its namespace. */
function making(objects: readonly KubeObject[] = planned, more: Partial<LabContext> = {}) {
  const server = new ObjectServer()
  server.put(namespaceObject())
  const passed: string[] = []
  const known: LabKnown = { namespaceUid, podUid: undefined, doubt: false }
  let isLost = false
  const { context } = fakeContext(new FakeCluster(), { known, kube: server.kube, ...more })
  const call = () => {
    if (isLost) throw new Fenced('the lease is lost')
    return context.call()
  }
  const at = (name: string): LabContext => ({
    ...context,
    call,
    failpoint: place => void passed.push(`${name}.${place}`),
    at,
  })
  const run = contentMaker(objects, names.lab)
  const of = (verb: string) => server.requests.filter(request => request.startsWith(verb))
  const lose = () => {
    isLost = true
  }
  return { server, known, passed, of, lose, run: () => run(at('make.content')) }
}

const refusal = () => new KubeError(403, 'Forbidden', 'the policy has no copy of the namespace yet')

/** Throws for the creation of objects of these kinds. */
const failing =
  (errors: Readonly<Record<string, Error>>) =>
  ({ kind }: KubeObject) => {
    const error = errors[kind]
    if (error) throw error
  }

it('placeOf names an object by kind and by the part of the name after the pod’s', () => {
  const { objects } = render({ identity: { username: 'my-env' } })
  const lab = objects.at(-1)!.metadata.name
  expect(objects.map(object => placeOf(object, lab))).toEqual([
    ...['make.configmap-env', 'make.configmap-nss', 'make.secret', 'make.secret-env'],
    ...['make.networkpolicy', 'make.service', 'make.pod'],
  ])
})

describe('contentMaker', () => {
  it('sends all requests at once, each with its own failpoints inside those of the act', async () => {
    const { server, run, passed } = making()
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    server.onCreate = () => held
    const made = run()
    await later()
    expect(server.requests).toEqual(['create ConfigMap nb-ada-env', 'create Secret nb-ada', 'create Service nb-ada'])
    release()
    expect(await made).toEqual({ events: [] })
    expect([passed[0], passed.at(-1)]).toEqual(['make.content.before-act', 'make.content.after-act'])
    expect(passed.slice(1, -1).sort()).toEqual(
      ['configmap-env', 'secret', 'service'].flatMap(name => [`make.${name}.after-act`, `make.${name}.before-act`]),
    )
  })

  it('makes each object as one of its operation, owned by the namespace', async () => {
    const { server, run } = making()
    await run()
    for (const { kind, metadata } of planned) {
      const made = server.get(kind, metadata.name)!.metadata
      expect(made.labels).toMatchObject({ [labels.op]: '7' })
      expect(made.ownerReferences).toMatchObject([{ kind: 'Namespace', uid: namespaceUid }])
    }
  })

  it('adds the token by which the lab reports activity to the lab’s own Secret, and to no other object', async () => {
    const filled = { ...secret, stringData: { token: 'user’s' } }
    const { server, run } = making([envMap, filled, objectOf('Secret', '-env')], { activityToken: '7.k.m' })
    await run()
    expect(server.get('Secret', names.lab)!.stringData).toEqual({ token: 'user’s', 'activity-token': '7.k.m' })
    for (const [kind, name] of [
      ['Secret', `${names.lab}-env`],
      ['ConfigMap', `${names.lab}-env`],
    ] as const) {
      expect(JSON.stringify(server.get(kind, name))).not.toContain('activity-token')
    }
  })

  it('waits for every write before it throws', async () => {
    const { server, run } = making()
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    server.onCreate = async ({ kind }) => {
      if (kind === 'Secret') throw new NeedsSomeone('no')
      if (kind === 'Service') await held
    }
    let isOver = false
    const made = run().finally(() => {
      isOver = true
    })
    made.catch(() => {})
    await later()
    expect(isOver).toBe(false)
    release()
    await expect(made).rejects.toThrow('no')
    expect(server.get('Service', names.lab)).toBeDefined()
  })

  it('sends nothing more once the lease is lost', async () => {
    const { server, run, lose } = making()
    server.onCreate = lose
    await expect(run()).rejects.toBeInstanceOf(Fenced)
    expect(server.requests).toHaveLength(1)
  })

  it('asks for the namespace once when several objects are refused', async () => {
    const { server, run, of } = making()
    server.onCreate = failing({ ConfigMap: refusal(), Secret: refusal(), Service: refusal() })
    await expect(run()).rejects.toBeInstanceOf(KubeError)
    expect(of('get')).toEqual(['get Namespace nublado-ada'])
  })

  it('names the object that was refused', async () => {
    const { server, run } = making()
    server.onCreate = failing({ Secret: refusal() })
    const error = await run().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ObjectRefused)
    expect(error).toMatchObject({ object: 'make.secret', status: 403, message: refusal().message })
  })

  it('gives the lost namespace as the reason when that explains a refusal', async () => {
    const { server, run, known } = making()
    known.namespaceUid = 'uid-of-an-older-one'
    server.onCreate = failing({ Secret: refusal() })
    await expect(run()).rejects.toThrow('was removed while the lab was being made')
  })

  it('makes only what it lacks when it is repeated in the same namespace', async () => {
    const { server, run, of } = making()
    server.onCreate = failing({ Secret: refusal() })
    await expect(run()).rejects.toBeInstanceOf(KubeError)
    server.onCreate = () => {}
    await run()
    expect(of('create')).toEqual([
      ...['create ConfigMap nb-ada-env', 'create Secret nb-ada', 'create Service nb-ada'],
      'create Secret nb-ada',
    ])
  })

  it('makes all objects again in another namespace', async () => {
    const { server, run, known, of } = making([secret])
    await run()
    await server.kube.delete({ ...secret, name: names.lab, uid: server.get('Secret', names.lab)!.metadata.uid! })
    known.namespaceUid = 'uid-of-the-next-one'
    await run()
    expect(of('create')).toHaveLength(2)
  })

  it('adopts what a former owner made, with one binding to read all of it', async () => {
    const { server, run, of } = making()
    for (const object of planned) server.put(withOwnership(object, 7, namespaceUid))
    await run()
    expect(of('create RoleBinding')).toHaveLength(1)
    expect(of('get').sort()).toEqual(['get ConfigMap nb-ada-env', 'get Secret nb-ada', 'get Service nb-ada'])
    expect(of('delete')).toEqual([])
  })

  it('makes a quota anew that counts wrongly, and nothing else, when it is repeated', async () => {
    const quota = objectOf('ResourceQuota')
    const { server, run, known, of } = making([secret, quota])
    await run()
    const uid = server.get('ResourceQuota', names.lab)!.metadata.uid!
    known.miscounted = uid
    await expect(run()).rejects.toBeInstanceOf(RetryLater)
    expect(server.get('ResourceQuota', names.lab)).toBeUndefined()
    expect(of('get Namespace')).toHaveLength(1)
    await run()
    await run()
    expect(server.get('ResourceQuota', names.lab)!.metadata.uid).not.toBe(uid)
    expect(of('delete')).toEqual(['delete ResourceQuota nb-ada'])
    expect(of('create Secret')).toHaveLength(1)
  })

  it('removes objects of an older operation, and asks for the namespace before each removal', async () => {
    const { server, run, of } = making()
    for (const object of [envMap, secret]) server.put(withOwnership(object, 6, namespaceUid))
    await expect(run()).rejects.toBeInstanceOf(RetryLater)
    expect(of('delete').sort()).toEqual(['delete ConfigMap nb-ada-env', 'delete Secret nb-ada'])
    expect(of('get Namespace')).toHaveLength(2)
    await run()
    expect(server.get('Secret', names.lab)!.metadata.labels).toMatchObject({ [labels.op]: '7' })
  })
})

describe('gravest', () => {
  const someone = new NeedsSomeone('a quota')
  const final = new KubeError(422, 'Invalid', 'no')
  const refused = refusal()
  const fenced = new Fenced('moved on')
  const passing = new RetryLater('busy')

  it.each([
    ['what only people can mend before all others', [passing, refused, final, fenced, someone], someone],
    ['a final refusal before one that may pass', [refused, final, passing], final],
    ['a refusal before obstacles that pass, since it counts against its grace', [passing, refused], refused],
    ['an unexpected error before obstacles that pass', [passing, fenced], fenced],
    ['the first of equals', [passing, new RetryLater('away')], passing],
  ])('returns %s', (_, errors, expected) => {
    expect(gravest(errors)).toBe(expected)
  })
})
