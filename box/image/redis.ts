/** A tree with Debian's Redis alone: the program of this machine, and the libraries that it asks for. */
import { chmod, copyFile, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { findProgram, run } from '../command.ts'
import type { ImageConfig } from './layout.ts'

/** What an image of such a tree must say. */
export const redisConfig: ImageConfig = { WorkingDir: '/data', Cmd: ['redis-server'], Env: ['PATH=/usr/bin'] }

/** Makes it in an empty or missing folder. Throws where Redis is not installed. */
export async function redisTree(rootfs: string): Promise<void> {
  const program = findProgram('redis-server')
  if (!program) throw new Error('there is no redis-server: set-up was not asked for it')
  await copyInto(rootfs, program, '/usr/bin/redis-server')
  for (const library of librariesOf(await run('ldd', [program]))) await copyInto(rootfs, library, library)
  for (const folder of ['data', 'tmp']) {
    await mkdir(join(rootfs, folder), { recursive: true })
    await chmod(join(rootfs, folder), 0o1777)
  }
}

/** Paths in the output of ldd, the loader's too. The kernel's own library has none. */
export const librariesOf = (output: string): string[] =>
  output.split('\n').flatMap(line => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1] ?? [])

/** Copies what a path leads to, whatever links lie on the way. */
async function copyInto(rootfs: string, from: string, to: string): Promise<void> {
  await mkdir(join(rootfs, dirname(to)), { recursive: true })
  await copyFile(from, join(rootfs, to))
}
