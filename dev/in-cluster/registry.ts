/** The demo's registry for pods: with TLS, since others than this machine use it too. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { signCertificate } from '../kube/credentials.ts'
import { nodeIp } from '../node/network.ts'
import { registryHosts, registrySpec } from '../node/runtime.ts'
import { ApiClient } from '../process/api-client.ts'
import { freePort } from '../process/ports.ts'
import { startServer } from '../process/server.ts'
import type { Tools } from '../setup/setup.ts'

export interface PodRegistry {
  /** `host:port`, serving the images of the registry on loopback. */
  readonly address: string
  /** Path of its authority's certificate. */
  readonly authority: string
}

/** Starts it beside the one on loopback, and makes containerd trust it. `stateDir` is the cluster's. */
export async function startPodRegistry(stateDir: string, tools: Tools, signal?: AbortSignal): Promise<PodRegistry> {
  const pki = join(stateDir, 'pki')
  const name = 'pod-registry'
  const address = `${nodeIp}:${await freePort()}`
  await signCertificate({ pki, openssl: tools.program('openssl'), signal }, name, `/CN=${name}`, [
    'extendedKeyUsage=serverAuth',
    `subjectAltName=IP:${nodeIp}`,
  ])
  const authority = join(pki, 'ca.crt')
  trust(stateDir, address, authority)
  const tls = { certificate: join(pki, `${name}.crt`), key: join(pki, `${name}.key`) }
  const client = new ApiClient(`https://${address}`, '', readFileSync(authority, 'utf8'))
  try {
    const answers = async () => (await client.request('GET', '/v2/')).status === 200
    const spec = registrySpec(stateDir, tools, name, { addr: address, tls })
    await startServer(spec, { answers, limitMs: 20_000, signal })
  } finally {
    client.close()
  }
  return { address, authority }
}

function trust(stateDir: string, address: string, authority: string): void {
  const folder = join(registryHosts(stateDir), address)
  mkdirSync(folder, { recursive: true })
  const host = `[host."https://${address}"]\ncapabilities = ["pull", "resolve"]\nca = ${JSON.stringify(authority)}\n`
  writeFileSync(join(folder, 'hosts.toml'), `server = "https://${address}"\n\n${host}`)
}
