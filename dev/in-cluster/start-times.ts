/** Time from the start of replicas' processes until they are ready, by their own logs. */
import type { Kubectl } from '../kube/kubectl.ts'

/** Milliseconds, one number per replica. */
export interface StartTimes {
  readonly listeningMs: readonly number[]
  readonly readyMs: readonly number[]
}

export async function startTimes(kubectl: Kubectl): Promise<StartTimes> {
  const selector = ['-n', 'skylab', '-l', 'app.kubernetes.io/name=skylab']
  const names = (await kubectl(['get', 'pods', ...selector, '-o', 'name'])).trim().split('\n')
  const logs = await Promise.all(names.map(name => kubectl(['logs', name, '-n', 'skylab'])))
  return {
    listeningMs: logs.map(log => uptimeAt(log, 'listening')),
    readyMs: logs.map(log => uptimeAt(log, 'ready')),
  }
}

/** The age of the process in a line of the log. Fails when there is no such line. */
export function uptimeAt(log: string, message: string): number {
  for (const line of log.split('\n').filter(each => each.startsWith('{'))) {
    const { msg, uptimeMs } = JSON.parse(line) as { msg?: string; uptimeMs?: number }
    if (msg === message && uptimeMs !== undefined) return uptimeMs
  }
  throw new Error(`no replica says in its log that it is ${message}`)
}
