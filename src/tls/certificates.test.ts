import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { servedMetrics } from '../../test/kit/telemetry/served-metrics.ts'
import { type Issued, TestAuthority } from '../../test/kit/tls/authority.ts'
import { systemClock } from '../base/clock.ts'
import { Certificates } from './certificates.ts'
import { type Pair, readPair } from './files.ts'

let made: string
let first: Issued
let second: Issued
let expired: Issued
let authority: TestAuthority
beforeAll(() => {
  made = mkdtempSync(join(tmpdir(), 'skylab-tls-'))
  authority = new TestAuthority(made)
  first = authority.issue('first', { days: 10 })
  second = authority.issue('second', { days: 20 })
  expired = authority.issue('expired', { days: 1 })
}, 60_000)
afterAll(() => rmSync(made, { recursive: true }))

let folder: string
let certificates: Certificates | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skylab-tls-'))
})
afterEach(async () => {
  await certificates?.close()
  certificates = undefined
  rmSync(folder, { recursive: true })
})

const files = () => ({ certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') })

/** Writes files as a kubelet does for a Secret's volume: all at once, by replacing one link. */
function place({ cert, key }: Pick<Issued, 'cert' | 'key'>, version: number): void {
  const data = join(folder, `..version-${version}`)
  mkdirSync(data)
  writeFileSync(join(data, 'tls.crt'), cert)
  writeFileSync(join(data, 'tls.key'), key)
  symlinkSync(`..version-${version}`, join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  if (version > 1) return
  for (const name of ['tls.crt', 'tls.key']) symlinkSync(`..data/${name}`, join(folder, name))
}

/** Five days ahead, when the third certificate has expired. */
const clock = { ...systemClock, wallMs: () => Date.now() + 5 * 86_400_000 }

async function follow() {
  place(first, 1)
  const pairs: Pair[] = []
  const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
  certificates = new Certificates({ files: files(), first: await readPair(files()), clock, log })
  certificates.onChange(pair => pairs.push(pair))
  certificates.start()
  return { certificates, pairs, log }
}

const until = (what: () => unknown) => vi.waitUntil(what, { timeout: 20_000, interval: 10 })

describe('Certificates', () => {
  test('uses the new certificate when a kubelet replaces the link to it', async () => {
    const { certificates, pairs, log } = await follow()
    place(second, 2)
    await until(() => pairs.length === 1)
    expect([certificates.current.cert, certificates.current.key]).toEqual([second.cert, second.key])
    expect(log.error).not.toHaveBeenCalled()
    place(first, 3)
    await until(() => pairs.length === 2)
    expect(certificates.current.cert).toBe(first.cert)
  }, 30_000)

  test.each([
    [
      'a key of another certificate',
      () => ({ cert: second.cert, key: first.key }),
      'keyFile: the key does not belong to the certificate',
    ],
    ['no certificate', () => ({ cert: 'none', key: second.key }), 'certFile: the file has no certificate in PEM'],
    [
      'no key',
      () => ({ cert: second.cert, key: 'none' }),
      'keyFile: the file has no private key in PEM without a passphrase',
    ],
    ['a certificate that has expired', () => expired, 'certFile: it has expired'],
  ])(
    'keeps the former pair, with one log line, when the files hold %s',
    async (_, broken, problem) => {
      const { certificates, pairs, log } = await follow()
      place(broken(), 2)
      await until(() => certificates.unusable)
      expect(certificates.current.cert).toBe(first.cert)
      expect(log.error.mock.calls).toEqual([[{ problem }, expect.stringContaining('the former one stays in use')]])
      const registry = servedMetrics({ certificates: () => ({ api: certificates }) })
      const gauges = await registry.metrics()
      expect(gauges).toContain('skylab_tls_certificate_files_unusable{server="api"} 1')
      expect(gauges).toContain(
        `skylab_tls_certificate_expires_timestamp_seconds{server="api"} ${certificates.current.expiresMs / 1000}`,
      )
      place(second, 3)
      await until(() => pairs.length === 1)
      expect([certificates.unusable, certificates.current.cert]).toEqual([false, second.cert])
    },
    30_000,
  )
})

describe('readPair', () => {
  test('names the file that cannot be used, and nothing of its contents', async () => {
    place(first, 1)
    const clientCaFile = join(folder, 'ca.crt')
    const refused = (files: Parameters<typeof readPair>[0]) =>
      readPair(files).catch(({ key, message }) => [key, message])
    const missing = (path: string) => `the file ${path} cannot be read (ENOENT)`
    expect(await refused({ ...files(), certFile: 'nowhere' })).toEqual(['certFile', missing('nowhere')])
    expect(await refused({ ...files(), keyFile: 'nowhere' })).toEqual(['keyFile', missing('nowhere')])
    expect(await refused({ ...files(), clientCaFile })).toEqual(['clientCaFile', missing(clientCaFile)])
    writeFileSync(clientCaFile, first.key)
    expect(await refused({ ...files(), clientCaFile })).toEqual(['clientCaFile', 'the file has no certificate in PEM'])
    writeFileSync(clientCaFile, authority.ca)
    expect(await refused({ ...files(), clientCaFile })).toMatchObject({ clientCa: authority.ca })
  })
})
