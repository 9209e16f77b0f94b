/** moto holds the state of EC2. It honours no token, throttles nobody and lists at once: that is the front's part. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../process/ports.ts'
import { stopProcess } from '../process/process.ts'
import { createProgress, type Progress } from '../process/progress.ts'
import { startServer } from '../process/server.ts'
import { pythonEnvironment } from '../setup/python.ts'
import type { Reply } from './xml.ts'

const requirements = fileURLToPath(new URL('requirements.txt', import.meta.url))
const startLimitMs = 60_000

/** The environment with moto, installed where the cache lacks it. */
export const motoEnvironment = (progress: Progress = createProgress(), signal?: AbortSignal): Promise<string> =>
  pythonEnvironment({ name: 'moto', requirements, progress, signal })

export interface Moto {
  /** Sends a request as it came. */
  pass(body: string, authorization: string): Promise<Reply>
  /** An action of somebody who is not the program; the front does not see it. @throws when refused */
  ask(action: string, parameters?: Readonly<Record<string, string>>): Promise<string>
  stop(): Promise<void>
}

export async function startMoto(stateDir: string, region: string, signal?: AbortSignal): Promise<Moto> {
  const environment = await motoEnvironment(createProgress(), signal)
  const port = await freePort()
  const name = `moto-${port}`
  const url = `http://127.0.0.1:${port}`
  const spec = {
    ...{ name, stateDir, command: join(environment, 'bin', 'python') },
    args: [join(environment, 'bin', 'moto_server'), '-H', '127.0.0.1', '-p', String(port)],
    env: { PYTHONUNBUFFERED: '1', MOTO_IAM_LOAD_MANAGED_POLICIES: 'false' },
  }
  const answers = async () => (await fetch(`${url}/moto-api/data.json`)).ok
  await startServer(spec, { answers, limitMs: startLimitMs, signal })
  const pass: Moto['pass'] = async (body, authorization) => {
    const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await fetch(`${url}/`, { method: 'POST', headers, body })
    return { status: answer.status, body: await answer.text() }
  }
  const own = `AWS4-HMAC-SHA256 Credential=SOMEBODY/20260101/${region}/ec2/aws4_request`
  return {
    pass,
    ask: async (action, parameters = {}) => {
      const form = new URLSearchParams({ Action: action, Version: '2016-11-15', ...parameters })
      const { status, body } = await pass(form.toString(), own)
      if (status >= 400) throw new Error(`moto refuses ${action}: ${body}`)
      return body
    },
    stop: () => stopProcess(stateDir, name, 0),
  }
}
