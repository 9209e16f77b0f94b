import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeRegistry } from '../../test/kit/images/registry.ts'
import { pinFiles } from './pin.ts'

let folder: string
let registry: FakeRegistry
let said: string[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pin-'))
  registry = await FakeRegistry.start()
  said = []
})
afterEach(async () => {
  await registry.server.stop()
  await rm(folder, { recursive: true })
})

const pin = async (text: string) => {
  const file = join(folder, 'pod.yaml')
  await writeFile(file, text)
  const pinning = pinFiles({ files: [file], say: line => said.push(line), dockerConfig: folder })
  return { pinning, text: () => readFile(file, 'utf8') }
}

describe('pinFiles', () => {
  it('writes the digests of an image and of an index of images, as the registry has them', async () => {
    const [image, index] = [registry.push('1', 5), registry.pushIndex('2')]
    const name = `${registry.server.host}/some/lab`
    const { pinning, text } = await pin(`image: ${name}:1\n---\nimage: ${name}:2\n`)
    await pinning
    expect(await text()).toBe(`image: ${name}:1@${image}\n---\nimage: ${name}:2@${index}\n`)
    expect(said).toEqual([expect.stringContaining(`${name}:1@${image}`), expect.stringContaining(`${name}:2@${index}`)])
  })

  it('writes nothing when one of the images is missing', async () => {
    registry.push('1', 5)
    const name = `${registry.server.host}/some/lab`
    const before = `image: ${name}:1\n---\nimage: ${name}:none\n`
    const { pinning, text } = await pin(before)
    await expect(pinning).rejects.toThrow(`${name}:none: the registry has no such image`)
    expect(await text()).toBe(before)
  })

  it("sends the password of Docker's config.json to a registry that asks for one", async () => {
    registry.asks = 'bearer'
    registry.tokens.users.set('ada', 'secret')
    const digest = registry.push('1', 5)
    const auths = { [registry.server.host]: { username: 'ada', password: 'secret' } }
    await writeFile(join(folder, 'config.json'), JSON.stringify({ auths }))
    const { pinning, text } = await pin(`image: ${registry.server.host}/some/lab:1\n`)
    await pinning
    expect(await text()).toContain(digest)
  })
})
