/** Objects from elsewhere for labs: copies of Secrets and ConfigMaps, and volumes. */
import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/base/domain.ts'
import { AdminKube } from '../kit/cluster/kube.ts'
import { eventually } from '../kit/cluster/world.ts'
import type { Answer, Client, ErrorBody } from '../kit/fleet/client.ts'
import { type Fleet, startFleet, useFleet } from '../kit/fleet/fleet.ts'
import { testBed } from '../kit/testbed.ts'

/** The controller's namespace, shared by all tests: so names are random. */
const namespace = 'skylab'
const drawn = `sources-${randomBytes(4).toString('hex')}`
const names = { files: `${drawn}-files`, pull: `${drawn}-pull`, docs: `${drawn}-docs` }
const dockerConfig = JSON.stringify({ auths: { 'registry.example.org': { auth: 'aHVudGVyMjpodW50ZXIy' } } })
/** Reads are cached for 5 s. */
const freshLimitMs = 20_000

const admin = new AdminKube(testBed().kubeconfig)
const base64 = (text: string) => Buffer.from(text).toString('base64')
const make = (kind: string, name: string, fields: object) =>
  admin.create({ apiVersion: 'v1', kind, metadata: { name, namespace }, ...fields })

afterAll(async () => {
  await Promise.all([names.files, names.pull].map(name => admin.delete('Secret', name, namespace)))
  await admin.delete('ConfigMap', names.docs, namespace)
  admin.close()
})

const lab = {
  token: 'bearer' as const,
  secrets: [
    { name: names.files, key: 'db', as: 'database' },
    { name: names.pull, key: '.dockerconfigjson', pull: true },
  ],
  volumes: [{ name: 'docs', configMap: { name: names.docs } }],
  mounts: [{ volume: 'docs', path: '/usr/share/docs', readOnly: true }],
}

