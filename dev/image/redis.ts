/** A tree with Debian's Redis: server and client of this machine, and their libraries. */
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ImageConfig } from './layout.ts'
import { copyPrograms } from './programs.ts'

/** The configuration for an image of such a tree. */
export const redisConfig: ImageConfig = { WorkingDir: '/data', Cmd: ['redis-server'], Env: ['PATH=/usr/bin'] }

/** Makes it in an empty or missing folder. Throws when Redis is not installed. */
export async function redisTree(rootfs: string): Promise<void> {
  await copyPrograms(rootfs, { 'redis-server': '/usr/bin/redis-server', 'redis-cli': '/usr/bin/redis-cli' })
  for (const folder of ['data', 'tmp']) {
    await mkdir(join(rootfs, folder), { recursive: true })
    await chmod(join(rootfs, folder), 0o1777)
  }
}
