import { expect, test } from 'vitest'
import { useFleet } from './harness/fleet.ts'

const fleet = useFleet()

test('a lab is created and deleted', async () => {
  const user = fleet().user()
  expect((await user.create()).status).toBe(303)
  const created = await user.follow()
  expect(created.outcome).toBe('complete')
  expect((await fleet().admin.delete(user.username)).status).toBe(202)
  expect((await user.follow()).outcome).toBe('complete')
  expect(await fleet().world.leftOf(user.username)).toEqual([])
})

test('a killed owner is not missed', async () => {
  const user = fleet().user()
  const arm = fleet().arm('lab.create.make.pod.after-act', 'kill', { user: user.username })
  expect((await user.create()).status).toBe(303)
  const following = user.follow()
  const { replica } = await arm.landed()
  expect((await following).outcome).toBe('complete')
  await fleet().start(fleet().indexOf(replica))
  const writes = await fleet().audit.writesOf(fleet().namespace(user.username))
  expect(
    writes.filter(({ verb, code }) => verb === 'create' && code < 300).map(({ resource }) => resource),
  ).toHaveLength(8)
})
