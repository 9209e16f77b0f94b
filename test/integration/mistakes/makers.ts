/** Makes each mistake of the table: a change to a working configuration. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import { type Flaw, kubeconfigWith, type Servers } from './bench.ts'
import type { Row } from './rows.ts'

export interface Wrong {
  /** Blocks of the configuration that replace the working ones. */
  readonly config: ConfigInput
  /** The configured address of the server. */
  readonly host?: string
  readonly env?: Readonly<Record<string, string>>
}

type Make = (servers: Servers) => Wrong

/** A name that needs no DNS server to fail. */
const noHost = 'nowhere..example'
const password = 'a-secret-that-no-log-has'
/** Texts that no log line and no response may contain. */
export const secrets = [password]

const local = (port: number | string) => `127.0.0.1:${port}`
const portOf = (url: string) => new URL(url).port

const redis =
  (address: (servers: Servers) => string, more: (servers: Servers) => ConfigInput['redis'] = () => ({})): Make =>
  servers => {
    const url = address(servers)
    return {
      config: {
        redis: { url, connectTimeoutMs: url.endsWith(`:${servers.hangingPort}`) ? 500 : 10_000, ...more(servers) },
      },
      host: new URL(url).host,
    }
  }

const trusting = ({ authority }: Servers) => ({ caFile: authority.caFile })
const byTls =
  (flaw: Flaw) =>
  ({ redisByTls }: Servers) =>
    `rediss://program:program@${local(redisByTls[flaw].port)}`

const kubernetes =
  (name: string, parts: (servers: Servers) => Parameters<typeof kubeconfigWith>[2]): Make =>
  servers => {
    const changed = parts(servers)
    const kubeconfig = kubeconfigWith(servers.folder, name, changed)
    const host = changed.server && new URL(changed.server).host
    // A Redis of their own, whose records no replica has compared.
    const url = `redis://program:program@${local(servers.redis.port)}`
    const seconds = changed.server?.endsWith(`:${servers.hangingPort}`) ? 1 : 10
    return {
      config: { redis: { url }, kubernetes: { kubeconfig, requestTimeoutSeconds: seconds } },
      ...(host && { host }),
    }
  }

const base64 = (text: string) => Buffer.from(text).toString('base64')
/** An authority other than the API server's. */
const trustingOurs = ({ authority }: Servers) => ({ 'certificate-authority-data': base64(authority.ca) })

const images = (block: ConfigInput['images']): ConfigInput => ({
  images: { recommendedTag: 'recommended', prepull: { enabled: false }, timeoutSeconds: 20, ...block },
})

/** Not at the loopback address: registries there are used without TLS. */
const registry =
  (hostOf: (servers: Servers) => string, more: (servers: Servers) => ConfigInput['images'] = () => ({})): Make =>
  servers => {
    const host = hostOf(servers)
    return { config: images({ registry: host, docker: { repository: 'team/lab' }, ...more(servers) }), host }
  }

const registryByTls = (flaw: Flaw) => registry(({ https }) => `0.0.0.0:${portOf(https[flaw].url)}`, trusting)

const dockerConfig = (folder: string, host: string) => {
  const file = join(folder, 'docker-config.json')
  writeFileSync(file, JSON.stringify({ auths: { [host]: { auth: base64(`ada:${password}`) } } }))
  return file
}

const google =
  (block: (servers: Servers) => { readonly endpoint?: string; readonly key?: object }): Make =>
  servers => {
    const { endpoint, key = {} } = block(servers)
    const gar = { ...servers.google.gar(), ...(endpoint && { endpoint }) }
    const credentialsFile = join(servers.folder, `google-${Object.keys(key).length}.json`)
    writeFileSync(credentialsFile, servers.google.key(key))
    return { config: images({ gar, credentialsFile }), host: new URL(gar.endpoint).host }
  }

const otherKey = () => ({
  private_key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
})

const issuer =
  (address: (servers: Servers) => string, { trusts = true, timeoutSeconds = 20 } = {}): Make =>
  servers => {
    const url = address(servers)
    const oidc = { issuer: url, audience: 'skylab', timeoutSeconds }
    const env = trusts ? { NODE_EXTRA_CA_CERTS: servers.authority.caFile } : {}
    return { config: { identity: { provider: 'oidc', oidc } }, env, host: new URL(url).host }
  }

const gafaelfawr =
  (address: (servers: Servers) => string): Make =>
  servers => {
    const baseUrl = address(servers)
    const block = { baseUrl, trustWithoutSecret: true, timeoutSeconds: 20 }
    return { config: { identity: { provider: 'gafaelfawr', gafaelfawr: block } }, host: new URL(baseUrl).host }
  }

