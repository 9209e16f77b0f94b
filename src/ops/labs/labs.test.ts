import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { Acceptance } from '../acceptance.ts'
import { Labs, type LabsOptions } from './labs.ts'

test('Labs.events reads after the requests that are being accepted', async () => {
  const acceptance = new Acceptance(new ManualClock())
  const order: string[] = []
  const open = async () => {
    order.push('read')
    return null
  }
  const feeds = { open } as unknown as LabsOptions['feeds']
  const labs = new Labs({ acceptance, feeds } as Partial<LabsOptions> as LabsOptions)
  const accepting = Promise.withResolvers<void>()
  void acceptance.during(() => accepting.promise.then(() => order.push('accepted')))
  const events = labs.events('ada')
  accepting.resolve()
  expect(await events).toBeNull()
  expect(order).toEqual(['accepted', 'read'])
})
