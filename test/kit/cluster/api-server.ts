/** The API server of a cluster of its own, which a test kills and starts again. */
import { readFileSync } from 'node:fs'
import { readRecord } from '../../../dev/process/process.ts'
import { controlServer, type ServerControl } from '../../../dev/process/server.ts'
import type { AdminKube } from './kube.ts'

const name = 'kube-apiserver'

/** @param stateDir the folder of the cluster, whose API server runs */
export function controlApiServer(stateDir: string, kube: AdminKube): ServerControl {
  const record = readRecord(stateDir, name)
  if (record === null) throw new Error(`no ${name}`)
  const [command, ...args] = readFileSync(`/proc/${record.pid}/cmdline`, 'utf8').split('\0').slice(0, -1) as [string]
  const answers = async () => (await kube.request('GET', '/readyz')).status === 200
  return controlServer({ name, command, args, stateDir }, { answers, limitMs: 90_000 })
}
