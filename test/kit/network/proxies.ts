/** The addresses by which one replica reaches its servers, through proxies of its own. */
import { readFile, writeFile } from 'node:fs/promises'
import { parse } from 'yaml'
import type { ConfigPlan } from '../../../dev/stack/config.ts'
import { TcpProxy } from './proxy.ts'

export type Servers = Pick<ConfigPlan, 'redisUrl' | 'kubeconfig'>

export interface Proxies {
  readonly redis: TcpProxy
  readonly kubernetes: TcpProxy
  /** The replica's configuration. */
  readonly servers: Servers
}

/** `file` is the path, without extension, of a kubeconfig that leads through the proxy. */
export async function makeProxies(state: 'open' | 'shut', servers: Servers, file: string): Promise<Proxies> {
  const kubeconfig = `${file}.kubeconfig`
  const config = parse(await readFile(servers.kubeconfig, 'utf8'))
  const { cluster } = config.clusters[0]
  const redis = await TcpProxy.before(servers.redisUrl)
  const kubernetes = await TcpProxy.before(cluster.server)
  cluster.server = `https://127.0.0.1:${kubernetes.port}`
  await writeFile(kubeconfig, JSON.stringify(config), { mode: 0o600 })
  if (state === 'open') await Promise.all([redis.open(), kubernetes.open()])
  const redisUrl = Object.assign(new URL(servers.redisUrl), { port: String(redis.port) }).href
  return { redis, kubernetes, servers: { redisUrl, kubeconfig } }
}
