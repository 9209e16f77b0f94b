import { expect, it } from 'vitest'
import { collectGarbage } from '../../test/kit/garbage.ts'
import { silentLog } from '../../test/kit/log.ts'
import { Picture } from './picture.ts'
import { readEvent } from './seen.ts'

it('Picture keeps no chunk from the network when an object is not read yet', async () => {
  const picture = new Picture(
    { kind: 'Pod', lazy: true, project: ({ metadata }) => metadata.name, log: silentLog },
    () => {},
  )
  const chunk = new WeakRef(putFromChunk(picture))
  await collectGarbage()
  expect(chunk.deref()).toBeUndefined()
  expect(picture.cache.get('nublado-ada/nb-ada')?.value).toBe('nb-ada')
})

/** @returns the memory of the chunk */
function putFromChunk(picture: Picture<string>): ArrayBuffer {
  const metadata = { name: 'nb-ada', namespace: 'nublado-ada', uid: 'u-1', resourceVersion: '7' }
  const object = { kind: 'Pod', apiVersion: 'v1', metadata }
  const chunk = new TextEncoder().encode(JSON.stringify({ type: 'ADDED', object })).buffer
  picture.put(readEvent(Buffer.from(chunk)).seen!)
  return chunk
}
