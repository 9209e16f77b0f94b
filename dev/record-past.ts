// Records the state that this commit leaves, as a starting point for later commits:  npm run record-past -- --help
import { fileURLToPath } from 'node:url'
import { runCommand, UsageError } from './process/program.ts'
import { createProgress } from './process/progress.ts'
import { setupStack } from './stack/stack.ts'
import { parseRecordOptions, type RecordOptions, usage } from './test/record-past-options.ts'
import { onCluster } from './test/runs.ts'

const logsFolder = fileURLToPath(new URL('../.artefacts/past-logs', import.meta.url))
const choice = { realNode: 'never', kwok: 1, audit: true } as const

async function record({ name, again, tenants, apps }: RecordOptions, signal: AbortSignal): Promise<number> {
  if (tenants) return recordTenants(name, again)
  if (apps) return recordApps(name, again, signal)
  const { isRecorded, textsOf, writePast } = await import('../test/kit/past/files.ts')
  if (isRecorded(name) && !again) throw new UsageError(`${name} is recorded already; --again replaces it`)
  const past = await recording(signal, async () => {
    const { recordPast } = await import('../test/kit/past/record.ts')
    return recordPast(name)
  })
  writePast(past)
  const bytes = Object.values(textsOf(past)).reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  process.stdout.write(
    `${name}: ${Object.keys(past.redis).length} keys, ${past.cluster.length} objects, ${bytes} bytes\n`,
  )
  return 0
}

/** On a cluster of its own. */
async function recording<T>(signal: AbortSignal, record: () => Promise<T>): Promise<T> {
  const progress = createProgress()
  const tools = await setupStack(choice, progress, signal)
  return onCluster({ choice: {}, tools, progress, signal, logsFolder }, true, async ({ env }) => {
    Object.assign(process.env, env)
    return progress.part('recording', record)
  })
}

async function recordApps(name: string, again: boolean, signal: AbortSignal): Promise<number> {
  const { isAppsPast, writeAppsPast } = await import('../test/kit/apps/past/files.ts')
  if (isAppsPast(name) && !again) throw new UsageError(`${name} is recorded already; --again replaces it`)
  const past = await recording(signal, async () => {
    const { recordApps: record } = await import('../test/kit/apps/past/record.ts')
    return record(name)
  })
  const [keys, objects] = [Object.keys(past.redis).length, past.objects.length]
  process.stdout.write(`${name}: ${keys} keys, ${objects} objects, ${writeAppsPast(past)} bytes\n`)
  return 0
}

async function recordTenants(name: string, again: boolean): Promise<number> {
  const { isTenantsPast, writeTenantsPast } = await import('../test/kit/tenants/past/files.ts')
  if (isTenantsPast(name) && !again) throw new UsageError(`${name} is recorded already; --again replaces it`)
  const { recordTenants: record } = await import('../test/kit/tenants/past/record.ts')
  const past = await record(name)
  process.stdout.write(`${name}: ${past.objects.length} objects, ${writeTenantsPast(past)} bytes\n`)
  return 0
}

await runCommand({ usage, parse: parseRecordOptions, run: record })
