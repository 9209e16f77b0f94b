import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contentsOf, differences, sha256 } from './compare.ts'

let rootfs: string
beforeEach(async () => {
  rootfs = await mkdtemp(join(tmpdir(), 'compare-'))
  await mkdir(join(rootfs, 'etc'))
  await mkdir(join(rootfs, 'skylab'))
  await writeFile(join(rootfs, 'etc/passwd'), 'skylab')
  await writeFile(join(rootfs, 'skylab/main.mjs'), 'run()')
})
afterEach(() => rm(rootfs, { recursive: true }))

const sources = {
  checkout: new Map([['/etc/passwd', sha256('skylab')]]),
  lockfile: new Map([['/skylab/main.mjs', sha256('run()')]]),
}
const lines = async () => differences(await contentsOf(rootfs), sources)

describe('differences', () => {
  it('are none when every file is that of a source', async () => {
    expect(await lines()).toEqual([])
  })

  it('name a file that no source has', async () => {
    await writeFile(join(rootfs, 'skylab/extra.mjs'), 'run()')
    expect(await lines()).toEqual(['/skylab/extra.mjs: is from nowhere'])
  })

  it('name a file that was changed', async () => {
    await writeFile(join(rootfs, 'skylab/main.mjs'), 'run(); more()')
    expect(await lines()).toEqual(['/skylab/main.mjs: is not what lockfile has'])
  })

  it('name a file that is missing', async () => {
    await rm(join(rootfs, 'etc/passwd'))
    expect(await lines()).toEqual(['/etc/passwd: is missing; checkout has it'])
  })

  it('name a link, wherever it leads', async () => {
    await symlink('main.mjs', join(rootfs, 'skylab/other.mjs'))
    expect(await lines()).toEqual(['/skylab/other.mjs: is from nowhere'])
  })

  it('name a file that runs as another user, whatever is in it', async () => {
    await chmod(join(rootfs, 'skylab/main.mjs'), 0o4755)
    expect(await lines()).toEqual(['/skylab/main.mjs: is not what lockfile has'])
  })
})
