import { expect, test } from 'vitest'
import { bill } from '../../test/kit/billing/bills.ts'
import type { BillEntry } from '../base/bill.ts'
import { differencesOf } from './differences.ts'

const listed = (entry: BillEntry, isBilled = true) => new Map([[entry.uid, { entry, isBilled }]])
const standing = ({ name, generation, revision, billing }: BillEntry) =>
  new Map([['u1', { name, generation, revision, billing }]])

test.each([
  ['nothing stands', new Map(), listed(bill()), [bill()]],
  ['nothing stands of what has no namespace yet', new Map(), listed(bill(), false), []],
  ['what stands is older', standing(bill()), listed(bill({ generation: 2 })), [bill({ generation: 2 })]],
  [
    'what stands is older, also without a namespace',
    standing(bill()),
    listed(bill({ generation: 2 }), false),
    [bill({ generation: 2 })],
  ],
  ['the rows differ', standing(bill({ billing: { a: '1' }, revision: 4 })), listed(bill()), [bill({ revision: 5 })]],
  ['all is as it should be', standing(bill()), listed(bill()), []],
  [
    'only the order of keys differs',
    standing(bill({ billing: { a: '1', b: '2' } })),
    listed(bill({ billing: { b: '2', a: '1' } })),
    [],
  ],
  [
    'the cluster was restored to an older generation',
    standing(bill({ generation: 9, billing: {} })),
    listed(bill()),
    [bill({ generation: 9, revision: 1 })],
  ],
  ['the cluster was restored, and nothing differs', standing(bill({ generation: 9 })), listed(bill()), []],
])('differencesOf puts what is needed when %s', (_, stands, list, puts) => {
  expect(differencesOf(stands, list).puts).toEqual(puts)
})

test('differencesOf names what stands of nobody', () => {
  expect(differencesOf(standing(bill()), new Map()).gone).toEqual([{ uid: 'u1', name: 'blue' }])
  expect(differencesOf(standing(bill()), listed(bill())).right).toEqual([bill()])
})
