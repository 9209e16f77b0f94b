import { cp, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { run } from '../process/command.ts'
import { bundle, bundleRunner } from './bundle.ts'

const mib = 2 ** 20

test('bundle makes a program without source and packages, and with only the used parts of the Kubernetes client and undici', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'bundle-'))
  try {
    const main = await bundle({ dir })
    expect(await run(process.execPath, [main, '--version'])).toBe(`skylab ${packageJson.version}\n`)
    const runner = join(dirname(main), 'runner.cjs')
    expect(await run(process.execPath, [runner, '--version'])).toBe(`skylab ${packageJson.version}\n`)
    expect((await stat(runner)).size).toBeLessThan(0.6 * mib)
    const names = (await readdir(dirname(main))).filter(name => name.endsWith('.mjs'))
    const sizes = await Promise.all(names.map(async name => (await stat(join(dirname(main), name))).size))
    const total = sizes.reduce((sum, size) => sum + size, 0)
    expect(total).toBeGreaterThan(2 * mib)
    // 0.25 MB of it is graphql, which only the process of apps loads, where it has REST; 0.12 MB is the client of PostgreSQL,
    // which only that of tenants loads, where it sends bills; 0.35 MB is SSH, and 1.5 MB is the client of EC2,
    // which only that of dispatch loads.
    expect(total).toBeLessThan(7 * mib)
  } finally {
    await rm(dir, { recursive: true })
  }
}, 60_000)

test('bundleRunner makes the same file when the source has no tsconfig.json, as in the build of the image', async () => {
  const checkout = fileURLToPath(new URL('../..', import.meta.url))
  const dir = await mkdtemp(join(tmpdir(), 'bundle-'))
  try {
    const root = join(dir, 'root')
    for (const name of ['src', 'package.json']) await cp(join(checkout, name), join(root, name), { recursive: true })
    await symlink(join(checkout, 'node_modules'), join(root, 'node_modules'))
    await bundleRunner(checkout, join(dir, 'here'))
    await bundleRunner(root, join(dir, 'there'))
    const [here, there] = await Promise.all(['here', 'there'].map(at => readFile(join(dir, at, 'runner.cjs'), 'utf8')))
    expect(there).toBe(here)
    expect(here).toMatch(/^"use strict";/)
  } finally {
    await rm(dir, { recursive: true })
  }
}, 60_000)
