/** Loaded with the failpoints: a file sets the offset of a replica's wall clock. Its monotonic clock stays right. */
import { readFileSync, watch } from 'node:fs'
import { folderVariable, skewFile } from './arms.ts'

const folder = process.env[folderVariable]
const realNow = Date.now
let offMs = 0

if (folder !== undefined) {
  const file = skewFile(folder, process.env.SKYLAB_REPLICA ?? '')
  const read = () => {
    try {
      offMs = Number(readFileSync(file, 'utf8'))
    } catch {
      offMs = 0
    }
  }
  watch(folder, { persistent: false }, (_, name) => {
    if (name !== null && file.endsWith(name)) read()
  })
  read()
  globalThis.Date = class extends Date {
    static override now = () => realNow() + offMs

    constructor(...parts: readonly [] | ConstructorParameters<DateConstructor>) {
      super(...((parts.length === 0 ? [realNow() + offMs] : parts) as [number]))
    }
  } as DateConstructor
}
