/** The objects of a lab in the cluster, and the requests that make them, by the API server's audit log. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { labels } from '../../src/kube/labels.ts'
import type { AuditedRequest } from '../kit/evidence/audit.ts'
import type { Client } from '../kit/fleet/client.ts'
import { useFleet } from '../kit/fleet/fleet.ts'
import { FullLab } from '../kit/fleet/full-lab.ts'
import { testBed } from '../kit/testbed.ts'

const fleet = useFleet({ replicas: 2 })

/** The requests of a creation: the namespace first, the pod last. The content between them comes in any order. */
const inOrder = ([first = '', ...rest]: readonly string[]) => [first, ...rest.slice(0, -1).sort(), ...rest.slice(-1)]

const summaryOf = ({ verb, resource, name }: AuditedRequest) => `${verb} ${resource} ${name}`

async function create(user: Client): Promise<number> {
  expect((await user.create()).status).toBe(303)
  const { outcome, op } = await user.follow()
  expect(outcome).toBe('complete')
  return op
}

async function remove(user: Client): Promise<number> {
  expect((await fleet().admin.delete(user.username)).status).toBe(202)
  const { outcome, op } = await user.follow()
  expect(outcome).toBe('complete')
  return op
}

test.concurrent('a lab consists of eight objects that have its op and belong to its namespace', async () => {
  const user = fleet().user()
  const { username } = user
  const op = await create(user)
  const namespace = await fleet().world.namespaceOf(username)
  const mark = { [labels.installation]: fleet().installation, [labels.op]: String(op) }
  expect(namespace.metadata.labels).toMatchObject(mark)
  expect(namespace.metadata.annotations).toMatchObject({ 'skylab/user': username })
  const objects = await fleet().world.objectsOf(username)
  expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).toEqual([
    `ConfigMap nb-${username}-env`,
    `ConfigMap nb-${username}-nss`,
    `NetworkPolicy nb-${username}`,
    `Pod nb-${username}`,
    `Secret nb-${username}`,
    `Secret nb-${username}-env`,
    `Service nb-${username}`,
  ])
  for (const { metadata } of objects) {
    expect(metadata.labels).toMatchObject(mark)
    expect(metadata.ownerReferences).toMatchObject([{ kind: 'Namespace', uid: namespace.metadata.uid }])
  }
})

test.concurrent('a lab’s pod runs as the user, with the image that the tag meant at acceptance', async () => {
  const user = fleet().user()
  await create(user)
  const { spec } = await fleet().world.podOf(user.username)
  const uid = 5_000_000 + Number(user.username.slice(1))
  expect(spec).toMatchObject({
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: 'OnFailure',
  })
  expect(JSON.stringify(spec)).toContain(`"runAsUser":${uid}`)
  expect(JSON.stringify(spec)).toContain(`"supplementalGroups":[4900001]`)
  const { registry, docker } = testBed().images
  const digest = testBed().hasRegistry ? /@sha256:[0-9a-f]{64}$/ : /:recommended$/
  expect(spec.containers[0].image.startsWith(`${registry}/${docker!.repository}:recommended`)).toBe(true)
  expect(spec.containers[0].image).toMatch(digest)
})

test.concurrent('an undisturbed life takes one write per object, two deletes, and no read', async () => {
  const user = fleet().user()
  const [created, deleted] = [await create(user), await remove(user)]
  const requests = await fleet().audit.requestsOf(fleet().namespace(user.username))
  const lab = `nb-${user.username}`
  expect(inOrder(requests.filter(({ op }) => op === created).map(summaryOf))).toEqual([
    `create namespaces ${fleet().namespace(user.username)}`,
    `create configmaps ${lab}-env`,
    `create configmaps ${lab}-nss`,
    `create networkpolicies ${lab}`,
    `create secrets ${lab}`,
    `create secrets ${lab}-env`,
    `create services ${lab}`,
    `create pods ${lab}`,
  ])
  expect(requests.filter(({ op }) => op === deleted).map(summaryOf)).toEqual([
    `delete pods ${lab}`,
    `delete namespaces ${fleet().namespace(user.username)}`,
  ])
  expect(requests).toHaveLength(10)
  expect(requests.filter(({ code }) => code >= 300)).toEqual([])
})

test.concurrent('requests come from the ServiceAccount, and name replica, operation and claim', async () => {
  const user = fleet().user()
  const op = await create(user)
  const requests = await fleet().audit.requestsOf(fleet().namespace(user.username))
  expect(new Set(requests.map(({ sender }) => sender))).toEqual(new Set(['system:serviceaccount:skylab:skylab']))
  expect(new Set(requests.map(request => request.op))).toEqual(new Set([op]))
  expect(new Set(requests.map(({ claim }) => claim))).toEqual(new Set([1]))
  for (const { replica } of requests) expect(replica).toMatch(/^replica-[12]$/)
})

describe('labs with everything configured', () => {
  const fullLab = new FullLab()
  const count = 5
  beforeAll(() => fullLab.make(count))
  afterAll(() => fullLab.remove())
  const fullFleet = useFleet({ replicas: 2, fullLab })
  const requestsOf = (user: Client) => fullFleet().audit.requestsOf(fullFleet().namespace(user.username))

  test('take one write per object too, and their sources are read once for all', async () => {
    const users = Array.from({ length: count }, () => fullFleet().user())
    const url = fullFleet().url(0)
    await Promise.all(users.map(user => create(user.at(url))))
    for (const user of users) {
      // A quota refuses the pod until it is counted.
      const all = await requestsOf(user)
      const refused = all.filter(({ code, message }) => code === 403 && message.includes('status unknown for quota'))
      expect(refused.length).toBeLessThanOrEqual(2)
      const requests = refused.length === 0 ? all : all.filter(({ code, verb }) => code < 300 && verb !== 'get')
      const lab = `nb-${user.username}`
      expect(inOrder(requests.map(summaryOf))).toEqual([
        `create namespaces ${fullFleet().namespace(user.username)}`,
        ...['docs', 'env', 'motd', 'nss', 'provision'].map(what => `create configmaps ${lab}-${what}`),
        `create networkpolicies ${lab}`,
        `create persistentvolumeclaims ${lab}-scratch`,
        ...['resourcequotas', 'secrets'].map(resource => `create ${resource} ${lab}`),
        ...['env', 'pull'].map(what => `create secrets ${lab}-${what}`),
        ...['services', 'pods'].map(resource => `create ${resource} ${lab}`),
      ])
    }
    const reads = (await fullFleet().audit.all()).filter(({ name }) => name.startsWith(fullLab.name))
    const ofLabs = reads.filter(({ userAgent }) => /^skylab\//.test(userAgent) && !userAgent.includes('images'))
    expect(ofLabs.map(summaryOf).sort()).toEqual([
      `get configmaps ${fullLab.name}-docs`,
      `get secrets ${fullLab.name}-files`,
      `get secrets ${fullLab.name}-pull`,
    ])
  })
})
