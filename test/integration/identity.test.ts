/** Labs with identities from Gafaelfawr and from an OpenID issuer, and attacks on both. */
import { expect, type TestContext, test } from 'vitest'
import { eventually } from '../kit/cluster/world.ts'
import type { Answer, Client } from '../kit/fleet/client.ts'
import { type Fleet, startFleet } from '../kit/fleet/fleet.ts'
import { faults } from '../kit/identity/gafaelfawr.ts'
import { audience, forge, makeKey, nowSeconds, TestIssuer } from '../kit/identity/issuer.ts'
import { startBehindIngress } from './behind-ingress.ts'

const creation = { method: 'POST', body: { options: { image_type: 'recommended' }, env: {} } }

/** The token in a user's lab, if there is one. */
async function tokenInLab(fleet: Fleet, { username }: Client): Promise<string | undefined> {
  const objects = await fleet.world.objectsOf(username)
  const secret = objects.find(({ kind, metadata }) => kind === 'Secret' && metadata.name === `nb-${username}`)!
  const { token } = (secret.data ?? {}) as { token?: string }
  return token && Buffer.from(token, 'base64').toString()
}

async function expectGone(fleet: Fleet, user: Client): Promise<void> {
  expect((await user.follow()).outcome).toBe('complete')
  expect((await fleet.admin.status(user.username)).status).toBe(404)
}

/** Checks that no replica has logged any of these. */
async function expectUntold(fleet: Fleet, secrets: readonly string[]): Promise<void> {
  const logs = await Promise.all(fleet.urls.map((_, index) => fleet.log(index)))
  for (const secret of secrets) expect(logs.join().includes(secret), secret.slice(0, 12)).toBe(false)
}

async function statusesOf(answers: Promise<Answer>[]): Promise<number[]> {
  return (await Promise.all(answers)).map(({ status }) => status)
}

test.concurrent('behind Gafaelfawr a lab comes and goes, and a caller that bypasses the ingress is refused', async context => {
  const { gafaelfawr, fleet, secrets } = await startBehindIngress(context)
  const { admin } = fleet
  const [ada, eve, ben, dan] = [fleet.user(), fleet.user(), fleet.user(), fleet.user()]
  const groups = [
    { name: 'ada', id: 4124 },
    { name: 'observers', id: 4900 },
  ]
  const quota = { notebook: { cpu: 2, memory: 8, spawn: true } }
  gafaelfawr.users.set(ada.token, { username: ada.username, uid: 4123, gid: 4124, groups, quota })
  gafaelfawr.users.set(eve.token, { username: eve.username, uid: 6666, gid: 6666 })
  gafaelfawr.users.set(ben.token, { username: ben.username, uid: 7777 })
  gafaelfawr.users.set(dan.token, { username: dan.username, uid: 8888, gid: 8888, groups: [{ name: 'disk', id: 6 }] })

  expect((await ada.create({ image_type: 'recommended', size: 'large' })).status).toBe(403)
  expect((await ada.create()).status).toBe(303)
  expect((await ada.follow()).outcome).toBe('complete')
  expect((await ada.userStatus()).body).toMatchObject({ status: 'running', uid: 4123, gid: 4124, groups })
  expect(await tokenInLab(fleet, ada)).toBe(ada.token)
  expect((await admin.labs()).body).toEqual([ada.username])

  // Headers that every program in the cluster can send directly to a replica.
  const forged = { 'x-auth-request-user': ada.username, 'x-auth-request-token': ada.token }
  const bare = async (path: string, headers: Record<string, string>, method = 'GET') =>
    (await fetch(`${fleet.anyUrl()}/nublado/spawner/v1/${path}`, { method, headers })).status
  expect(await bare('user-status', forged)).toBe(401)
  expect(await bare('labs', { 'x-auth-request-user': 'admin' })).toBe(401)
  expect(await bare(`labs/${ada.username}`, { 'x-auth-request-user': 'admin' }, 'DELETE')).toBe(401)
  const wrong = { 'x-auth-request-user': 'admin', 'x-skylab-ingress-secret': `${secrets.admin}!` }
  expect(await bare(`labs/${ada.username}`, wrong, 'DELETE')).toBe(401)
  // With the secret of the users' ingress to any route, and that of the administrators' to a route of users.
  const byUsers = { ...forged, 'x-skylab-ingress-secret': secrets.user }
  expect(await bare('user-status', byUsers)).toBe(200)
  expect(await bare('labs', byUsers)).toBe(403)
  expect(await bare(`labs/${ada.username}`, byUsers, 'DELETE')).toBe(403)
  expect(await bare('user-status', { ...forged, 'x-skylab-ingress-secret': secrets.admin })).toBe(403)
  // Through the ingress, but with another user's token or path, or without a token.
  const [name, token] = ['x-auth-request-user', 'x-auth-request-token']
  expect(await statusesOf([eve.request('user-status', { headers: { [name]: ada.username } })])).toEqual([401])
  expect(await statusesOf([eve.request('user-status', { headers: { [token]: ada.token } })])).toEqual([401])
  expect(await statusesOf([eve.request('user-status', { headers: { [token]: 'made-up' } })])).toEqual([401])
  expect(await statusesOf([eve.request(`labs/${ada.username}/events`)])).toEqual([403])
  expect(await statusesOf([eve.request(`labs/${ada.username}/create`, creation)])).toEqual([403])
  expect(await ben.create()).toMatchObject({ status: 403, body: { detail: [{ type: 'forbidden' }] } })
  const ofSystem = { type: 'forbidden', msg: expect.stringContaining('identity.minGid') }
  expect(await dan.create()).toMatchObject({ status: 403, body: { detail: [ofSystem] } })
  // A notebook token has all scopes of its session: an administrator's must not get into a lab.
  gafaelfawr.scopes.set(eve.token, ['exec:notebook', 'admin:jupyterlab'])
  expect(await eve.create()).toMatchObject({ status: 403, body: { detail: [{ type: 'token_too_strong' }] } })
  gafaelfawr.scopes.delete(eve.token)

  // Without Gafaelfawr creates are put off, labs can be seen and deleted, and replicas stay ready.
  gafaelfawr.fault = faults.error
  for (const url of fleet.urls) {
    await eventually('what was known of her is old', async () => (await eve.at(url).userStatus()).status === 503)
  }
  const putOff = await eve.create()
  expect([putOff.status, putOff.headers.get('retry-after')]).toEqual([503, '1'])
  expect((await fetch(`${fleet.monitoringUrl(0)}/readyz`)).status).toBe(200)
  expect((await admin.status(ada.username)).body.status).toBe('running')
  expect((await admin.delete(ada.username)).status).toBe(202)
  gafaelfawr.fault = undefined
  await expectGone(fleet, ada)
  await expectUntold(fleet, [...Object.values(secrets), ada.token, eve.token, ben.token])
})

