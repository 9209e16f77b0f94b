/** The test cloud for pods: EC2's API by TLS at the node's address, and virtual machines that pods reach by SSH. */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { motoEnvironment } from '../cloud/moto.ts'
import { type Cloud, startCloud } from '../cloud/start.ts'
import { signCertificate } from '../kube/credentials.ts'
import { nodeIp, podCidr } from '../node/network.ts'
import type { Progress } from '../process/progress.ts'
import type { Tools } from '../setup/setup.ts'

/** The component dispatch lets pods out to this port of any address. */
const port = 443

export interface PodCloud {
  readonly cloud: Cloud
  /** A block `DriverParameters` for pods. */
  readonly parameters: Cloud['parameters']
  /** A command by which a new machine finds the way back to pods. */
  readonly initCommand: string
  close(): Promise<void>
}

export interface PodCloudOptions {
  /** The folder of an open run. */
  readonly stateDir: string
  /** That of the cluster, whose authority signs the certificate. */
  readonly clusterDir: string
  readonly tools: Tools
  readonly signal?: AbortSignal | undefined
}

/** Installs what the cloud is made of, where the cache lacks it. */
export const prepareCloud = (progress: Progress, signal?: AbortSignal): Promise<string> =>
  motoEnvironment(progress, signal)

/** Starts it; the node must be up. Throws when the port is taken on this machine. */
export async function startPodCloud({ stateDir, clusterDir, tools, signal }: PodCloudOptions): Promise<PodCloud> {
  const pki = join(clusterDir, 'pki')
  const name = 'cloud'
  await signCertificate({ pki, openssl: tools.program('openssl'), signal }, name, `/CN=${name}`, [
    'extendedKeyUsage=serverAuth',
    `subjectAltName=IP:${nodeIp}`,
  ])
  const [cert, key] = ['crt', 'key'].map(kind => readFileSync(join(pki, `${name}.${kind}`)))
  const cloud = await startCloud({ stateDir, machines: true, signal })
  const relay = relayTo(new URL(cloud.endpoint), { cert: cert!, key: key! })
  const close = async () => {
    await relay.close()
    await cloud.close()
  }
  try {
    await relay.listen()
  } catch (error) {
    await close()
    throw error
  }
  const gateway = cloud.machines!.network.cidr.replace(/\d+\/\d+$/, '1')
  return {
    cloud,
    parameters: { ...cloud.parameters, Endpoint: `https://${nodeIp}` },
    initCommand: `ip route add ${podCidr} via ${gateway}`,
    close,
  }
}

/** The front speaks plain HTTP, to this machine alone: this adds TLS for others. */
function relayTo(front: URL, credentials: { readonly cert: Buffer; readonly key: Buffer }) {
  const open = new Set<Socket>()
  const server = createServer(credentials, visitor => {
    const inner = connect(Number(front.port), front.hostname)
    for (const [socket, other] of [
      [visitor, inner],
      [inner, visitor],
    ] as const) {
      open.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        open.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  return {
    listen: () =>
      new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, nodeIp, resolve)
      }),
    close: async () => {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}
