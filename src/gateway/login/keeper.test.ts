import { expect, it } from 'vitest'
import { Sealer } from '../../store/sealing.ts'
import { Keeper } from './keeper.ts'

const hash = 'a'.repeat(64)
const kept = { token: 'refresh', subject: 'id-of-ada', scope: 'openid' }
const keeper = (...keys: readonly number[]) => new Keeper(new Sealer(keys.map(key => Buffer.alloc(32, key))))

it('Keeper opens what it has sealed for a login, also by a former key', () => {
  const sealed = keeper(1).seal(kept, hash)
  expect(sealed).not.toMatch(/refresh|ada/)
  expect(keeper(1).open(sealed, hash)).toEqual(kept)
  expect(keeper(2, 1).open(sealed, hash)).toEqual(kept)
})

it('Keeper opens nothing for another login, or without its key', () => {
  const sealed = keeper(1).seal(kept, hash)
  expect(() => keeper(1).open(sealed, 'b'.repeat(64))).toThrow()
  expect(() => keeper(2).open(sealed, hash)).toThrow()
  expect(() => keeper(1).open('', hash)).toThrow()
})
