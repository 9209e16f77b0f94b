/** One app on an installation in the cluster: its controller makes it Ready, and a gateway shows its page to its group alone. */
import { groupMark } from '../../src/apps/words.ts'
import { systemClock } from '../../src/base/clock.ts'
import { roundSeconds } from '../demo/say.ts'
import { waitUntil } from '../process/api-client.ts'
import { appGroup, gatewayUrl } from './apps.ts'
import { helloApp, statusFor } from './hello.ts'
import type { InCluster } from './stack.ts'

export interface ShownApp {
  readonly name: string
  /** As `kubectl get phapplications` shows it. */
  readonly columns: string
  /** Statuses of its page: for ada, whose group it is, and for grace. */
  readonly member: number
  readonly stranger: number
  /** From its creation to Ready. */
  readonly seconds: number
}

const name = 'hello'
const { namespace } = appGroup
const app = ['phapplication', name, '-n', namespace]
/** Policies are enforced some seconds after they are applied. */
const readyLimitMs = 120_000

type Site = Pick<InCluster, 'kubectl' | 'labImage' | 'users'>

/** Makes it as a person with rights in its namespace does, looks at it as two people, and deletes it again. */
export async function showApp({ kubectl, labImage, users }: Site, signal?: AbortSignal): Promise<ShownApp> {
  const place = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: groupMark } }
  const items = [place, helloApp({ name, namespace, group: appGroup.name, image: labImage })]
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await kubectl(['apply', '--server-side', '-f', '-'], { input })
  const begunMs = systemClock.monotonicMs()
  const status = (field: string) => kubectl(['get', ...app, '-o', `jsonpath={.status.${field}}`])
  const isReady = async () => (await status('phase')).trim() === 'Ready'
  const what = `the app ${namespace}/${name}`
  await waitUntil(isReady, { what, limitMs: readyLimitMs, signal }).catch(async error => {
    throw new Error(`${error.message}: ${await status('message')}`)
  })
  const seconds = roundSeconds(systemClock.monotonicMs() - begunMs)
  const columns = (await kubectl(['get', ...app, '--no-headers'])).trim()
  const look = (who: string) => statusFor({ gateway: gatewayUrl, app: name, token: users[who]!.token, signal })
  const [member, stranger] = [await look('ada'), await look('grace')]
  if (member !== 200 || stranger !== 403) throw new Error(`its group got ${member}, a stranger ${stranger}`)
  await kubectl(['delete', 'namespace', namespace, '--wait=false'])
  return { name: `${namespace}/${name}`, columns, member, stranger, seconds }
}
