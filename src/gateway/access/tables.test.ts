import { describe, expect, it } from 'vitest'
import { members } from '../../../test/kit/apps/routes.ts'
import { ManualClock } from '../../../test/kit/clock.ts'
import { silentLog } from '../../../test/kit/log.ts'
import type { ClusterNames, Members } from '../../store/apps/members.ts'
import { MemberTable } from './tables.ts'
import { FakeBell, FakeTable, settle } from './testing/fakes.ts'

async function tableOf(
  entries: Readonly<Record<string, Members>>,
  names: ClusterNames = { usernameTemplate: 'oidc:{username}', groupTemplate: 'g:{group}' },
  complete = true,
) {
  const redis = new FakeTable<Members>()
  redis.complete = complete
  for (const [group, entry] of Object.entries(entries)) redis.put(group, entry)
  const table = new MemberTable(redis, names, { bell: new FakeBell(), clock: new ManualClock(), log: silentLog })
  table.start()
  await settle()
  return table
}

const ada = { user: 'ada', groups: ['physics', 'staff'] }

describe('MemberTable.isMember', () => {
  it('asks the LNamespace alone when there is one', async () => {
    const table = await tableOf({
      physics: members(['oidc:bob']),
      users: members(['oidc:ada']),
      groups: members([], { groups: ['g:staff'] }),
      plain: members(['ada'], { groups: ['staff'] }),
    })
    // The identity provider has her in physics, the LNamespace does not.
    expect(['physics', 'users', 'groups', 'plain'].map(group => table.isMember(ada, group))).toEqual([
      ...[false, true, true, false],
    ])
  })

  it('asks the identity’s groups when there is none', async () => {
    const table = await tableOf({})
    expect(table.isMember(ada, 'physics')).toBe(true)
    expect(table.isMember(ada, 'chemistry')).toBe(false)
    expect(table.isMember(ada, '')).toBe(false)
  })

  it('does not know while it is not known whether there is one', async () => {
    const table = await tableOf({ physics: members(['oidc:ada']) }, undefined, false)
    expect(table.isMember(ada, 'physics')).toBe(true)
    expect(table.isMember(ada, 'staff')).toBe('unknown')
  })

  it('knows nobody by a template that is not set', async () => {
    const entries = { physics: members(['ada', 'undefined'], { groups: ['physics'] }) }
    expect((await tableOf(entries, {})).isMember(ada, 'physics')).toBe(false)
  })

  it('makes nobody a user or a group of the cluster itself', async () => {
    const entries = { physics: members(['system:admin'], { groups: ['system:masters'] }) }
    const table = await tableOf(entries, { usernameTemplate: '{username}', groupTemplate: '{group}' })
    expect(table.isMember({ user: 'system:admin', groups: ['system:masters'] }, 'physics')).toBe(false)
  })

  it('takes a name as it is when it has marks of templates', async () => {
    const table = await tableOf({ physics: members(["oidc:$&$'{username}"]) })
    expect(table.isMember({ user: "$&$'{username}", groups: [] }, 'physics')).toBe(true)
  })
})