export const makers: Readonly<Record<Row['dependency'], Readonly<Record<string, Make>>>> = {
  Redis: {
    'wrong password': redis(servers => `redis://program:${password}@${local(servers.redis.port)}`),
    'no password': redis(servers => `redis://${local(servers.redis.port)}`),
    'wrong host name': redis(() => `redis://program:${password}@${noHost}:6379`),
    'wrong port': redis(servers => `redis://program:${password}@${local(servers.unusedPort)}`),
    'certificate of an unknown authority': redis(byTls('none'), ({ strangers }) => ({ caFile: strangers.caFile })),
    'expired certificate': redis(byTls('expired'), trusting),
    'certificate for another name': redis(byTls('otherName'), trusting),
    '`redis://` for a server with TLS': redis(servers => byTls('none')(servers).replace('rediss', 'redis')),
    '`rediss://` for a server without TLS': redis(
      ({ redis }) => `rediss://program:program@${local(redis.port)}`,
      () => ({ connectTimeoutMs: 500 }),
    ),
    'a policy that drops connections': redis(servers => `redis://program:${password}@${local(servers.hangingPort)}`),
  },
  'Kubernetes API': {
    'wrong token': kubernetes('token', () => ({ token: password })),
    'wrong host name': kubernetes('host', () => ({ server: `https://${noHost}:6443` })),
    'wrong port': kubernetes('port', ({ unusedPort }) => ({ server: `https://${local(unusedPort)}` })),
    'certificate of an unknown authority': kubernetes('authority', trustingOurs),
    'expired certificate': kubernetes('expired', servers => ({
      server: servers.https.expired.url,
      ...trustingOurs(servers),
    })),
    'certificate for another name': kubernetes('name', () => ({ 'tls-server-name': 'elsewhere.example' })),
    '`http://` for a server with TLS': kubernetes('http', ({ https }) => ({ server: `http://${https.none.host}` })),
    '`https://` for a server without TLS': kubernetes('https', ({ http }) => ({ server: `https://${http.host}` })),
    'a policy that drops connections': kubernetes('hang', ({ hangingPort }) => ({
      server: `https://${local(hangingPort)}`,
    })),
  },
  registry: {
    'wrong password': registry(
      ({ http }) => http.host,
      ({ http, folder }) => ({ credentialsFile: dockerConfig(folder, http.host) }),
    ),
    'no password': registry(({ http }) => http.host),
    'wrong host name': registry(() => `${noHost}:5000`),
    'wrong port': registry(({ unusedPort }) => `0.0.0.0:${unusedPort}`),
    'certificate of an unknown authority': registry(({ https }) => `0.0.0.0:${portOf(https.none.url)}`),
    'expired certificate': registryByTls('expired'),
    'certificate for another name': registryByTls('otherName'),
    '`plainHttp` for a server with TLS': registry(
      ({ https }) => `0.0.0.0:${portOf(https.none.url)}`,
      () => ({ plainHttp: true }),
    ),
    'TLS for a server without it': registry(({ http }) => `0.0.0.0:${portOf(http.url)}`),
    'a policy that drops connections': registry(
      ({ hangingPort }) => `0.0.0.0:${hangingPort}`,
      () => ({ timeoutSeconds: 1 }),
    ),
    'wrong key of a service account (Artifact Registry)': google(() => ({ key: otherKey() })),
    'wrong port (Artifact Registry)': google(({ unusedPort }) => ({ endpoint: `http://${local(unusedPort)}` })),
  },
  'identity provider': {
    'wrong host name of the issuer': issuer(() => `https://${noHost}`),
    'wrong port of the issuer': issuer(({ unusedPort }) => `https://${local(unusedPort)}`),
    'wrong path of the issuer': issuer(({ https }) => `${https.none.url}/realms/none`),
    'certificate of an unknown authority': issuer(({ https }) => https.none.url, { trusts: false }),
    'expired certificate': issuer(({ https }) => https.expired.url),
    'certificate for another name': issuer(({ https }) => https.otherName.url),
    '`http://` for a server with TLS': issuer(({ https }) => `http://${https.none.host}`),
    '`https://` for a server without TLS': issuer(({ http }) => `https://${http.host}`),
    'a policy that drops connections': issuer(({ hangingPort }) => `https://${local(hangingPort)}`, {
      timeoutSeconds: 1,
    }),
    'wrong port of Gafaelfawr': gafaelfawr(({ unusedPort }) => `https://${local(unusedPort)}`),
    'wrong path of Gafaelfawr': gafaelfawr(({ http }) => http.url),
  },
}
