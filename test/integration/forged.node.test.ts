/** Headers of the ingress, forged by a pod that reaches a replica's port: no NetworkPolicy blocks it here. */
import { expect, test } from 'vitest'
import { run } from '../../dev/process/command.ts'
import { testBed } from '../kit/testbed.ts'
import { startBehindIngress } from './behind-ingress.ts'

const kubectl = (args: string[], input?: string) =>
  run(testBed().kubectl, ['--kubeconfig', testBed().kubeconfig, ...args], { ...(input && { input }) })

/** Sends requests from inside a lab, given as JSON `[[method, path, headers], …]` on stdin; prints the statuses. */
const program = `
import json, sys, urllib.error, urllib.request

def ask(method, path, headers):
    request = urllib.request.Request(sys.argv[1] + path, method=method, headers=headers)
    try:
        return urllib.request.urlopen(request, timeout=10).status
    except urllib.error.HTTPError as answer:
        return answer.code

print(json.dumps([ask(*each) for each in json.load(sys.stdin)]))
`

type Ask = readonly [method: string, path: string, headers: Readonly<Record<string, string>>]

test('a replica refuses a pod that forges the headers of the ingress', async context => {
  const { gafaelfawr, fleet, secrets } = await startBehindIngress(context, { host: '0.0.0.0' })
  const [ada, eve] = [fleet.user(), fleet.user()]
  gafaelfawr.users.set(ada.token, { username: ada.username, uid: 4123, gid: 4123 })
  gafaelfawr.users.set(eve.token, { username: eve.username, uid: 6666, gid: 6666 })
  for (const user of [ada, eve]) expect((await user.create()).status).toBe(303)
  for (const user of [ada, eve]) expect((await user.follow()).outcome).toBe('complete')

  const pod = ['-n', fleet.namespace(eve.username), `nb-${eve.username}`]
  const host = (await kubectl(['get', 'pod', ...pod, '-o', 'jsonpath={.status.hostIP}'])).trim()
  const from = `http://${host}:${new URL(fleet.urls[0]!).port}`
  const askFromPod = async (asks: readonly Ask[]): Promise<number[]> =>
    JSON.parse(await kubectl(['exec', '-i', ...pod, '--', 'python3', '-c', program, from], JSON.stringify(asks)))

  const api = '/nublado/spawner/v1'
  const [name, token] = ['X-Auth-Request-User', 'X-Auth-Request-Token']
  const asAda = { [name]: ada.username, [token]: ada.token }
  const asAdmin = { [name]: 'admin' }
  const guess = { ...asAdmin, 'X-Skylab-Ingress-Secret': `${secrets.admin}!` }
  const twice = { ...asAdmin, 'X-Forwarded-For': '127.0.0.1', Authorization: `Bearer ${ada.token}` }
  expect(
    await askFromPod([
      ['GET', '/healthz', {}],
      ['GET', `${api}/user-status`, asAda],
      ['GET', `${api}/labs/${ada.username}/events`, asAda],
      ['POST', `${api}/labs/${ada.username}/create`, asAda],
      ['GET', `${api}/labs`, asAdmin],
      ['DELETE', `${api}/labs/${ada.username}`, asAdmin],
      ['DELETE', `${api}/labs/${ada.username}`, guess],
      ['DELETE', `${api}/labs/${ada.username}`, twice],
    ]),
  ).toEqual([404, 401, 401, 401, 401, 401, 401, 401])
  // Only the secret makes the difference: the pod reaches the replica, and its requests are valid.
  const known = { 'X-Skylab-Ingress-Secret': secrets.user }
  expect(
    await askFromPod([
      ['GET', `${api}/user-status`, { ...asAda, ...known }],
      ['DELETE', `${api}/labs/${ada.username}`, { ...asAdmin, ...known }],
    ]),
  ).toEqual([200, 403])
  expect((await ada.userStatus()).body).toMatchObject({ status: 'running' })
}, 180_000)
