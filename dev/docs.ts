// Pages of the documentation that are made of the source; tests say when they are stale:  npm run docs -- --help
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { configReference } from '../src/config/reference.ts'
import { metricsReference } from '../src/telemetry/reference.ts'
import { withTable } from './house/report.ts'
import { table } from './house/table.ts'
import { takePicture } from './pages/api-picture.ts'
import { appsPage } from './pages/apps-page.ts'
import { appsResourcePage } from './pages/apps-resource-page.ts'
import { appsTemplatesPage } from './pages/apps-templates-page.ts'
import { dispatchOperatorsPage, dispatchRestPage, dispatchRowsPage } from './pages/dispatch-page.ts'
import { takeFormPicture } from './pages/form-picture.ts'
import { idlePage } from './pages/idle-page.ts'
import { mistakesPage } from './pages/mistakes-page.ts'
import { tenantsPage } from './pages/tenants-page.ts'
import { runCommand, UsageError } from './process/program.ts'
import { appsUser, dispatchUser, gatewayUser, notebooksUser, redisUsers, tenantsUser } from './redis/users.ts'

const docs = fileURLToPath(new URL('../docs/', import.meta.url))

const usage = `npm run docs [-- --picture]     writes the pages that are made of the source

  --picture     also docs/api.png and docs/form.png, the page of the API and the lab form in Debian's Chromium
`

interface Options {
  readonly picture: boolean
}

/** By path below `docs/`. */
const makers: Readonly<Record<string, () => Promise<string>>> = {
  '../k8s/components/apps/users.acl': async () => appsUser(),
  '../k8s/components/dispatch/users.acl': async () => dispatchUser(),
  '../k8s/components/gateway/users.acl': async () => gatewayUser(),
  '../k8s/components/notebooks/users.acl': async () => notebooksUser(),
  '../k8s/components/redis/users.acl': async () => redisUsers(),
  '../k8s/components/tenants/users.acl': async () => tenantsUser(),
  'apps-resource.md': async () => appsResourcePage(await readFile(join(docs, 'apps-resource.md'), 'utf8')),
  'apps-templates.md': async () => appsTemplatesPage(await readFile(join(docs, 'apps-templates.md'), 'utf8')),
  'apps.md': async () => appsPage(await readFile(join(docs, 'apps.md'), 'utf8')),
  'architecture.md': async () => withTable(await readFile(join(docs, 'architecture.md'), 'utf8'), table),
  'configuration.md': async () => configReference(await examples()),
  'dispatch-operators.md': async () =>
    dispatchOperatorsPage(await readFile(join(docs, 'dispatch-operators.md'), 'utf8')),
  'dispatch-rest.md': async () => dispatchRestPage(await readFile(join(docs, 'dispatch-rest.md'), 'utf8')),
  'dispatch-rows.md': async () => dispatchRowsPage(await readFile(join(docs, 'dispatch-rows.md'), 'utf8')),
  'idle.md': async () => idlePage(await readFile(join(docs, 'idle.md'), 'utf8')),
  'metrics.md': async () => metricsReference(),
  'mistakes.md': async () => mistakesPage(),
  'tenants.md': async () => tenantsPage(await readFile(join(docs, 'tenants.md'), 'utf8')),
}

async function examples() {
  const folder = join(docs, 'examples')
  const names = (await readdir(folder)).filter(name => name.endsWith('.yaml')).sort()
  return Promise.all(names.map(async name => ({ name, text: await readFile(join(folder, name), 'utf8') })))
}

function parse(args: readonly string[]): Options {
  try {
    const { values } = parseArgs({ args: [...args], options: { picture: { type: 'boolean' } } })
    return { picture: values.picture ?? false }
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

async function run({ picture }: Options, signal: AbortSignal): Promise<number> {
  for (const [name, make] of Object.entries(makers)) {
    await writeFile(join(docs, name), await make())
    process.stderr.write(`${join('docs', name)} is written\n`)
  }
  if (picture) {
    await takePicture(join(docs, 'api.png'), signal)
    await takeFormPicture(join(docs, 'form.png'), signal)
  }
  return 0
}

await runCommand({ usage, parse, run })
