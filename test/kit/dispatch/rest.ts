/** The API of containers over the real store, without a port: routes, services, and the bell. */
import { createDispatchApi } from '../../../src/api/dispatch/app.ts'
import { managementRoot, prefixes } from '../../../src/api/dispatch/parts.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { secretTest } from '../../../src/base/secret-env.ts'
import { secretPatterns } from '../../../src/config/lab.ts'
import { ManagementService } from '../../../src/containers/management.ts'
import { ContainerService } from '../../../src/containers/service.ts'
import { Tenancy } from '../../../src/containers/tenancy.ts'
import type { OfferedType } from '../../../src/dispatch/configured.ts'
import { type MemberStore, SomeMembers } from '../../../src/store/apps/members.ts'
import { Bell } from '../../../src/store/bell.ts'
import { Sealer } from '../../../src/store/sealing.ts'
import { StreamReader } from '../../../src/store/streams.ts'
import { Conformance } from '../api/conformance.ts'
import { dispatchDocument, dispatchParts } from '../api/dispatch-api.ts'
import { checkedCalls } from '../api/scripted-api.ts'
import type { Dispatch } from './store.ts'

const type = (name: string, vcpus: number, price: number): OfferedType => ({
  ...{ name, providerType: name, group: name, vcpus, ramBytes: vcpus * 2 ** 32, scratchBytes: 10 ** 10, gpus: 0 },
  ...{ preemptible: false, price, addedScratchBytes: 0 },
})

export const offered = [type('small', 2, 0.1), type('large', 16, 1)]
const rules = { maximumPriceFactor: 1.5, reserveExtraRamBytes: 0 }

/**
 * A replica's REST. The test closes it.
 * @param tenants the table of members; undefined: there are no tenants
 */
export function dispatchRest(dispatch: Dispatch, whenTagged?: () => Promise<boolean>, tenants?: MemberStore['table']) {
  const { containers: store, machines, connection } = dispatch
  const bell = new Bell(connection, dispatch.store.keys.bell, systemClock)
  const heard = bell.listen()
  const sealer = new Sealer([Buffer.alloc(32, 1)])
  const counted = tenants ? ['physics', 'biology'] : []
  const members = new SomeMembers(tenants!, counted)
  const tenancy = new Tenancy({ members, names: { usernameTemplate: 'oidc:{username}' }, tenants: counted })
  const containers = new ContainerService({
    ...{ store, rules, clock: systemClock, types: () => offered, tenancy },
    streams: new StreamReader(bell, systemClock),
    // The store names keys of its own in tests.
    sealer: { seal: (text, name, nonce) => sealer.seal(text, name, nonce) },
    isSecret: secretTest(secretPatterns),
    onMore: (uuid, listener) => bell.on(({ subject }) => (!subject || subject.name === uuid ? listener() : undefined)),
  })
  const management = new ManagementService({ containers: store, machines, rules, types: () => offered, whenTagged })
  const app = createDispatchApi({ ...dispatchParts(), clock: systemClock, containers, management })
  const call = checkedCalls(app, new Conformance(dispatchDocument()), path => {
    if (path.startsWith('!')) return `${managementRoot}${path.slice(1)}`
    return path.startsWith('/admin/') ? `${prefixes.admin}${path.slice(6)}` : `${prefixes.user}${path}`
  })
  return {
    call,
    sealer,
    close: async () => {
      bell.close()
      await heard
    },
  }
}
