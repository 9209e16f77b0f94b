/** What a release finds in Redis of an older one: gateways know all routes and members, nobody must log in anew, no start is lost. */
import { describe, expect, test } from 'vitest'
import { IntentStore } from '../../../src/store/apps/intents.ts'
import { RouteStore } from '../../../src/store/apps/routes.ts'
import { TestGateway } from '../../kit/apps/gateway-access.ts'
import { addGatewayUser } from '../../kit/apps/gateway-user.ts'
import { type AppsPast, appPasts, readAppsPast } from '../../kit/apps/past/files.ts'
import { loadApps } from '../../kit/apps/past/load.ts'
import { type Store, useStore } from '../../kit/store/store.ts'

const store = useStore()

async function gatewayOn(past: AppsPast, at: Store): Promise<TestGateway> {
  await loadApps(past, at)
  return TestGateway.open({ url: await addGatewayUser(at), keyPrefix: at.prefix })
}

describe.for(appPasts())('the past %s', name => {
  const past = readAppsPast(name)
  const { login, session, appId, user } = past.visitor

  test('has a login and a session that let their visitor in, and nobody else', async () => {
    const gateway = await gatewayOn(past, store())
    try {
      expect(await gateway.enter(appId, [login], [session])).toMatchObject({ user, route: { id: appId } })
      // By the session of before: no new one was made.
      expect((await gateway.enter(appId, [login], [session])).newSessionId).toBeUndefined()
      expect((await gateway.verdict(appId, [session], [login])).is).not.toBe('in')
    } finally {
      await gateway.close()
    }
  })

  test('has routes and members that can all be read', async () => {
    const gateway = await gatewayOn(past, store())
    try {
      expect(gateway.counts.brokenEntries).toBe(0)
      const { routes, complete } = await new RouteStore(store().connection, store().keys).read()
      expect(complete).toBe(true)
      const apps = past.objects.flatMap(({ kind, metadata }) => (kind === 'PhApplication' ? [metadata.name] : []))
      expect([...routes.keys()].toSorted()).toEqual(apps.toSorted())
    } finally {
      await gateway.close()
    }
  })

  test('has a start that a member asked for', async () => {
    await loadApps(past, store())
    const taken = await new IntentStore(store().connection, store().keys).take('replica')
    expect(taken).toMatchObject([{ id: 'stopped', user }])
  })
})
