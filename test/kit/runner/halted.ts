/** A reader of a run's folder whose process is halted between two of its looks. */
import type { RunFolder } from '../../../src/runner/state/run-folder.ts'

/**
 * @param look the number of the look after which the reader is halted; the first one is 1
 * @param meanwhile what others do to the folder
 */
export function haltedAfter(folder: RunFolder, look: number, meanwhile: () => void): RunFolder {
  let looks = 0
  return new Proxy(folder, {
    get: (target, name) => {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const answer = value.apply(target, args)
        looks += 1
        if (looks === look) meanwhile()
        return answer
      }
    },
  })
}
