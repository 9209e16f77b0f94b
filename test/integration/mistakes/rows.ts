/** Mistakes in the connections to dependencies, and the words for each: for docs/mistakes.md and for the test that makes them. */

/** Properties that all mistakes with one dependency share. */
export interface Dependency {
  /** Its name in log lines and at `/readyz`. */
  readonly name: string
  /** The log's message before the reason. */
  readonly trouble: string
  readonly over: string
  /** Whether a replica that has just started waits for it; otherwise it becomes ready, and lists it. */
  readonly waits: boolean
  /** The API's answer, up to the reason. */
  readonly answer: string
  /** The settings that correct the mistake. */
  readonly settings: string
}

const usable = (name: string) => ({ name, trouble: `${name} cannot be used`, over: `${name} can be used again` })

export const dependencies = {
  Redis: {
    ...usable('Redis'),
    waits: true,
    answer: '503 Redis does not answer: ',
    settings:
      '`redis.url`, `redis.usernameFile`, `redis.passwordFile`, `redis.caFile`; NetworkPolicy of the controller and of Redis',
  },
  'Kubernetes API': {
    ...usable('the Kubernetes API'),
    waits: true,
    answer: '503 the records are being compared with the cluster, but Kubernetes does not answer: ',
    settings:
      '`kubernetes.kubeconfig`; in a pod, the token and `ca.crt` of its ServiceAccount; egress to the API server',
  },
  registry: {
    name: 'the registry',
    trouble: 'the registry cannot be read',
    over: 'the registry can be read again',
    waits: false,
    answer: '503 the registry was not read yet: ',
    settings:
      '`images.registry`, `images.plainHttp`, `images.credentialsFile`, `images.caFile`, `images.gar`; egress to the registry',
  },
  'identity provider': {
    ...usable('the identity provider'),
    waits: false,
    answer: '503 the caller cannot be identified right now: the identity provider cannot be used: ',
    settings:
      '`identity.oidc.issuer` or `identity.gafaelfawr.baseUrl`; an authority of your own by `NODE_EXTRA_CA_CERTS`; egress to the provider',
  },
} as const satisfies Record<string, Dependency>

export interface Row {
  readonly dependency: keyof typeof dependencies
  readonly mistake: string
  /** The reason in the API's answers, without names of hosts. */
  readonly words: string
  /** The reason in the log and at `/readyz`: WORDS is `words`, HOST is the configured address, `…` is any text. */
  readonly reason: string
}

const late =
  'there is no answer in time: it hangs, its address is wrong, or a network policy or firewall drops the connection'
const untrusted = 'its certificate is not from a trusted authority'
const noTls = 'the server does not speak TLS'
const hangsUp = 'the server closes the connection: it may expect TLS'

type Said = Pick<Row, 'words' | 'reason'>
const said = (words: string, detail?: string): Said => ({ words, reason: detail ? `WORDS (${detail})` : 'WORDS' })

/** Mistakes of network and TLS, equal for all dependencies. `trustBy` is the setting for an authority. */
const usual = (trustBy: string) => ({
  name: said('the host name is unknown', 'ENOTFOUND …'),
  port: said('nothing listens on this port', 'ECONNREFUSED HOST'),
  authority: said(untrusted, `…; name the authority in ${trustBy}`),
  expired: said('its certificate has expired', 'CERT_HAS_EXPIRED'),
  otherName: said('its certificate is for another host name', 'ERR_TLS_CERT_ALTNAME_INVALID …; it has …'),
  noTls: said(noTls, '…'),
  late: said(late, '…'),
})

const rowsOf = (dependency: Row['dependency'], mistakes: Readonly<Record<string, Said>>): Row[] =>
  Object.entries(mistakes).map(([mistake, said]) => ({ dependency, mistake, ...said }))

const redis = usual('redis.caFile')
const kubernetes = usual('certificate-authority-data of the kubeconfig, or ca.crt of the ServiceAccount')
const identity = usual('NODE_EXTRA_CA_CERTS')
/** The registry's lines begin with the host, since there can be several. */
const atHost = ({ words, reason }: Said): Said => ({ words, reason: `HOST: ${reason}` })
const registry = Object.fromEntries(Object.entries(usual('images.caFile')).map(([key, said]) => [key, atHost(said)]))

export const rows: readonly Row[] = [
  ...rowsOf('Redis', {
    'wrong password': said('wrong user name or password', 'WRONGPASS …'),
    'no password': said('a password is required, and none is configured', 'NOAUTH …'),
    'wrong host name': redis.name,
    'wrong port': redis.port,
    'certificate of an unknown authority': redis.authority,
    'expired certificate': redis.expired,
    'certificate for another name': redis.otherName,
    '`redis://` for a server with TLS': said(hangsUp, '…'),
    '`rediss://` for a server without TLS': said(`${late}, or it does not speak TLS`, 'ETIMEDOUT'),
    'a policy that drops connections': redis.late,
  }),
  ...rowsOf('Kubernetes API', {
    'wrong token': said('it refuses the credentials', '401 Unauthorized'),
    'wrong host name': kubernetes.name,
    'wrong port': kubernetes.port,
    'certificate of an unknown authority': kubernetes.authority,
    'expired certificate': kubernetes.expired,
    'certificate for another name': kubernetes.otherName,
    '`http://` for a server with TLS': said('its credentials cannot be read', '…HTTP protocol is not allowed…'),
    '`https://` for a server without TLS': kubernetes.noTls,
    'a policy that drops connections': kubernetes.late,
  }),
  ...rowsOf('registry', {
    'wrong password': { words: 'it refuses the credentials', reason: 'HOST answered 401 to the credentials …' },
    'no password': {
      words: 'it asks for credentials, and there are none',
      reason: 'HOST asks for credentials, and there are none',
    },
    'wrong host name': registry.name!,
    'wrong port': registry.port!,
    'certificate of an unknown authority': registry.authority!,
    'expired certificate': registry.expired!,
    'certificate for another name': registry.otherName!,
    '`plainHttp` for a server with TLS': atHost(said(hangsUp, '…')),
    'TLS for a server without it': registry.noTls!,
    'a policy that drops connections': registry.late!,
    'wrong key of a service account (Artifact Registry)': {
      words: 'Google gives no token',
      reason: 'Google gave no token: …',
    },
    'wrong port (Artifact Registry)': registry.port!,
  }),
  ...rowsOf('identity provider', {
    'wrong host name of the issuer': identity.name,
    'wrong port of the issuer': identity.port,
    'wrong path of the issuer': said('the answer is 404', 'https://HOST/…'),
    'certificate of an unknown authority': identity.authority,
    'expired certificate': identity.expired,
    'certificate for another name': identity.otherName,
    '`http://` for a server with TLS': said(hangsUp, '…'),
    '`https://` for a server without TLS': identity.noTls,
    'a policy that drops connections': identity.late,
    'wrong port of Gafaelfawr': identity.port,
    'wrong path of Gafaelfawr': said('the answer is 404', 'http://HOST/…'),
  }),
]
