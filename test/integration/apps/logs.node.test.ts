/** The log of an app's pod, from a real kubelet: by REST, through the API server, as the account of the controllers. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../../../dev/process/command.ts'
import { AppFleet } from '../../kit/apps/fleet.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { testBed } from '../../kit/testbed.ts'

const lines = 200
/** Writes many lines before anybody reads. */
const program = `for i in $(seq 1 ${lines}); do echo line $i; done; exec sleep 600`

let fleet: AppFleet
beforeAll(async () => {
  const anywhere = { limits: { cpu: 0.5, memory: '128Mi' }, requests: { cpu: 0.05, memory: '64Mi' } }
  const people = { ann: ['a'], eve: [] }
  fleet = await AppFleet.start({ replicas: 1, people, apps: { instanceTypes: { small: anywhere } } })
})
afterAll(() => fleet?.stop())

const get = (path: string, who: string) =>
  fetch(`${fleet.replicas[0]!.url}${path}`, { headers: { authorization: `Bearer ${who}-token` } })

const limitMs = 10_000

/** Reads until there are so many lines, or for so long: then some are missing. */
async function readLines(response: Response, count: number): Promise<string[]> {
  let text = ''
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  const late = setTimeout(() => void reader.cancel(), limitMs)
  while (text.split('\n').length <= count) {
    const { value, done } = await reader.read()
    if (done) break
    text += value
  }
  clearTimeout(late)
  await reader.cancel()
  return text.split('\n').slice(0, -1)
}

test('a member follows the log of a real kubelet, of which no line is lost', async () => {
  const { registry, docker, recommendedTag = 'recommended' } = testBed().images!
  const image = `${registry}/${docker!.repository}:${recommendedTag}`
  await fleet.make('talks', { image, container: { command: ['sh', '-c', program] } })
  let pod = ''
  await eventually(
    'its pod runs',
    async () => {
      const { pods } = (await (await get('/apps/v1/apps/talks/pods', 'ann')).json()) as { pods: { name: string }[] }
      pod = pods[0]!.name
      return (await get(`/api/logs/pods/${pod}?tailLines=1`, 'ann')).status === 200
    },
    60_000,
  )
  const expected = Array.from({ length: lines }, (_, i) => `line ${i + 1}`)
  const follow = `/api/logs/pods/${pod}?follow=true`
  for (let i = 0; i < 4; i++) expect(await readLines(await get(follow, 'ann'), lines)).toEqual(expected)
  const following = get(follow, 'ann').then(response => readLines(response, lines + 1))
  const exec = ['exec', '-n', fleet.of('a'), pod, '--', 'sh', '-c', 'echo later > /proc/1/fd/1']
  await run(testBed().kubectl, ['--kubeconfig', testBed().kubeconfig, ...exec])
  expect(await following).toEqual([...expected, 'later'])
  expect(await (await get(`/api/logs/pods/${pod}?tailLines=2`, 'ann')).text()).toBe(`line ${lines}\nlater\n`)
  expect((await get(follow, 'eve')).status).toBe(403)
}, 120_000)