async function startWithIssuer(context: TestContext) {
  const people = ['u1', 'u2', 'admin'].map((username, index) => ({
    username,
    scopes: username === 'admin' ? ['admin:jupyterlab'] : ['exec:notebook'],
    claims: { uid: 4000 + index, gid: 4000 + index, groups: [{ name: 'observers', id: 4900 }, 'unnumbered'] },
  }))
  const issuer = await TestIssuer.start(people)
  /** The newest token of each user. */
  const tokens = new Map<string, string>()
  const renew = async () => {
    for (const { username } of people) tokens.set(username, await issuer.token(username))
  }
  await renew()
  const fleet = await startFleet(context, {
    replicas: 2,
    users: 2,
    config: { identity: { provider: 'oidc', oidc: { issuer: issuer.url, audience, keysCooldownSeconds: 1 } } },
    credentials: username => ({ authorization: `Bearer ${tokens.get(username)}` }),
  })
  context.onTestFinished(() => issuer.stop())
  return { issuer, fleet, tokens, renew }
}

test.concurrent('with an OpenID issuer a lab comes and goes during a rotation of keys, and invalid tokens are refused', async context => {
  const { issuer, fleet, tokens, renew } = await startWithIssuer(context)
  const [ada, eve] = [fleet.user(), fleet.user()]
  const [oldKey, newKey] = [issuer.keys[0]!, await makeKey('second')]
  const oldToken = tokens.get(ada.username)!

  const arm = fleet.arm('lab.create.make.service.after-act', 'hold', { user: ada.username })
  expect((await ada.create()).status).toBe(303)
  await arm.landed()
  // During the creation the issuer signs with another key, and publishes both.
  issuer.rotate([newKey, oldKey])
  await renew()
  for (const url of fleet.urls) {
    await eventually('the new key is known', async () => (await ada.at(url).userStatus()).status === 200)
  }
  const following = ada.follow()
  arm.release()
  expect((await following).outcome).toBe('complete')
  expect((await ada.userStatus()).body).toMatchObject({
    ...{ status: 'running', uid: 4000, gid: 4000 },
    groups: [{ name: 'observers', id: 4900 }],
  })
  // The scope of an issuer's token cannot be narrowed, so no lab gets one.
  expect(await tokenInLab(fleet, ada)).toBeUndefined()

  const as = (token: string, path = 'user-status', more = {}) =>
    eve.request(path, { ...more, headers: { authorization: `Bearer ${token}` } })
  expect(await statusesOf([as(oldToken), as(tokens.get(ada.username)!)])).toEqual([200, 200])
  const stale = await forge(issuer, { claims: { sub: ada.username, exp: nowSeconds() - 60 } })
  const elsewhere = await forge(issuer, { claims: { sub: ada.username, aud: 'https://portal.example.org' } })
  const stolen = await forge(issuer, { claims: { sub: ada.username }, key: await makeKey('second') })
  const madeUp = await forge(issuer, { claims: { sub: ada.username }, key: await makeKey('third') })
  const unscoped = await forge(issuer, { claims: { sub: ada.username, scope: undefined } })
  const nobody = [stale, elsewhere, stolen, madeUp, `${oldToken}x`, oldToken.replace(/[^.]*$/, '')]
  expect(await statusesOf(nobody.map(token => as(token)))).toEqual(nobody.map(() => 401))
  expect(await statusesOf([as(unscoped), eve.request('labs')])).toEqual([403, 403])
  const path = `labs/${ada.username}`
  expect(await statusesOf([eve.request(`${path}/events`), eve.request(path, { method: 'DELETE' })])).toEqual([403, 403])
  expect(await statusesOf([eve.request(`${path}/create`, creation)])).toEqual([403])

  // Without the issuer tokens with known keys still work; an unknown key cannot be checked.
  issuer.fault = { at: '', answer: response => void response.destroy() }
  expect((await ada.userStatus()).status).toBe(200)
  await eventually('503 for an unknown key', async () => (await as(madeUp)).status === 503)
  expect((await fetch(`${fleet.monitoringUrl(0)}/readyz`)).status).toBe(200)
  expect((await fleet.admin.delete(ada.username)).status).toBe(202)
  await expectGone(fleet, ada)
  await expectUntold(fleet, [...tokens.values(), ...nobody, unscoped])
})
