/** A gateway whose Redis is away: what it knows holds for seconds, then nobody is let in, until Redis is back. */
import { expect, onTestFinished, test } from 'vitest'
import { MemberStore } from '../../../src/store/apps/members.ts'
import { RouteStore } from '../../../src/store/apps/routes.ts'
import { TestGateway } from '../../kit/apps/gateway-access.ts'
import { addGatewayUser } from '../../kit/apps/gateway-user.ts'
import { members, route } from '../../kit/apps/routes.ts'
import { ManualClock } from '../../kit/clock.ts'
import { ownRedis, Store } from '../../kit/store/store.ts'

test('verdicts hold for five seconds and open connections for a minute while Redis is halted', async () => {
  const server = await ownRedis()
  const store = await Store.open(server)
  const { connection, keys, prefix } = store
  await new RouteStore(connection, keys).put(route())
  await new RouteStore(connection, keys).complete()
  await new MemberStore(connection, keys).put('physics', members(['oidc:ada']))
  await new MemberStore(connection, keys).complete()
  const clock = new ManualClock({ runs: true })
  const people = { 'token-ada': { username: 'ada', groups: [] } }
  const url = await addGatewayUser(store)
  const gateway = await TestGateway.open({ url, keyPrefix: prefix, people, clock })
  onTestFinished(async () => {
    await server.resume()
    await gateway.close()
    store.close()
    await server.stop()
  })
  const login = await gateway.logIn('token-ada')
  const admission = await gateway.enter('mlflow', [login])
  const session = [admission.newSessionId!]
  const [stays, cut] = [gateway.keep(admission), gateway.keep(admission)]
  await server.pause()
  expect((await gateway.verdict('mlflow', [login], session)).is).toBe('in')
  clock.advance(5_001)
  expect((await gateway.verdict('mlflow', [login], session)).is).toBe('unavailable')
  expect((await gateway.parts.login.login('token-ada', '192.0.2.1')).is).toBe('unavailable')
  await stays.guard.look()
  expect([stays, cut].map(({ guard }) => guard.mayPass())).toEqual([true, true])
  stays.guard.remove()
  clock.advance(60_000)
  expect((await cut.cut).reason).toBe('unavailable')
  await server.resume()
  await expect.poll(async () => (await gateway.verdict('mlflow', [login], session)).is, { timeout: 10_000 }).toBe('in')
  expect(stays.reason).toBeUndefined()
})
