/** The webhooks of LNamespaces, asked by a real API server that has no MutatingAdmissionPolicy. */
import { createServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../kit/cluster/world.ts'
import { completed, golden } from '../../kit/tenants/admission-golden.ts'
import { lnamespace, user } from '../../kit/tenants/objects.ts'
import { lnamespaces, WebhookCluster } from './webhook-cluster.ts'

const names = { eve: 'eve', argo: 'system:serviceaccount:argo:argo' }
const mine = { apiGroups: ['gial.lblw.dev'], resources: ['lnamespaces'] }
const dryRun = `${lnamespaces}?dryRun=All`
const platform = lnamespace('new', { platform: { network: 'open' } })

let own: WebhookCluster
/** Accepts connections, and never answers. */
let silent: Server
beforeAll(async () => {
  own = await WebhookCluster.start()
  await own.grant('override', names.argo, [{ ...mine, verbs: ['create', 'override'] }])
  silent = createServer(socket => void socket.on('error', () => {})).listen(0, '127.0.0.1')
  const isComplete = async () => {
    const { status, body } = await own.as('eve', 'POST', dryRun, lnamespace('first'))
    return status === 201 && body.metadata.annotations?.['lns.skylab/requester'] === 'eve'
  }
  await eventually('creations are completed', isComplete)
})
afterAll(async () => {
  silent?.close()
  await own?.close()
})

test.each(golden.map(row => [row.title, row] as const))('the webhook completes a creation of %s', async (_, row) => {
  const { status, body } = await own.as(names[row.by], 'POST', dryRun, row.object)
  const whole = completed(row)
  expect([status, body.metadata.annotations]).toEqual([201, whole.metadata.annotations])
  const { sudoers } = (whole.spec ?? {}) as { sudoers?: object[] }
  expect(body.spec?.sudoers).toEqual(sudoers?.map(each => expect.objectContaining(each)))
})

test('a tenant that the webhook admitted gets its rights', async () => {
  expect((await own.as('eve', 'POST', lnamespaces, lnamespace('served', { users: [user('ada')] }))).status).toBe(201)
  await own.says('served', 'Ready', 'Ready')
  expect(await own.may('ada', 'create', 'pods', { namespace: 'served' })).toBe(true)
})

describe('while the webhook', () => {
  afterAll(async () => {
    await own.ask(own.url, own.renew('last'))
    await eventually('it answers', async () => (await own.as('eve', 'POST', dryRun, lnamespace('new'))).status === 201)
  })

  test.each([
    ['is down', () => own.ask('https://127.0.0.1:1', own.stranger()), /connection refused/],
    [
      'is slow',
      () => own.ask(`https://127.0.0.1:${(silent.address() as { port: number }).port}`, own.stranger(), 1),
      /context deadline exceeded|Client.Timeout/,
    ],
    ['has a certificate of another authority', () => own.ask(own.url, own.stranger()), /x509/],
  ])('%s, creations fail in words, and revocations and all else go on', async (title, harm, words) => {
    const name = `t-${title.split(' ')[1]}-${title.length}`
    expect((await own.as('eve', 'POST', lnamespaces, lnamespace(name, { users: [user('ada')] }))).status).toBe(201)
    await own.says(name, 'Ready', 'Ready')
    await harm()
    const create = () => own.as('eve', 'POST', dryRun, lnamespace('new'))
    await eventually('creations fail', async () => (await create()).status >= 500)
    const { body } = await create()
    expect(body.message).toMatch(/failed calling webhook "mutate\.lnamespaces\.skylab"/)
    expect(body.message).toMatch(words)
    await own.edit(name, { users: [] })
    await eventually('ada is out', async () => !(await own.may('ada', 'create', 'pods', { namespace: name })))
    const map = { metadata: { name } }
    expect((await own.kube.request('POST', '/api/v1/namespaces/default/configmaps', map)).status).toBe(201)
    // Policies are still known to be in force, so what stands can be granted anew.
    await own.edit(name, { users: [user('bob')] })
    await eventually('bob is in', () => own.may('bob', 'create', 'pods', { namespace: name }))
    await own.drop(name)
    await own.ask(own.url, own.renew(name))
    await eventually('creations go on', async () => (await create()).status === 201)
  })
})

test('the webhook refuses in the words of the policies when these are gone', async () => {
  await own.withoutPolicies()
  const message = async (who: string) => (await own.as(who, 'POST', dryRun, platform)).body.message
  const denied = 'admission webhook "validate.lnamespaces.skylab" denied the request'
  await eventually('the webhook decides', async () => (await message('eve'))?.startsWith(denied) ?? false)
  expect(await message('eve')).toBe(`${denied}: spec.platform is for accounts that may override lnamespaces`)
  expect((await own.as(names.argo, 'POST', dryRun, platform)).status).toBe(201)
  expect((await own.as('eve', 'POST', dryRun, lnamespace('kube-x'))).body.message).toContain('reserved')
})
