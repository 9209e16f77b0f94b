import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createProgress } from '../process/progress.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setup-'))
  vi.stubEnv('PATH', folder)
  vi.stubEnv('XDG_CACHE_HOME', join(folder, 'cache'))
  vi.resetModules()
  vi.doMock('./debian.ts', async original => ({
    ...(await original<typeof import('./debian.ts')>()),
    // Hides this machine's packages, so that the test is the same everywhere.
    debianProgram: (name: string) => ({ name, isPresent: () => present.has(name) }),
    installPackages: async (parts: Array<{ name: string }>) => void installed.push(...parts.map(part => part.name)),
  }))
})
afterEach(() => {
  rmSync(folder, { recursive: true })
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  vi.doUnmock('./debian.ts')
  // Modules loaded so far have seen the real PATH and debian.ts.
  vi.resetModules()
  present.clear()
  installed.length = 0
})

const present = new Set<string>()
const installed: string[] = []

const quiet = () => createProgress({ durationsFile: join(folder, 'durations.json'), out: { write: () => {} } })

function beUser(uid: number): void {
  vi.spyOn(process, 'getuid').mockReturnValue(uid)
}

test('setup names everything that is missing in one message to an ordinary user, and installs nothing', async () => {
  beUser(1000)
  present.add('haproxy')
  const { setup } = await import('./setup.ts')
  const attempt = setup(['redis', 'balancer', 'cluster'], quiet())
  await expect(attempt).rejects.toMatchObject({
    name: 'MissingPackagesError',
    packages: ['redis-server', 'openssl', 'python3', 'python3-venv'],
    message: expect.stringMatching(
      /only root can install them: .*\n *apt-get install redis-server openssl python3 python3-venv$/,
    ),
  })
  expect(installed).toEqual([])
})

test('setup gives root without apt-get the same message', async () => {
  beUser(0)
  const command = await import('../process/command.ts')
  command.searchPath.splice(0, Infinity, folder)
  const { setup } = await import('./setup.ts')
  await expect(setup(['redis'], quiet())).rejects.toThrow('there is no apt-get here: redis-server')
})

test('setup installs for root only the missing packages, each once', async () => {
  beUser(0)
  present.add('redis-server')
  writeFileSync(join(folder, 'apt-get'), '')
  chmodSync(join(folder, 'apt-get'), 0o755)
  const { setup } = await import('./setup.ts')
  await setup(['redis', 'balancer', 'balancer'], quiet())
  expect(installed).toEqual(['haproxy'])
})

test('program refuses a name that no need covers', async () => {
  present.add('redis-server')
  const { setup } = await import('./setup.ts')
  const tools = await setup(['redis'], quiet())
  expect(() => tools.program('kubelet')).toThrow('set-up was not asked for it')
})