async function run(user: Client, options?: Readonly<Record<string, unknown>>): Promise<void> {
  expect((await user.create(options)).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
}

async function remove(fleet: Fleet, user: Client): Promise<void> {
  expect((await fleet.admin.delete(user.username)).status).toBe(202)
  expect((await user.follow()).outcome).toBe('complete')
}

/** Repeats a create until the cache has expired; returns the first answer that the test wants. */
function createUntil(user: Client, wanted: (answer: Answer<ErrorBody>) => boolean): Promise<Answer<ErrorBody>> {
  const ask = async () => {
    const answer = await user.create()
    return wanted(answer) && answer
  }
  return eventually('an answer from the current content', ask, freshLimitMs) as Promise<Answer<ErrorBody>>
}

const messages = ({ body }: Answer<ErrorBody>) => body.detail.map(({ msg }) => msg)

describe('a creation with copies', () => {
  const fleet = useFleet({ replicas: 1, config: { lab, kubernetes: { namespace } } })
  const objectOf = async (user: Client, kind: string, suffix = ''): Promise<KubeObject> => {
    const name = `nb-${user.username}${suffix}`
    return (await fleet().world.objectsOf(user.username)).find(
      object => object.kind === kind && object.metadata.name === name,
    )!
  }

  test('is refused, and names everything, when objects are missing', async () => {
    const user = fleet().user()
    const answer = await user.create()
    expect(answer.status).toBe(500)
    expect(answer.headers.has('retry-after')).toBe(false)
    expect(answer.body.detail.map(({ type }) => type)).toEqual(Array(3).fill('misconfigured'))
    expect(messages(answer)).toEqual([
      `The Secret ${names.files} in the namespace skylab is missing`,
      `The Secret ${names.pull} in the namespace skylab is missing`,
      `The ConfigMap ${names.docs} in the namespace skylab is missing`,
    ])
    expect((await user.userStatus()).status).toBe(404)
    expect(await fleet().world.namespaceOf(user.username)).toBeFalsy()
    expect(await fleet().log(0)).toContain('a Secret or ConfigMap that labs need is missing or unusable')
  })

  test('is refused, and names both without a value, for a missing key and an invalid pull secret', async () => {
    await make('Secret', names.files, { stringData: { other: 'hunter2-other' } })
    await make('Secret', names.pull, { stringData: { '.dockerconfigjson': 'hunter2-pull' } })
    await make('ConfigMap', names.docs, { data: { 'read.me': 'welcome' }, binaryData: { logo: 'AAECAw==' } })
    const user = fleet().user()
    const answer = await createUntil(user, answer => answer.status === 500 && messages(answer).length === 2)
    expect(messages(answer)).toEqual([
      `The Secret ${names.files} in the namespace skylab has no key db`,
      `The key .dockerconfigjson of the Secret ${names.pull} in the namespace skylab is no Docker config.json`,
    ])
    expect(JSON.stringify(answer.body)).not.toContain('hunter2')
    expect(await fleet().log(0)).not.toMatch(new RegExp(`hunter2|${base64('hunter2').slice(0, 8)}`))
  })

  test('copies into the lab’s own Secret, its pull secret and its ConfigMap', async () => {
    await admin.patch('Secret', names.files, namespace, { stringData: { db: 'first' } })
    await admin.patch('Secret', names.pull, namespace, { stringData: { '.dockerconfigjson': dockerConfig } })
    const user = fleet().user()
    await createUntil(user, ({ status }) => status === 303)
    expect((await user.follow()).outcome).toBe('complete')
    const files = await objectOf(user, 'Secret')
    expect(files.data).toEqual({ database: base64('first'), token: base64(user.token) })
    const pull = await objectOf(user, 'Secret', '-pull')
    expect(pull).toMatchObject({
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': base64(dockerConfig) },
    })
    expect((await fleet().world.podOf(user.username)).spec.imagePullSecrets).toEqual([{ name: pull.metadata.name }])
    expect(await objectOf(user, 'ConfigMap', '-docs')).toMatchObject({
      data: { 'read.me': 'welcome' },
      binaryData: { logo: 'AAECAw==' },
    })
    const shown = JSON.stringify([await fleet().world.namespaceOf(user.username), (await user.userStatus()).body])
    expect(shown).not.toMatch(new RegExp(`first|${base64('first')}|hunter2`))
  })

  test('copies the content at the time of the request, however large', async () => {
    const user = fleet().user()
    const database = async () => ((await objectOf(user, 'Secret')).data as Record<string, string>).database
    await run(user)
    expect(await database()).toBe(base64('first'))
    const large = base64('x'.repeat(900 * 1024))
    await admin.patch('Secret', names.files, namespace, { data: { db: large } })
    const isNew = async () => {
      await remove(fleet(), user)
      await run(user)
      return (await database()) === large
    }
    await eventually('a lab with the new value', isNew, 90_000)
  })
})

test('is put off while the API server is away, and accepted when it is back', async context => {
  const kubernetes = { namespace, requestTimeoutSeconds: 2 }
  const volumes = [{ name: 'own', configMap: { name: 'kube-root-ca.crt' } }]
  const fleet = await startFleet(context, { replicas: 1, proxies: 'open', config: { lab: { volumes }, kubernetes } })
  const user = fleet.user()
  await fleet.proxies(0).kubernetes.shut()
  const answer = await user.create()
  expect([answer.status, answer.body.detail[0]!.type]).toEqual([503, 'unavailable'])
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
  await fleet.proxies(0).kubernetes.open()
  await createUntil(user, ({ status }) => status === 303)
  expect((await user.follow()).outcome).toBe('complete')
})

describe('a creation with a claim', () => {
  const scratch = {
    accessModes: ['ReadWriteOnce' as const],
    size: '1Gi',
    storageClassName: '',
    volumeName: `${drawn}-nowhere`,
  }
  const claiming = {
    volumes: [{ name: 'scratch', persistentVolumeClaim: scratch }],
    mounts: [{ volume: 'scratch', path: '/scratch' }],
  }
  const fleet = useFleet({ replicas: 1, config: { lab: claiming, times: { noRoomGraceSeconds: 2 } } })

  test('fails with a reason, and leaves nothing, when the volume is missing', async () => {
    const user = fleet().user()
    expect((await user.create()).status).toBe(303)
    const { outcome, errors } = await user.follow()
    expect(outcome).toBe('failed')
    expect(errors).toContainEqual(expect.stringMatching(/^A volume of the lab is not there at the moment \(/))
    expect(await fleet().world.namespaceOf(user.username)).toBeNull()
  })
})
