/** What people may do by the API server's authorizer, beside what their LNamespace says. */
import { systemClock } from '../../../../src/base/clock.ts'
import { tenantGroup } from '../../../../src/tenants/words.ts'
import type { TenantFleet } from '../../tenants/tenant-fleet.ts'
import type { Faults } from '../late-stories.ts'
import { isWhole } from '../points.ts'

/** How long a right may outlive its wish. In small size another attack runs beside, on as few processors. */
export const revokedLimitMs = isWhole ? 1_000 : 5_000

/** A right, who has it by an LNamespace, and the question of it. */
interface Right {
  readonly list: 'users' | 'managers' | 'sudoers'
  readonly may: (fleet: TenantFleet, tenant: string, user: string) => Promise<boolean>
}

export const rights = {
  use: { list: 'users', may: (fleet, namespace, user) => fleet.may(user, 'create', 'pods', { namespace }) },
  edit: {
    list: 'managers',
    may: (fleet, name, user) => fleet.may(user, 'patch', 'lnamespaces', { group: tenantGroup, name }),
  },
  sudo: {
    list: 'sudoers',
    may: (fleet, tenant, user) => fleet.may(user, 'impersonate', 'groups', { name: `${tenant}-sudoers` }),
  },
  self: { list: 'sudoers', may: (fleet, _, user) => fleet.may(user, 'impersonate', 'users', { name: user }) },
} as const satisfies Record<string, Right>

export type RightName = keyof typeof rights
const names = Object.keys(rights) as RightName[]

/**
 * Asks for every right of these people. `self` counts as that of this tenant alone, so nobody may be a sudoer of two.
 * Nobody may edit the LNamespace meanwhile.
 */
export async function differences(fleet: TenantFleet, tenant: string, people: readonly string[]): Promise<Faults> {
  const found = await fleet.read(tenant)
  const spec = found && !found.metadata.deletionTimestamp ? found.spec : {}
  const isListed = (right: RightName, person: string) =>
    (spec[rights[right].list] ?? []).some(({ name }: { name: string }) => name === person)
  const asked = people.flatMap(person => names.map(right => ({ person, right })))
  const answers = await Promise.all(
    asked.map(async each => ({
      ...each,
      has: await rights[each.right].may(fleet, tenant, each.person),
      should: isListed(each.right, each.person),
    })),
  )
  const more = answers.find(({ has, should }) => has && !should)
  const less = answers.find(({ has, should }) => !has && should)
  const excess = more && `${more.person} has the right to ${more.right}`
  return { excess, wrong: excess ?? (less && `${less.person} lacks the right to ${less.right}`) }
}

/** Milliseconds until nobody of these has a right that the LNamespace does not give him. */
export async function untilNoExcess(fleet: TenantFleet, tenant: string, people: readonly string[], limitMs = 20_000) {
  const begunMs = performance.now()
  for (;;) {
    const { excess } = await differences(fleet, tenant, people)
    const ms = performance.now() - begunMs
    if (excess === undefined || ms > limitMs) return ms
    await systemClock.sleep(10)
  }
}
