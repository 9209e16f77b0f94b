/** Certificates for TLS servers of tests, by an authority of this process that their clients trust. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { testBed } from '../testbed.ts'
import { type Issued, TestAuthority } from './authority.ts'

/** Whether every fleet and every Redis uses TLS. */
export const everythingByTls = process.env.SKYLAB_TEST_TLS === '1'
/** Names in certificates of servers, besides the address of this machine. */
export const serverName = 'skylab.skylab.svc'

export interface TestTls {
  readonly authority: TestAuthority
  /** The certificate of every server on loopback. */
  readonly server: Issued
}

let made: TestTls | undefined

export function testTls(): TestTls {
  if (made) return made
  const folder = join(testBed().stateDir, `tls-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  const authority = new TestAuthority(folder)
  setDefaultCACertificates([...getCACertificates('default'), authority.ca])
  made = { authority, server: authority.issue('server', { alternatives: ['IP:127.0.0.1', `DNS:${serverName}`] }) }
  return made
}

/** Options for a Redis. */
export function redisTls() {
  const { authority, server } = testTls()
  return { certFile: server.certFile, keyFile: server.keyFile, caFile: authority.caFile }
}
