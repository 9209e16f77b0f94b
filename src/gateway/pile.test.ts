import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Pile } from './pile.ts'

it('Pile has what was added and not removed, in any order of both', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(20))), steps => {
      const pile = new Pile<number>()
      const places = []
      const model = new Set<number>()
      for (const [number, step] of steps.entries()) {
        if (step === null) {
          places.push(pile.add(number))
          model.add(number)
          continue
        }
        const place = places[step]
        if (!place) continue
        place.remove()
        model.delete(place.item)
      }
      expect(new Set(pile.all())).toEqual(model)
      expect(pile.size).toBe(model.size)
    }),
  )
})
