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
  it('returns nothing when every file comes from a source', async () => {
    expect(await lines()).toEqual([])
  })

  it('names a file that no source has', async () => {
    await writeFile(join(rootfs, 'skylab/extra.mjs'), 'run()')
    expect(await lines()).toEqual(['/skylab/extra.mjs: comes from no source'])
  })

  it('names a changed file', async () => {
    await writeFile(join(rootfs, 'skylab/main.mjs'), 'run(); more()')
    expect(await lines()).toEqual(['/skylab/main.mjs: differs from lockfile'])
  })

  it('names a missing file', async () => {
    await rm(join(rootfs, 'etc/passwd'))
    expect(await lines()).toEqual(['/etc/passwd: is missing; checkout has it'])
  })

  it('names a link, wherever it leads', async () => {
    await symlink('main.mjs', join(rootfs, 'skylab/other.mjs'))
    expect(await lines()).toEqual(['/skylab/other.mjs: comes from no source'])
  })

  it('names a file with another owner, whatever its content', async () => {
    await chmod(join(rootfs, 'skylab/main.mjs'), 0o4755)
    expect(await lines()).toEqual(['/skylab/main.mjs: differs from lockfile'])
  })
})
