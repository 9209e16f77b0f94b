/** Debian's nginx before a replica, as ingress-nginx configures it for the overlay `gafaelfawr`; Gafaelfawr is a table. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { k8sFolder } from '../../../dev/kube/kustomize.ts'
import { findProgram } from '../../../dev/process/command.ts'
import { freePort } from '../../../dev/process/ports.ts'
import { stopProcess } from '../../../dev/process/process.ts'
import { startServer } from '../../../dev/process/server.ts'
import type { Issued } from '../../kit/tls/authority.ts'

export interface IngressPlan {
  readonly stateDir: string
  /** Of the replica. */
  readonly port: number
  readonly secrets: Readonly<Record<'user' | 'admin', string>>
  /** Where the replica is by TLS, and knows ingresses by their certificates; `secrets` are not sent then. */
  readonly tls?: { readonly caFile: string; readonly name: string } & Readonly<Record<'user' | 'admin', Issued>>
  /** By bearer token: who may use which ingress. */
  readonly people: readonly { readonly token: string; readonly username: string; readonly isAdmin: boolean }[]
}

/** Of the ingress of users, and leads to a route of administrators, as no ingress ought to. */
export const strayPath = '/stray'
const wantedPath = '/nublado/spawner/v1/labs'

/** @returns the port */
export async function startIngress(context: TestContext, plan: IngressPlan): Promise<number> {
  const name = 'nginx'
  const stateDir = join(plan.stateDir, name)
  mkdirSync(stateDir, { recursive: true })
  const port = await freePort()
  const file = join(stateDir, 'nginx.conf')
  writeFileSync(file, configOf(plan, stateDir, port))
  const command = findProgram('nginx')
  if (!command) throw new Error('there is no nginx: set-up installs it')
  const answers = async () => (await fetch(`http://127.0.0.1:${port}/`)).status === 404
  await startServer({ name, command, args: ['-c', file, '-p', stateDir], stateDir }, { answers, limitMs: 10_000 })
  context.onTestFinished(() => stopProcess(stateDir, name, 2000))
  return port
}

function configOf({ port: replica, secrets, people, tls }: IngressPlan, folder: string, port: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const users = people.map(({ token, username }) => `    "Bearer ${token}" "${username}";`)
  const admins = people.filter(({ isAdmin }) => isAdmin).map(({ token }) => `    "Bearer ${token}" yes;`)
  return `daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log error;
events {}
http {
  access_log off;
  map_hash_bucket_size 256;
${temporary.map(each => `  ${each}_temp_path ${folder}/${each};`).join('\n')}
  map $http_authorization $auth_user {
    default "";
${users.join('\n')}
  }
  map $http_authorization $auth_admin {
    default "";
${admins.join('\n')}
  }
  map $http_authorization $auth_token { "~^Bearer (?<bearer>.*)$" $bearer; }
  upstream replica { server 127.0.0.1:${replica}; keepalive 16; }
  server {
    listen 127.0.0.1:${port};
    server_name skylab.example.org;
    set $best_http_host $http_host;
    proxy_http_version 1.1;
${locations(secrets, tls)}
${tls ? `    location = ${strayPath} {\n${insideOf('skylab-user', secrets, tls, wantedPath)}\n    }` : ''}
    location / { return 404; }
  }
}
`
}

/** As ingress-nginx orders them where one path of a host is a regular expression: all are, the longest first. */
function locations(secrets: IngressPlan['secrets'], tls: IngressPlan['tls']): string {
  const file = join(k8sFolder, 'overlays/gafaelfawr/ingresses.yaml')
  const ingresses = parseAllDocuments(readFileSync(file, 'utf8')).map(each => each.toJS())
  const rules = ingresses.flatMap(({ metadata, template }) =>
    template.spec.rules[0].http.paths.map(({ path, pathType }: { path: string; pathType: string }) => ({
      match: pathType === 'Exact' ? `= ${path}` : `~* "^${path}"`,
      length: path.length,
      ingress: metadata.name as string,
    })),
  )
  return rules
    .sort((a, b) => b.length - a.length)
    .map(({ match, ingress }) => `    location ${match} {\n${insideOf(ingress, secrets, tls)}\n    }`)
    .join('\n')
}

function insideOf(ingress: string, secrets: IngressPlan['secrets'], tls: IngressPlan['tls'], path = ''): string {
  const kind = ingress === 'skylab-user' ? 'user' : 'admin'
  const snippet = `proxy_set_header X-Skylab-Ingress-Secret "${secrets[kind]}";`
  return [
    'if ($auth_user = "") { return 401; }',
    ...(ingress === 'skylab-admin' ? ['if ($auth_admin = "") { return 403; }'] : []),
    'proxy_set_header Host $best_http_host;',
    'proxy_set_header Connection "";',
    'proxy_set_header X-Auth-Request-User $auth_user;',
    ...(ingress === 'skylab-user' ? ['proxy_set_header X-Auth-Request-Token $auth_token;'] : []),
    ...(tls ? byTls(kind, ingress, tls) : ingress === 'skylab-docs' ? [] : [snippet]),
    `proxy_pass ${tls ? 'https' : 'http'}://replica${path};`,
  ]
    .map(line => `      ${line}`)
    .join('\n')
}

/** What the annotations of docs/tls.md come to. */
function byTls(kind: 'user' | 'admin', ingress: string, { caFile, name, ...shown }: NonNullable<IngressPlan['tls']>) {
  const { certFile, keyFile } = shown[kind]
  const certificate = [`proxy_ssl_certificate ${certFile};`, `proxy_ssl_certificate_key ${keyFile};`]
  return [
    ...(ingress === 'skylab-docs' ? [] : certificate),
    `proxy_ssl_trusted_certificate ${caFile};`,
    'proxy_ssl_verify on;',
    `proxy_ssl_name ${name};`,
    'proxy_ssl_server_name on;',
  ]
}
